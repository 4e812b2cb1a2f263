"""Find the blobs that may be read in a repository, mount them in another one, and delete them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, ProtectedError, QuerySet
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.artifacts import uploads
from apps.artifacts.errors import BlobUnknown, Unsupported
from apps.artifacts.models import Repository, RepositoryBlob
from apps.artifacts.names import Digest, ProviderMirror, parse_name
from apps.blobs import store
from apps.blobs.models import Blob, State
from apps.lib.errors import RegistryError, Unavailable
from apps.lib.formats.oci_manifests import EMPTY_BYTES, EMPTY_DIGEST
from apps.oci import mirrors, packages, referrers, repositories
from apps.oci.authentication import Caller
from apps.oci.repositories import VisibleRepository
from apps.provenance import referrers as provenance
from apps.releases.lifecycle.quarantine import blocked
from apps.releases.models import Release
from apps.releases.publishing.quotas import require_bytes

_EMPTY_SHA256 = EMPTY_DIGEST.partition(":")[2]
# A client that is told that a blob exists does not send it: it must stay until the manifest comes.
SEEN_INTERVAL = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Readable:
    """Bytes that may be read where they were asked for: in storage, or `inline`. `row`: they were pushed there."""

    sha256: str
    size: int
    inline: bytes | None = None
    row: RepositoryBlob | None = None
    read_part: Callable[..., Iterator[bytes]] = store.read_part

    def is_stored(self) -> bool:
        """Raises Unavailable for known damage."""
        store.require_sound(self.sha256)
        return self.inline is not None or store.size_of(self.sha256) == self.size

    def verified_file(self) -> store.File | None:
        """The file that a server may send without a check."""
        return store.verified_file(self.sha256) if self.inline is None else None

    def link(self, headers: Mapping[str, str]) -> str | None:
        return store.link_to(self.sha256, headers=headers) if self.inline is None else None

    def read(self, part: range) -> Iterator[bytes]:
        """Raises Unavailable, not 404, if storage lost or damaged the bytes."""
        if self.inline is not None:
            return iter([self.inline[part.start : part.stop]])
        try:
            return self.read_part(self.sha256, part, size=self.size)
        except store.Missing:
            raise Unavailable("The blob cannot be read from storage right now; try again in a few seconds.") from None


EMPTY = Readable(_EMPTY_SHA256, len(EMPTY_BYTES), inline=EMPTY_BYTES)


def readable_rows(digest: Digest) -> QuerySet[RepositoryBlob]:
    """The blob, by either algorithm, where its bytes are in storage and no release with them is in quarantine.

    In every repository: callers narrow it to visible ones.
    """
    column = "blob__digest" if digest.algorithm == "sha256" else "blob__sha512"
    blocked = Release.objects.filter(digest=OuterRef("blob__digest"), quarantined_at__isnull=False)
    rows = RepositoryBlob.objects.select_related("blob")
    return rows.filter(~Exists(blocked), blob__state=State.READY, **{column: digest.hex})


def readable_in(found: VisibleRepository, digest: Digest) -> Readable:
    """Return a pushed blob or the archive of a release. Raises BlobUnknown, or NameUnknown for an empty repository."""
    row = _pushed(found, digest)
    if row is not None:
        return Readable(row.blob.digest, row.blob.size, row=row)
    released = _of_release(found, digest)
    if released is not None:
        return released
    raise unknown(digest) if found.is_there else repositories.unknown(found.address)


def readable_of_mirror(caller: Caller, mirror: ProviderMirror, digest: Digest) -> Readable:
    """A package of a provider, what is said about one, or the empty config. Raises what `mirrors.blob` raises."""
    found = mirrors.blob(caller, mirror, str(digest))
    return _inline(digest.hex, found) if isinstance(found, bytes) else Readable(found.digest, found.size)


def opened(sha256: str) -> Readable:
    """A blob of a manifest that was read before the database went away. Raises Unavailable, or BlobUnknown."""
    if sha256 == _EMPTY_SHA256:
        return EMPTY
    size = store.size_of(sha256)
    if size is None or not blocked.is_complete():
        raise Unavailable("The blob cannot be read right now; try again in a few seconds.")
    if sha256 in blocked:
        raise unknown(Digest("sha256", sha256))
    return Readable(sha256, size)


def mount(caller: Caller, repository: Repository, digest: Digest, source: str | None) -> RepositoryBlob | None:
    """Let readers of the repository read a blob of `source`, or of any repository that the caller may read.

    A token of /v2/token must be good for pulling from `source`; without one nothing is looked for on its behalf.
    None for unknown, hidden and empty sources alike: the client sends the blob instead. Raises QuotaFull.
    """
    if source is None:
        if caller.scopes is not None:
            return None
        visible = gate.visible_namespaces(caller.viewer).values("pk")
        rows = readable_rows(digest).filter(repository__namespace__in=visible)
        sha256 = rows.values_list("blob__digest", flat=True).first()
    else:
        try:
            caller.require(source, "pull")
            name = parse_name(source)
            if isinstance(name, ProviderMirror):
                sha256 = readable_of_mirror(caller, name, digest).sha256
            else:
                sha256 = readable_in(repositories.find(caller, name), digest).sha256
        except RegistryError:
            return None
    return uploads.mount(repository, sha256, require_room=require_bytes) if sha256 else None


def record_seen(caller: Caller, found: VisibleRepository, readable: Readable) -> None:
    """Record that a publisher was told that the blob exists; a reader's request writes nothing (D15).

    Raises BlobUnknown if it was removed at this moment.
    """
    row, now = readable.row, timezone.now()
    if row is None or row.seen_at > now - min(SEEN_INTERVAL, settings.OCI_GRACE / 4) or not caller.viewer.is_identified:
        return
    role = gate.role_on(caller.viewer, found.namespace, only_name=found.address.path_name)
    if role is None or not role.covers(Role.PUBLISHER):
        return
    if not RepositoryBlob.objects.filter(pk=row.pk).update(seen_at=now):
        raise unknown(Digest("sha256", row.blob.digest))  # whoever may push sends it then


def delete(found: VisibleRepository, digest: Digest) -> None:
    """Delete it from this repository only. Raises BlobUnknown, or Unsupported if something uses it."""
    if _of_release(found, digest) is not None:  # whether it was pushed as well or not: it would go on being served
        raise Unsupported(
            f"A release of {found.address} uses {digest}.",
            hint=packages.NEVER_DELETED,
        )
    row = _pushed(found, digest)
    if row is None:
        raise unknown(digest)
    try:
        with transaction.atomic():
            row.delete()
    except (ProtectedError, IntegrityError):  # the second: a manifest that came between Django's look and the delete
        raise Unsupported(
            f"A manifest of {found.address} uses {digest}.", hint="Delete the manifests that use it first."
        ) from None


def unknown(digest: Digest) -> BlobUnknown:
    return BlobUnknown(f"There is no blob {digest} in this repository.")


def _of_release(found: VisibleRepository, digest: Digest) -> Readable | None:
    """Return the archive of a release, or what else generated manifests name: the empty config, a statement, …"""
    if found.module is None:
        return None
    sha256 = digest.hex
    if digest.algorithm == "sha512":
        sha256 = Blob.objects.filter(sha512=digest.hex).values_list("digest", flat=True).first() or ""
    release = packages.archive_of(found, sha256) if sha256 else None
    if release is not None:
        return Readable(release.digest, release.size or 0)
    if str(digest) in _EMPTIES and packages.has_empty_config(found):
        return EMPTY
    said = provenance.document(referrers.releases_in(found), sha256) if sha256 else None
    return _inline(sha256, said) if said is not None else None


def _inline(sha256: str, content: bytes) -> Readable:
    return Readable(sha256, len(content), inline=content)


def _pushed(found: VisibleRepository, digest: Digest) -> RepositoryBlob | None:
    return readable_rows(digest).filter(**found.here).order_by("pk").first()


_EMPTIES = frozenset(str(Digest.of(EMPTY_BYTES, algorithm)) for algorithm in ("sha256", "sha512"))
