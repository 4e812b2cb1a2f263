"""/api/v1/uploads/<id>: a large archive or file in several requests, continued after a broken line (tus 1.0.0)."""

import uuid
from http import HTTPStatus
from typing import Any

from django.urls import path, reverse
from django.utils.functional import cached_property
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, IntegerField, UUIDField

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.api.frame.base import MODULE, PROVIDER, ApiView, operation
from apps.api.frame.bodies import file_name_of
from apps.api.frame.shapes import MomentField, Shape
from apps.http import tus
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Conflict, TooLarge
from apps.lib.net.bodies import chunks, declared_length, streamed
from apps.modules import uploads as modules
from apps.providers import reading
from apps.providers import uploads as providers
from apps.releases.models import Kind
from apps.releases.models import Upload as UploadRow
from apps.releases.publishing import resuming
from apps.releases.publishing.resuming import WrongOffset

_VERSION = {412: "Another version of tus than 1.0.0."}
BEGINNING = _VERSION | {429: "Too many unfinished uploads."}
CONTINUING = _VERSION | {
    408: "The body arrived too slowly; the bytes received so far are kept.",
    415: f"The body is not {tus.MEDIA_TYPE}.",
    460: "The body differs from its Upload-Checksum.",
}

_UPLOADS: dict[Kind, type[resuming.Uploads]] = {Kind.MODULE: modules.Uploads, Kind.PROVIDER: providers.Uploads}


class Upload(Shape):
    # Of an UploadRow with its release.
    id = UUIDField(source="pk")
    file = CharField(help_text="Its name on the sender's machine or in the draft; empty if unknown.")
    length = IntegerField(help_text="Total size in bytes.")
    offset = IntegerField(source="size", help_text="Bytes received so far: the offset of the next byte.")
    finished = BooleanField()
    expires_at = MomentField()
    release = CharField(help_text="The path of its release.")

    def file_of(self, upload: UploadRow) -> str:
        return upload.name or upload.release.file_name

    def finished_of(self, upload: UploadRow) -> bool:
        return upload.finished_at is not None

    def release_of(self, upload: UploadRow) -> str:
        return reverse("api:release", args=[str(upload.release.public_id)])


class TusView(ApiView):
    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.require_token()
        tus.check_version(request.headers)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        response.headers["Tus-Resumable"] = tus.VERSION
        response.headers["Tus-Version"] = tus.VERSION
        response.headers["Tus-Extension"] = tus.EXTENSIONS
        return response

    def started(self, upload: UploadRow) -> Response:
        location = {"Location": reverse("api:upload", args=[upload.pk])}
        return self.answer(upload, HTTPStatus.CREATED, headers=tus.standing(upload) | location)


