"""/api/v1/uploads/<id>: a large archive or file in several requests, continued after a broken line (tus 1.0.0)."""

import uuid
from typing import Any

from django.urls import path, reverse
from django.utils.functional import cached_property
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.http import tus
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Conflict, TooLarge
from apps.lib.net.bodies import chunks, declared_length, streamed
from apps.modules import publishing, uploads
from apps.providers import reading
from apps.providers import uploads as provider_uploads
from apps.releases.models import Kind
from apps.releases.publishing import resuming
from apps.releases.publishing.resuming import WrongOffset
from apps.releases.upload_rows import Upload as UploadRow

_VERSION = {412: "Another version of tus than 1.0.0."}
BEGINNING = _VERSION | {429: "Too many unfinished uploads."}
CONTINUING = _VERSION | {
    408: "The body came too slowly; what has come is kept.",
    415: f"The body is not {tus.MEDIA_TYPE}.",
    460: "The body differs from its Upload-Checksum.",
}


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


class ModuleUploads(TusView):
    http_method_names = ["post"]

    @operation(
        "Begin a resumable upload of a module version",
        answers={201: shapes.Upload},
        query={
            "folder": "Publish this folder of the archive.",
            "confirm": "Confirm questions in advance: state_file, private_key, unloadable, breaking-change.",
            "reason": "Why it breaks something although its number does not say so, with confirm=breaking-change.",
        },
        headers={
            "Upload-Length": "Bytes of the archive.",
            "Upload-Metadata": "Pairs of tus: filename, and sha256 in hexadecimal digits, which is checked.",
            "Repr-Digest": "Instead of the metadata: sha-256=:base64: of the archive.",
        },
        errors=BEGINNING,
        scope="publish",
        again="Replaces your own unfinished upload of this version.",
    )
    def post(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:
        self.count_upload()
        announced = tus.announced(request.headers)
        upload = uploads.begin(
            viewer=self.viewer,
            address=ModuleAddress(namespace, name, system),
            version=version,
            announced=announced,
            file_name=file_name_of(request),
            folder=request.query_params.get("folder", ""),
            confirm=",".join(request.query_params.getlist("confirm")).split(","),
            reason=request.query_params.get("reason", ""),
        )
        return begun(upload)


class ProviderFileUploads(TusView):
    http_method_names = ["post"]

    @operation(
        "Begin a resumable upload of a file of a draft",
        answers={201: shapes.Upload},
        headers={
            "Upload-Length": "Bytes of the file.",
            "Upload-Metadata": "Pairs of tus: sha256 in hexadecimal digits, which is checked.",
            "Repr-Digest": "Instead of the metadata: sha-256=:base64: of the file.",
        },
        errors=BEGINNING,
        scope="publish",
        again="Replaces your own unfinished upload of this file.",
    )
    def post(self, request: Request, namespace: str, type: str, version: str, filename: str) -> Response:  # noqa: A002
        self.count_upload()
        announced = tus.announced(request.headers)
        release = reading.draft_for(self.viewer, ProviderAddress(namespace, type), version)
        return begun(provider_uploads.begin(viewer=self.viewer, release=release, name=filename, announced=announced))


@streamed("PATCH")
class Upload(TusView):
    """Only for the person who began it, with any of their tokens; to everybody else it is not there."""

    http_method_names = ["get", "head", "patch", "delete"]

    @operation("Show how far an upload is", answers={200: shapes.Upload}, errors=_VERSION, scope="publish")
    def get(self, request: Request, number: str) -> Response:  # noqa: ARG002
        """The offset to continue from is in the header Upload-Offset as well, which HEAD answers too."""
        return Response(document(self.upload), headers=tus.standing(self.upload))

    @operation(
        "Continue an upload",
        takes=tus.MEDIA_TYPE,
        answers={204: None},
        headers={
            "Upload-Offset": "Of the first byte; 409 names another one.",
            "Upload-Checksum": "sha256 or sha1 of this body, and its digest in base64: 460 if they differ.",
        },
        errors=CONTINUING,
        scope="publish",
        again="409 with the offset; 204 once everything has come.",
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
                hint="Send the rest of the same file, or begin another upload with its length.",
            )
        send = uploads.send if upload.release.kind == Kind.MODULE else provider_uploads.send
        send(upload, self.viewer, chunks(request.META), start=start, verify=verify)
        headers = tus.standing(upload)
        if upload.finished_at is not None:
            headers["Location"] = reverse("api:release", args=[str(upload.release.public_id)])
        return Response(status=204, headers=headers)

    @operation("Cancel an upload", answers={204: None}, errors=_VERSION, again="404.", scope="publish", idempotent=True)
    def delete(self, request: Request, number: str) -> Response:  # noqa: ARG002
        """Delete what has come, and free the number of a module version."""
        upload = self.upload
        if upload.finished_at is not None:
            raise Conflict("This upload is complete.", hint="Cancel or yank the release instead.")
        if upload.release.kind == Kind.MODULE:
            publishing.cancel(release=upload.release, viewer=self.viewer)
        else:
            resuming.cancel(upload)
        return Response(status=204)

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


def begun(upload: UploadRow) -> Response:
    location = {"Location": reverse("api:upload", args=[upload.pk])}
    return Response(document(upload), status=201, headers=tus.standing(upload) | location)


def document(upload: UploadRow) -> dict[str, Any]:
    return {
        "id": str(upload.pk),
        "file": upload.name or upload.release.file_name,
        "length": upload.length,
        "offset": upload.size,
        "finished": upload.finished_at is not None,
        "expires_at": upload.expires_at.isoformat().replace("+00:00", "Z"),
        "release": reverse("api:release", args=[str(upload.release.public_id)]),
    }


def file_name_of(request: Request) -> str:
    name = tus.metadata(request.headers).get("filename", "").replace("\\", "/").rpartition("/")[2]
    return "".join(character for character in name if character.isprintable())[:255]


urlpatterns = [
    path(
        "modules/<segment:namespace>/<segment:name>/<segment:system>/<segment:version>/uploads",
        ModuleUploads.as_view(),
        name="module-uploads",
    ),
    path(
        "providers/<segment:namespace>/<segment:type>/<segment:version>/files/<segment:filename>/uploads",
        ProviderFileUploads.as_view(),
        name="provider-file-uploads",
    ),
    path("uploads/<segment:number>", Upload.as_view(), name="upload"),
]
