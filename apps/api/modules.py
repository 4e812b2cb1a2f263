"""/api/v1/modules/<ns>/<name>/<system>/<version>: one version, published with one `curl --upload-file` (D24)."""

from email.message import Message
from functools import partial
from http import HTTPStatus

from django.conf import settings
from django.urls import path, reverse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.frame import answers
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import refuse_form
from apps.api.frame.operations import operation
from apps.lib.addresses import ModuleAddress
from apps.lib.bodies import chunks, declared_length, streamed
from apps.lib.errors import TooLarge
from apps.modules import publishing
from apps.modules.catalogue import reading
from apps.releases.catalogue.documents import release_document


@streamed("PUT")
class ModuleRelease(ApiView):
    @operation("Show a version, or its newest upload", answers={200: answers.Release})
    def get(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:  # noqa: ARG002
        """The state of the newest upload of this version; readers see it once it is published."""
        viewer = self.viewer
        release = reading.latest_release(viewer, ModuleAddress(namespace, name, system), version)
        return Response(release_document(release, with_names=viewer.is_identified))

    @operation(
        "Publish a module version",
        takes="application/octet-stream",
        answers={200: answers.Release, 202: answers.Release},
        query={
            "folder": "Publish this folder of the archive.",
            "confirm": "Confirm questions in advance: state_file, private_key, unloadable.",
        },
        again="200 for the same bytes; 409 for others.",
    )
    def put(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:
        """The archive as raw body, in any framing: 202 with the release document; 200 for the same bytes again.

        `?folder=modules/vpc` publishes that folder of it; `?confirm=state_file,private_key,unloadable` confirms
        questions in advance. Reads the body only after the token, the rights, the address and the number are accepted.
        """
        self.require_token()
        _check_head(request)

        published = publishing.publish(
            viewer=self.viewer,
            address=ModuleAddress(namespace, name, system),
            version=version,
            file_name=file_name_of(request),
            folder=request.query_params.get("folder", ""),
            confirm=",".join(request.query_params.getlist("confirm")).split(","),
            open_body=partial(chunks, request.META),
        )
        location = reverse("api:release", args=[str(published.release.public_id)])
        status = HTTPStatus.ACCEPTED if published.created else HTTPStatus.OK
        return Response(release_document(published.release), status=status, headers={"Location": location})


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