class ModuleUploads(TusView):
    @operation(
        "Start a resumable upload of a module version",
        answers={201: Upload},
        query={
            "folder": "Publish this folder of the archive; several become one version, each at its own path. * "
            "publishes an archive without module files at its root.",
            "confirm": "Confirm questions in advance: state_file, private_key, unloadable, breaking-change.",
            "reason": "Reason for breaking changes without a major version. Use it with confirm=breaking-change.",
        },
        headers={
            "Upload-Length": "Bytes of the archive.",
            "Upload-Metadata": "Metadata pairs of tus: filename, and sha256 in hexadecimal, which Larder verifies.",
            "Repr-Digest": "Alternative to the metadata: sha-256=:base64: of the archive.",
        },
        errors=BEGINNING,
        scope="publish",
        again="Replaces your own unfinished upload of this version.",
        limits=["publish"],
    )
    def post(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:
        self.count("publish")
        announced = tus.announced(request.headers)
        upload = modules.Uploads(self.viewer).start(
            address=ModuleAddress(namespace, name, system),
            version=version,
            announced=announced,
            file_name=file_name_of(tus.metadata(request.headers).get("filename", "")),
            folders=request.query_params.getlist("folder"),
            confirm=",".join(request.query_params.getlist("confirm")).split(","),
            reason=request.query_params.get("reason", ""),
        )
        return self.started(upload)


class ProviderFileUploads(TusView):
    @operation(
        "Start a resumable upload of a file of a draft",
        answers={201: Upload},
        headers={
            "Upload-Length": "Bytes of the file.",
            "Upload-Metadata": "Metadata pairs of tus: sha256 in hexadecimal, which Larder verifies.",
            "Repr-Digest": "Alternative to the metadata: sha-256=:base64: of the file.",
        },
        errors=BEGINNING,
        scope="publish",
        again="Replaces your own unfinished upload of this file.",
        limits=["publish"],
    )
    def post(self, request: Request, namespace: str, type: str, version: str, filename: str) -> Response:  # noqa: A002
        self.count("publish")
        announced = tus.announced(request.headers)
        release = reading.draft_for(self.viewer, ProviderAddress(namespace, type), version)
        uploads = providers.Uploads(self.viewer)
        return self.started(uploads.start(release=release, name=filename, announced=announced))


@streamed("PATCH")
class UploadView(TusView):
    """An upload, visible only to the person who began it, with any of their tokens; to everyone else it does not
    exist.
    """

    @operation("Show the progress of an upload", answers={200: Upload}, errors=_VERSION, scope="publish")
    def get(self, request: Request, number: str) -> Response:  # noqa: ARG002
        """The offset to continue from is in the header Upload-Offset as well, which HEAD answers too."""
        return self.answer(self.upload, headers=tus.standing(self.upload))

    @operation(
        "Continue an upload",
        takes=tus.MEDIA_TYPE,
        answers={204: None},
        headers={
            "Upload-Offset": "Offset of the first byte. A 409 names the expected one.",
            "Upload-Checksum": "sha256 or sha1, and the digest of this body in base64. 460 if it differs.",
        },
        errors=CONTINUING,
        scope="publish",
        again="409 with the offset; 204 once the upload is complete.",
        idempotent=False,
    )
    def patch(self, request: Request, number: str) -> Response:  # noqa: ARG002
        """Bytes that arrive before the line breaks are kept. The last one publishes a module, or completes the file."""
        tus.check_media_type(request.headers)
        start, verify = tus.offset_of(request.headers), tus.verifier(request.headers)
        upload = self.upload
        length = declared_length(request.META)
        if length is not None and start == upload.size and start + length > upload.length:
            raise TooLarge(
                f"{length:,} bytes from byte {start:,} are more than the {upload.length:,} of this upload.",
                hint="Send the rest of the same file, or start another upload with the right length.",
            )
        self.uploads.send(upload, start, chunks(request.META), verify=verify)
        headers = tus.standing(upload)
        if upload.finished_at is not None:
            headers["Location"] = reverse("api:release", args=[str(upload.release.public_id)])
        return self.answer(status=HTTPStatus.NO_CONTENT, headers=headers)

    @operation("Cancel an upload", answers={204: None}, errors=_VERSION, again="404.", scope="publish")
    def delete(self, request: Request, number: str) -> Response:  # noqa: ARG002
        """Delete what has come, and free the number of a module version."""
        if self.upload.finished_at is not None:
            raise Conflict("This upload is complete.", hint="Cancel or yank the release instead.")
        self.uploads.cancel(self.upload)
        return self.answer(status=HTTPStatus.NO_CONTENT)

    @property
    def uploads(self) -> resuming.Uploads:
        return _UPLOADS[Kind(self.upload.release.kind)](self.viewer)

    @cached_property
    def upload(self) -> UploadRow:
        try:
            number = uuid.UUID(self.kwargs["number"])
        except ValueError:
            raise resuming.unknown() from None
        upload = resuming.own(self.viewer, number)
        release = upload.release
        gate.namespace_for(self.viewer, release.namespace.name, need=Role.PUBLISHER, only_name=release.name)
        return upload

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        if isinstance(exc, WrongOffset):
            response.headers["Upload-Offset"] = str(exc.offset)
        return response


urlpatterns = [
    path(f"{MODULE}/<segment:version>/uploads", ModuleUploads.as_view(), name="module-uploads"),
    path(
        f"{PROVIDER}/<segment:version>/files/<segment:filename>/uploads",
        ProviderFileUploads.as_view(),
        name="provider-file-uploads",
    ),
    path("uploads/<segment:number>", UploadView.as_view(), name="upload"),
]
