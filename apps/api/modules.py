"""/api/v1/modules/<ns>/<name>/<system>/<version>: one version, published with one `curl --upload-file` (D24)."""

from email.message import Message
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.urls import path, reverse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.frame import contents, shapes
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import refuse_form
from apps.api.frame.operations import operation
from apps.http import tus
from apps.lib.addresses import ModuleAddress
from apps.lib.digests import verified
from apps.lib.errors import Invalid, TooLarge
from apps.lib.net.bodies import chunks, declared_length, streamed
from apps.modules import answers as questions
from apps.modules import dry_run, publishing
from apps.modules.catalogue import reading
from apps.modules.comparing.changes import SENTENCES, severity_of
from apps.releases.catalogue.documents import release_document
from apps.releases.models import State


@streamed("PUT")
class ModuleRelease(ApiView):
    @operation("Show a version, or its newest upload", answers={200: shapes.Release}, public=True)
    def get(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:  # noqa: ARG002
        """The state of the newest upload of this version; readers see it once it is published."""
        viewer = self.viewer
        release = reading.latest_release(viewer, ModuleAddress(namespace, name, system), version)
        return Response(release_document(release, with_names=viewer.is_identified))

    @operation(
        "Publish a module version",
        takes="application/octet-stream",
        answers={200: (shapes.Release, contents.DryRun), 202: shapes.Release},
        query={
            "dry_run": "1: check the archive, say what would happen, publish nothing. Any scope.",
            "folder": "Publish this folder of the archive.",
            "confirm": "Confirm questions in advance: state_file, private_key, unloadable, breaking-change.",
            "reason": "Why it breaks something although its number does not say so, with confirm=breaking-change.",
        },
        headers={"Repr-Digest": "sha-256=:base64: of the whole, which is checked."},
        again="200 for the same bytes; 409 for others.",
        scope="publish",
        idempotent=True,
    )
    def put(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:
        """The archive as raw body, in any framing: 202 with the release document; 200 for the same bytes again.

        `?folder=modules/vpc` publishes that folder of it; `?confirm=state_file,private_key,unloadable` confirms
        questions in advance, and answers a release that is held with the same bytes. Reads the body only after the
        token, the rights, the address and the number are accepted.
        """
        self.require_token()
        self.count_upload()
        _check_head(request)
        digest = tus.announced_digest(request.headers)

        said: dict[str, Any] = {
            "confirm": ",".join(request.query_params.getlist("confirm")).split(","),
            "reason": request.query_params.get("reason", ""),
        }
        upload: dict[str, Any] = {
            "viewer": self.viewer,
            "address": ModuleAddress(namespace, name, system),
            "version": version,
            "file_name": file_name_of(request),
            "folder": request.query_params.get("folder", ""),
            "open_body": lambda: verified(chunks(request.META), digest),
        }
        if _is_dry(request):
            return Response(_dry_document(upload["address"], version, dry_run.forecast(**upload, **said)))
        published = publishing.publish(**upload, **said)
        release = published.release
        is_new = published.created
        if release.state == State.HELD and any(said["confirm"]):
            questions.answer(release=release, viewer=self.viewer, folder=release.folder, **said)
            is_new = True
        location = reverse("api:release", args=[str(release.public_id)])
        status = HTTPStatus.ACCEPTED if is_new else HTTPStatus.OK
        return Response(release_document(release), status=status, headers={"Location": location})


def _check_head(request: Request) -> None:
    """Refuse by the header fields, before a byte is sent or a number is reserved."""
    limit = settings.MODULE_ARCHIVE_MAX_BYTES
    length = declared_length(request.META)
    if length is not None and length > limit:
        raise TooLarge(
            f"The archive has {length} bytes, expected at most {limit} (limit {publishing.LIMIT_SETTING}).",
            hint="Leave out what the module does not need, or ask an operator for more.",
        )
    refuse_form(
        request,
        expected="the archive itself",
        hint="With curl use `--upload-file module.zip` (or --data-binary @module.zip with -X PUT), not --form.",
    )


def _is_dry(request: Request) -> bool:
    """Raises Invalid for another word than 1 or 0: a typing error must not publish."""
    asked = request.query_params.get("dry_run", "0")
    if asked not in ("0", "1"):
        raise Invalid(f"found dry_run={asked[:40]!a}, expected 1 or 0", hint="Nothing was read. Send dry_run=1.")
    return asked == "1"


def _dry_document(address: ModuleAddress, version: str, found: dry_run.Forecast) -> dict[str, Any]:
    verdict = found.verdict
    return {
        "state": found.state,
        "namespace": address.namespace,
        "name": address.name,
        "system": address.system,
        "version": version,
        "reasons": [{**reason.as_dict(), "sentence": reason.sentence} for reason in found.reasons],
        "against": verdict.against if verdict else None,
        "severity": str(severity_of(verdict.changes)) if verdict else None,
        "step": verdict.step if verdict else None,
        "is_said": verdict.is_said if verdict else None,
        "changes": [{**change.as_dict(), "sentence": SENTENCES[change.rule]} for change in verdict.changes]
        if verdict
        else [],
        "notes": found.notes,
    }


def file_name_of(request: Request) -> str:
    """The archive's name on the publisher's machine, or ""; shown, never used as a path."""
    disposition = Message()
    disposition["Content-Disposition"] = request.headers.get("Content-Disposition", "").replace("\n", " ")
    name = disposition.get_filename("") or request.headers.get("X-File-Name", "")
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(character for character in last if character.isprintable())[:255]


urlpatterns = [
    path(
        "modules/<segment:namespace>/<segment:name>/<segment:system>/<segment:version>",
        ModuleRelease.as_view(),
        name="module-release",
    ),
]
