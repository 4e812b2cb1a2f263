"""end-4a to 4c, 5, 6, 11, 13, 14: pushing blobs. https://github.com/opencontainers/distribution-spec"""

import re
import uuid
from functools import cached_property, partial
from http import HTTPStatus

from django.conf import settings
from django.urls import re_path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Role
from apps.artifacts import chunked, uploads
from apps.artifacts.errors import OutOfOrder, UploadInvalid
from apps.artifacts.models import UploadSession
from apps.artifacts.names import Digest
from apps.lib.net.bodies import streamed
from apps.oci import blobs, repositories
from apps.oci.base import PUSH, OciView, is_bare
from apps.releases.publishing.quotas import require_bytes

# The minimum size of parts on S3; smaller chunks are accepted and cost more.
OBJECT_MIN_BYTES = 5 * 1024 * 1024
# Strictly `first-last`; some clients write it as HTTP does. The last byte of nothing is the one before the first.
_RANGE = re.compile(r"(?:bytes[ =])?(\d{1,18})-(-?\d{1,18})(?:/(?:\d{1,18}|\*))?", re.ASCII | re.IGNORECASE)


@streamed("POST")
class Uploads(OciView):
    """Begins an upload, mounts a blob, or takes a whole one."""

    def post(self, request: Request, name: str) -> Response:
        repository = repositories.for_push(self.caller, repositories.pushable(self.caller, name))
        if "mount" in request.GET:
            digest = Digest.parse(request.GET["mount"])
            if blobs.mount(self.caller, repository, digest, request.GET.get("from")):
                return created(name, digest)
        elif "digest" in request.GET:
            digest = Digest.parse(request.GET["digest"])
            uploads.whole(repository, digest, self.body_for(repository), require_room=require_bytes)
            return created(name, digest)
        return progress(name, uploads.begin_session(self.viewer, repository), HTTPStatus.ACCEPTED)


@streamed("PATCH", "PUT")
class Upload(OciView):
    """One upload session of the caller, who must still be allowed to push there."""

    def get(self, request: Request, name: str, number: str) -> Response:  # noqa: ARG002
        return progress(name, self.session, HTTPStatus.NO_CONTENT)

    def patch(self, request: Request, name: str, number: str) -> Response:  # noqa: ARG002
        start, length = range_of(request)
        uploads.append(self.session, self.body_for(self.session.repository), start=start, length=length)
        return progress(name, self.session, HTTPStatus.ACCEPTED)

    def put(self, request: Request, name: str, number: str) -> Response:  # noqa: ARG002
        session, digest = self.session, Digest.parse(request.GET.get("digest", ""))
        start, length = range_of(request)
        body = self.body_for(session.repository)
        authorise = partial(repositories.authorise_again, self.caller, session.repository)
        uploads.finish(
            session, digest, body, authorise=authorise, require_room=require_bytes, start=start, length=length
        )
        return created(name, digest)

    def delete(self, request: Request, name: str, number: str) -> Response:  # noqa: ARG002
        uploads.cancel(self.session)
        return Response(status=HTTPStatus.NO_CONTENT)

    def needs(self) -> str:
        return PUSH  # GET and DELETE, too: an upload is its pusher's

    @cached_property
    def session(self) -> UploadSession:
        name = self.kwargs["name"]
        found = repositories.find(self.caller, repositories.pushable(self.caller, name), need=Role.PUBLISHER)
        try:
            number = uuid.UUID(self.kwargs["number"])
        except ValueError:
            raise chunked.unknown() from None
        return uploads.own(self.viewer, found.namespace, found.address.path_name, number)

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        if isinstance(exc, OutOfOrder):  # raised with a session, which says where to go on
            for header, value in _where(self.kwargs["name"], self.session).items():
                response.headers[header] = value
        return response


def created(name: str, digest: Digest) -> Response:
    headers = {"Location": f"/v2/{name}/blobs/{digest}", "Docker-Content-Digest": str(digest)}
    return Response(status=HTTPStatus.CREATED, headers=headers)


def progress(name: str, session: UploadSession, status: HTTPStatus) -> Response:
    return Response(status=status, headers=_where(name, session))


def _where(name: str, session: UploadSession) -> dict[str, str]:
    """A relative Location: clients refuse another host. Zero bytes and one byte are both written 0-0."""
    headers = {
        "Location": f"/v2/{name}/blobs/uploads/{session.pk}",
        "Range": f"0-{max(0, session.size - 1)}",
        "Docker-Upload-UUID": str(session.pk),
    }
    if not settings.STORAGE_URL.startswith("file:"):
        headers["OCI-Chunk-Min-Length"] = str(OBJECT_MIN_BYTES)
    return headers


def range_of(request: Request) -> tuple[int | None, int | None]:
    """Return first byte and length by Content-Range, or None for both. Raises UploadInvalid."""
    text = request.headers.get("Content-Range", "").strip()
    if not text:
        return None, None
    found = _RANGE.fullmatch(text)
    if found is None:
        raise UploadInvalid(f"Content-Range is {text[:60]!r}: expected the first and the last byte, as in 0-1023.")
    start, last = int(found[1]), int(found[2])
    if is_bare(request):  # an empty chunk has no last byte that could be written
        return start, 0
    if last < start:
        raise UploadInvalid(f"Content-Range is {text[:60]!r}: the last byte comes before the first.")
    return start, last - start + 1


urlpatterns = [
    re_path(r"^(?P<name>.+)/blobs/uploads/?\Z", Uploads.as_view(), name="uploads"),
    re_path(r"^(?P<name>.+)/blobs/uploads/(?P<number>[^/]+)\Z", Upload.as_view(), name="upload"),
]
