"""/api/v1/modules/<ns>/<name>/<system>/<version>: one version, published with one `curl --upload-file` (D24)."""

from email.message import Message
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.urls import path, reverse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DictField, JSONField

from apps.api.frame import shapes
from apps.api.frame.base import MODULE, SLOT_SECONDS, DetailView, operation, shown
from apps.api.frame.bodies import file_name_of, refuse_form
from apps.api.frame.shapes import ModuleChange, Reason, Shape, With, of_release
from apps.http import tus
from apps.lib.addresses import ModuleAddress
from apps.lib.digests import verified
from apps.lib.errors import TooLarge
from apps.lib.net.bodies import chunks, declared_length, streamed
from apps.modules import answers as questions
from apps.modules import dry_run, publishing
from apps.modules.catalogue import reading
from apps.modules.comparing.changes import severity_of
from apps.releases.catalogue.comparing import Severity
from apps.releases.models import State


class DryRun(Shape):
    state = ChoiceField(list(dry_run.STATES))
    namespace = CharField(source="address.namespace")
    name = CharField(source="address.name")
    system = CharField(source="address.system")
    version = CharField()
    reasons = Reason(many=True, help_text="Why Larder would ask or reject it.")
    against = CharField(
        source="comparison.against",
        allow_null=True,
        help_text="The version that users have now; null if there is none.",
    )
    severity = ChoiceField(
        [str(one) for one in Severity], allow_null=True, help_text="The severity of the most severe change."
    )
    step = ChoiceField(["major", "minor", "patch", "pre-release"], source="comparison.step", allow_null=True)
    is_said = BooleanField(
        source="comparison.is_said",
        allow_null=True,
        help_text="false if it contains breaking changes without a major version.",
    )
    changes = ModuleChange(many=True)
    notes = DictField(child=JSONField(), help_text="How Larder would change the upload.")


@streamed("PUT")
class ModuleRelease(DetailView):
    slot_seconds = SLOT_SECONDS
    get = shown("Show a version, or its newest upload", shapes.Release, public=True)

    def row(self, version: str, **names: str) -> With:
        """The state of the newest upload of this version; readers see it once it is published."""
        return of_release(reading.latest_release(self.viewer, ModuleAddress(**names), version))

    @operation(
        "Publish a module version",
        takes="application/octet-stream",
        answers={200: (shapes.Release, DryRun), 202: shapes.Release},
        query={
            "dry_run": "1: check the archive and report the outcome without publishing. Any scope is enough.",
            "folder": "Publish this folder of the archive; several become one version, each at its own path. * "
            "publishes an archive without module files at its root.",
            "confirm": "Confirm questions in advance: state_file, private_key, unloadable, breaking-change.",
            "reason": "Reason for breaking changes without a major version. Use it with confirm=breaking-change.",
        },
        headers={"Repr-Digest": "sha-256=:base64: of the complete file; verified."},
        again="200 for the same bytes; 409 for different ones.",
        scope="publish",
        limits=["publish"],
    )
    def put(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:
        """The archive as raw body, in any framing: 202 with the release document; 200 for the same bytes again.

        `?folder=modules/vpc` publishes that folder of it, `?folder=a&folder=b` both of these in one version;
        `?confirm=state_file,private_key,unloadable` confirms questions in advance, and answers a release that is held
        with the same bytes. Reads the body only after the token, the rights, the address and the number are accepted.
        """
        self.count("publish")
        _check_head(request)
        digest = tus.announced_digest(request.headers)

        disposition = Message()
        disposition["Content-Disposition"] = request.headers.get("Content-Disposition", "").replace("\n", " ")
        name_there = disposition.get_filename("") or request.headers.get("X-File-Name", "")
        said: dict[str, Any] = {
            "confirm": ",".join(request.query_params.getlist("confirm")).split(","),
            "reason": request.query_params.get("reason", ""),
        }
        upload: dict[str, Any] = {
            "viewer": self.viewer,
            "address": ModuleAddress(namespace, name, system),
            "version": version,
            "file_name": file_name_of(name_there),
            "folders": request.query_params.getlist("folder"),
            "open_body": lambda: verified(chunks(request.META), digest),
        }
        if self.is_dry_run():
            staged = self.resumed.resume if self.resumed else None
            found = dry_run.forecast(**upload, **said, staged=staged)
            changes = found.comparison.changes if found.comparison else []
            severity = severity_of(changes) if found.comparison else None
            facts = {"address": upload["address"], "version": version, "changes": changes, "severity": severity}
            return self.answer(With(found, **facts), shape=DryRun)
        release, is_new = publishing.publish(**upload, **said)
        if release.state == State.HELD and any(said["confirm"]):
            questions.answer(release=release, viewer=self.viewer, folder=release.folder, **said)
            is_new = True
        status = HTTPStatus.ACCEPTED if is_new else HTTPStatus.OK
        location = reverse("api:release", args=[str(release.public_id)])
        return self.answer(of_release(release), status, headers={"Location": location}, shape=shapes.Release)


def _check_head(request: Request) -> None:
    """Refuse by the header fields, before a byte is sent or a number is reserved."""
    limit = settings.MODULE_ARCHIVE_MAX_BYTES
    length = declared_length(request.META)
    if length is not None and length > limit:
        raise TooLarge(
            f"The archive has {length} bytes, expected at most {limit} (limit {publishing.LIMIT_SETTING}).",
            hint="Leave out files that the module does not need, or ask an operator to raise the limit.",
        )
    refuse_form(
        request,
        expected="the archive itself",
        hint="With curl use `--upload-file module.zip` (or --data-binary @module.zip with -X PUT), not --form.",
    )


urlpatterns = [path(f"{MODULE}/<segment:version>", ModuleRelease.as_view(), name="module-release")]
