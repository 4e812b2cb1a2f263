"""Mount: add a blob that the caller may read in one repository to another, without sending it again."""

from django.db import transaction

from apps.accounts.access import gate
from apps.artifacts import ingest, manifest_references, uploads
from apps.artifacts.errors import BlobUnknown
from apps.artifacts.manifest_format import ParsedManifest
from apps.artifacts.models import Repository, RepositoryBlob
from apps.artifacts.names import Digest, ProviderMirror, parse_name
from apps.blobs import ingest as stored
from apps.lib.errors import RegistryError
from apps.oci import blobs, repositories
from apps.oci.authentication import Caller
from apps.oci.repositories import VisibleRepository
from apps.releases.publishing.quotas import require_bytes


def mount(caller: Caller, repository: Repository, digest: Digest, source: str | None) -> RepositoryBlob | None:
    """Mount a blob of `source`, or of any repository that the caller may read; None if there is none. Raises QuotaFull.

    Unknown, hidden and empty sources get the same answer: the client sends the blob instead.
    """
    sha256 = _anywhere(caller, digest) if source is None else _in_source(caller, source, digest)
    if sha256 is None:
        return None
    with transaction.atomic():
        blob = stored.lock_ready(sha256)
        return ingest.add(repository, blob, require_room=require_bytes) if blob else None


def mount_named(caller: Caller, repository: Repository, parsed: ParsedManifest) -> None:
    """Mount blobs that a manifest names and only releases have here: clients see them and do not push them.

    Not inside a transaction. Raises ManifestBlobUnknown, QuotaFull.
    """
    found = VisibleRepository.of(repository)
    for descriptor in manifest_references.missing(repository, parsed):
        try:
            readable = blobs.readable_in(found, descriptor.digest)
        except BlobUnknown:
            raise manifest_references.unknown(descriptor, "blob") from None
        if readable.inline is None:
            mount(caller, repository, descriptor.digest, str(repository))
        else:
            uploads.whole(repository, descriptor.digest, [readable.inline], require_room=require_bytes)


def _in_source(caller: Caller, source: str, digest: Digest) -> str | None:
    try:
        name = parse_name(source)
        if isinstance(name, ProviderMirror):
            return blobs.readable_of_mirror(caller, name, digest).sha256
        return blobs.readable_in(repositories.find(caller, name), digest).sha256
    except RegistryError:
        return None


def _anywhere(caller: Caller, digest: Digest) -> str | None:
    seen = gate.visible_namespaces(caller.viewer).values("pk")
    rows = blobs.readable_rows(digest).filter(repository__namespace__in=seen)
    return rows.values_list("blob__digest", flat=True).first()
