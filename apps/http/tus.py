"""Headers of resumable uploads: tus 1.0.0 (https://tus.io/protocols/resumable-upload), with its extensions creation,
checksum, expiration and termination. The API and the browser's own uploads share them.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from django.utils.http import http_date

from apps.lib.digests import is_sha256
from apps.lib.errors import Invalid, RegistryError
from apps.releases.models import Upload
from apps.releases.publishing.resuming import Announced

VERSION = "1.0.0"
EXTENSIONS = "creation,checksum,expiration,termination"
ALGORITHMS = ("sha256", "sha1")  # the specification demands sha1; it finds broken lines, nothing more
MEDIA_TYPE = "application/offset+octet-stream"
MAX_METADATA = 2000
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_REPR_SHA256 = re.compile(r"(?:^|[\s,])sha-256=:([A-Za-z0-9+/]{43}=):", re.ASCII)


Headers = Mapping[str, str]


class UnknownVersion(RegistryError):
    code = "unsupported_tus_version"


class WrongMediaType(RegistryError):
    code = "unsupported_media_type"


class ChecksumMismatch(Invalid):
    """The body of one request differs from its Upload-Checksum. Nothing of it is kept."""

    code = "checksum_mismatch"


def check_version(headers: Headers) -> None:
    """Check the version that the client names. curl need not name one; a client that does gets that one."""
    found = headers.get("Tus-Resumable", VERSION)
    if found != VERSION:
        raise UnknownVersion(f"Tus-Resumable is {found[:20]!r}: this server supports {VERSION}.")


def check_media_type(headers: Headers) -> None:
    found = headers.get("Content-Type", "")
    if found.partition(";")[0].strip().lower() != MEDIA_TYPE:
        raise WrongMediaType(
            f"Content-Type is {found[:80]!r}: expected {MEDIA_TYPE}.", hint="Send the bytes unchanged."
        )


def offset_of(headers: Headers) -> int:
    return _number(headers, "Upload-Offset", "the offset of the first byte of this request")


def announced(headers: Headers) -> Announced:
    """Return the sender's description of the whole file. Its sha256 comes in Repr-Digest (RFC 9530), or as `sha256` of
    the metadata.
    """
    length = _number(headers, "Upload-Length", "the size of the whole file in bytes")
    digest = announced_digest(headers) or metadata(headers).get("sha256", "").lower()
    if digest and not is_sha256(digest):
        raise Invalid(f"The metadata has the sha256 {digest[:80]!r}: expected 64 hexadecimal digits.")
    return Announced(length, digest, headers.get("Upload-Metadata", ""))


def announced_digest(headers: Headers) -> str:
    """The sha256 in Repr-Digest as hex, or "" if there is none. Raises Invalid for one that cannot be."""
    text = headers.get("Repr-Digest", "")
    if "sha-256=" not in text:
        return ""
    found = _REPR_SHA256.search(text)
    if found is None:
        raise Invalid(
            f"Repr-Digest is {text[:120]!r}: expected sha-256=:<44 characters of base64>:.",
            hint="Encode the 32 bytes of the digest, not its hexadecimal digits.",
        )
    return base64.b64decode(found[1]).hex()


def metadata(headers: Headers) -> dict[str, str]:
    """Upload-Metadata: pairs of a key and a value in base64. Raises Invalid."""
    text = headers.get("Upload-Metadata", "")
    if len(text) > MAX_METADATA or not text.isascii() or not text.isprintable():
        raise Invalid(f"Upload-Metadata may have {MAX_METADATA} printable ASCII characters.")
    found = {}
    for pair in filter(None, (one.strip() for one in text.split(","))):
        key, _, value = pair.partition(" ")
        try:
            found[key] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, ValueError):
            raise Invalid(f"The value of {key[:60]!r} in Upload-Metadata is not UTF-8 in base64.") from None
    return found


def verifier(headers: Headers) -> Callable[[Iterable[bytes]], Iterator[bytes]] | None:
    """Compare the body of one request with its Upload-Checksum; None if it has none."""
    text = headers.get("Upload-Checksum", "")
    if not text:
        return None
    algorithm, _, value = text.partition(" ")
    if algorithm not in ALGORITHMS:
        raise Invalid(f"Upload-Checksum uses {algorithm[:20]!r}: expected one of {', '.join(ALGORITHMS)}.")
    try:
        expected = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("The value of Upload-Checksum is not base64.") from None

    def verified(chunks: Iterable[bytes]) -> Iterator[bytes]:
        tally = hashlib.new(algorithm, usedforsecurity=False)
        for chunk in chunks:
            tally.update(chunk)
            yield chunk
        if tally.digest() != expected:
            raise ChecksumMismatch(
                "The body of this request does not match its Upload-Checksum.", hint="Send them again."
            )

    return verified


def standing(upload: Upload | None) -> dict[str, str]:
    """The headers that say how far an upload is; None is one without a length yet."""
    always = {"Tus-Resumable": VERSION, "Cache-Control": "no-store"}
    if upload is None:
        return always | {"Upload-Offset": "0", "Upload-Defer-Length": "1"}
    known = {"Upload-Metadata": upload.metadata} if upload.metadata else {}
    return (
        always
        | known
        | {
            "Upload-Offset": str(upload.size),
            "Upload-Length": str(upload.length),
            "Upload-Expires": http_date(upload.expires_at.timestamp()),
        }
    )


def _number(headers: Headers, name: str, meaning: str) -> int:
    text = headers.get(name, "")
    if not _NUMBER.fullmatch(text):
        raise Invalid(f"{name} is {text[:40]!r}: expected {meaning}, a plain number.")
    return int(text)
