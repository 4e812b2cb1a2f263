"""Pushing a blob: a session is begun, bytes are appended, and it is finished by the digest that they should have."""

import uuid
from collections.abc import Iterable

from apps.oci.authentication import Caller
from apps.oci.models import Repository, RepositoryBlob, UploadSession
from apps.oci.references import Digest

Chunks = Iterable[bytes]


def begin(caller: Caller, repository: Repository) -> UploadSession:
    raise NotImplementedError


def of(caller: Caller, repository: Repository, number: uuid.UUID) -> UploadSession:
    """The caller's own session. Raises UploadUnknown."""
    raise NotImplementedError


def append(session: UploadSession, chunks: Chunks, *, start: int | None = None, length: int | None = None) -> None:
    """Take a chunk. Raises OutOfOrder where it does not begin where the last one ended; the session goes on."""
    raise NotImplementedError


def finish(
    session: UploadSession, digest: Digest, chunks: Chunks, *, start: int | None = None, length: int | None = None
) -> RepositoryBlob:
    """Take the last chunk, if there is one, and keep the blob. Raises DigestInvalid, and then the session has ended."""
    raise NotImplementedError


def cancel(session: UploadSession) -> None:
    raise NotImplementedError


def whole(repository: Repository, digest: Digest, chunks: Chunks) -> RepositoryBlob:
    """Keep a blob that came in one request, without a session."""
    raise NotImplementedError


def mount(caller: Caller, repository: Repository, digest: Digest, source: str | None) -> RepositoryBlob | None:
    """Show a blob of `source`, or of any repository that the caller may read, here too; None where there is none."""
    raise NotImplementedError
