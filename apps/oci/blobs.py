"""Which blobs may be read in a repository, and taking them out of it again."""

from dataclasses import dataclass

from apps.oci.authentication import Caller
from apps.oci.models import Repository, RepositoryBlob
from apps.oci.references import Digest
from apps.oci.repositories import Found


@dataclass(frozen=True, slots=True)
class Readable:
    """Bytes in storage that may be read where they were asked for."""

    sha256: str
    size: int


def find(repository: Repository, digest: Digest) -> RepositoryBlob | None:
    """The blob, by either algorithm, where its bytes are in storage and none of its releases is in quarantine."""
    raise NotImplementedError


def size_and_source(found: Found, digest: Digest) -> Readable:
    """What is pushed, or the archive of a release. Raises BlobUnknown."""
    raise NotImplementedError


def delete(caller: Caller, found: Found, digest: Digest) -> None:
    """Take it out of this repository; others keep it. Raises BlobUnknown, or Unsupported where a manifest uses it."""
    raise NotImplementedError
