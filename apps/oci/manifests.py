"""Manifests: taking them in byte for byte, finding them by tag and digest, deleting them (oci.md 1.1, 7.5, 7.6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.oci.authentication import Caller
from apps.oci.models import Repository
from apps.oci.references import Digest
from apps.oci.repositories import Found
from apps.oci.served import Served

IMAGE = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
MODULE_PACKAGE = "application/vnd.opentofu.modulepkg"


@dataclass(frozen=True, slots=True)
class Put:
    """What a push left behind. `subject` is empty where it names none; `warnings` are sentences for people."""

    digest: Digest
    subject: str
    tags: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def put(
    caller: Caller,
    repository: Repository,
    reference: str | Digest,
    raw: bytes,
    content_type: str,
    tags: Sequence[str] = (),
) -> Put:
    """Stores the bytes, with the tags. A tag that is a version publishes it, before this returns (packages.publish).

    Raises ManifestInvalid, DigestInvalid, ManifestBlobUnknown, VersionTaken.
    """
    raise NotImplementedError


def read(found: Found, reference: str, *, bytes_wanted: bool = True) -> Served:
    """By tag or digest: what a release answers first, else the rows. Raises ManifestUnknown, DigestInvalid."""
    raise NotImplementedError


def delete(caller: Caller, found: Found, reference: str) -> None:
    """A tag goes alone; by digest the manifest goes, and every tag on it. Raises ManifestUnknown, Unsupported."""
    raise NotImplementedError
