"""Archive URLs (D6): who may fetch the archives that download answers name. Only the suffix of a file name matters."""

from collections.abc import Callable, Iterator
from functools import partial

from django.conf import settings
from django.http.response import HttpResponseBase
from django.urls import path
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.access.gate import Viewer, visible_namespaces
from apps.blobs import capabilities, store
from apps.http.byte_ranges import byte_response
from apps.jobs import database_availability
from apps.lib.digests import is_sha256
from apps.lib.errors import CredentialsRequired, NotFound, RegistryError, Unavailable
from apps.protocol.base import ProtocolView
from apps.protocol.last_public import last_public
from apps.protocol.locations import FILE_NAME, disposition_of
from apps.releases import fetchable
from apps.releases.lifecycle.quarantine import blocked
from apps.releases.models import Release, ReleaseQuerySet


class LinkRefused(RegistryError):
    code = "forbidden"


def archive_response(
    request: Request,
    *,
    digest: str,
    file_name: str,
    cache_control: str,
    read_part: Callable[..., Iterator[bytes]] = store.read_part,
) -> HttpResponseBase:
    """The blob of that digest. Raises Unavailable if storage has none, or a damaged one.

    The caller has checked that this digest may be read, and that `file_name` is plain ASCII without controls.
    """
    store.require_sound(digest)
    size = store.size_of(digest)
    if size is None:
        raise _lost()
    media_type = "application/zip" if file_name.endswith(".zip") else "application/octet-stream"
    headers = {
        "Content-Type": "text/plain; charset=utf-8" if file_name.endswith("_SHA256SUMS") else media_type,
        "Cache-Control": cache_control,
        "Content-Disposition": disposition_of(file_name),
        "X-Content-Type-Options": "nosniff",
    }

    def read(part: range) -> Iterator[bytes]:
        try:
            return read_part(digest, part, size=size)
        except store.Missing:
            raise _lost() from None

    return byte_response(
        request,
        size=size,
        etag=f'"{digest}"',
        headers=headers,
        read=read,
        verified_file=partial(store.verified_file, digest),
        link=lambda said: store.link_to(digest, headers=said),
    )


def _lost() -> Unavailable:
    # Published bytes that storage does not show are an outage of ours: a 404 would say that the version is gone.
    return Unavailable("The archive cannot be read from storage right now; try again in a few seconds.")


class ArchiveView(ProtocolView):
    def perform_authentication(self, request: Request) -> None:
        """Only where the URL does not suffice: a .netrc `default` entry sends its password to every host."""


class Archive(ArchiveView):
    """The plain URL: public archives for everyone, others with a token that may read them."""

    def get(self, request: Request, digest: str, file_name: str) -> HttpResponseBase:
        cache_control = "private"
        if _is_public(digest, file_name):
            cache_control = f"public, max-age={settings.PUBLIC_ARCHIVE_MAX_AGE}"
        else:
            _require_visible(self.viewer, digest, file_name)
        return archive_response(request, digest=digest, file_name=file_name, cache_control=cache_control)


class CapabilityArchive(ArchiveView):
    """The URL that carries its own permission. If it is invalid, credentials (.netrc) may still grant access."""

    def get(self, request: Request, capability: str, digest: str, file_name: str) -> HttpResponseBase:
        if not capabilities.verify(capability, digest=digest, file_name=file_name, now=timezone.now()):
            try:
                _require_visible(self.viewer, digest, file_name)
            except (CredentialsRequired, NotFound, AuthenticationFailed):
                raise LinkRefused(
                    "This download link has expired or was changed; ask the registry for a new one."
                ) from None
        else:
            try:
                is_served = _released(digest).exists()
            except database_availability.AWAY:
                if not blocked.is_complete():
                    raise
                is_served = digest not in blocked  # without the database it cannot change either
            if not is_served:  # purged or in quarantine, effective immediately
                raise NotFound("This archive is no longer served.")
        return archive_response(request, digest=digest, file_name=file_name, cache_control="private")


def _is_public(digest: str, file_name: str) -> bool:
    if not is_sha256(digest) or not FILE_NAME.fullmatch(file_name):
        return False
    try:
        places = fetchable.public_places(fetchable.places_of([digest]).get(digest, {}))
    except database_availability.AWAY:
        if digest in last_public and blocked.is_complete() and digest not in blocked:
            return True
        raise
    last_public.update(digest, places)
    return bool(places)


def _is_visible(viewer: Viewer, digest: str, file_name: str) -> bool:
    """A published release with these bytes is in a namespace that the viewer sees, and none is in quarantine."""
    if not is_sha256(digest) or not FILE_NAME.fullmatch(file_name):
        return False
    shown = visible_namespaces(viewer).values("pk")
    return _released(digest).filter(namespace__in=shown).exists()


def _released(digest: str) -> ReleaseQuerySet:
    """One query for every kind of file: a module's archive, or a provider's package, sums or signature."""
    return Release.objects.with_bytes(digest)


def _require_visible(viewer: Viewer, digest: str, file_name: str) -> None:
    if viewer.is_identified and _is_visible(viewer, digest, file_name):
        return
    if not viewer.is_identified:  # the same text for hidden and missing archives
        raise CredentialsRequired("This needs credentials: without them only public archives can be read.")
    raise NotFound("There is no such archive that you can see.")


urlpatterns = [
    path("archives/<segment:digest>/<segment:file_name>", Archive.as_view(), name="archive"),
    path(
        "archives/<segment:capability>/<segment:digest>/<segment:file_name>",
        CapabilityArchive.as_view(),
        name="archive-capability",
    ),
]
