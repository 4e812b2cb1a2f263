"""Names, tags and digests of the distribution specification: https://github.com/opencontainers/distribution-spec

A repository is a module, `namespace/name/system`, or the mirror of a provider,
`providers/<hostname>/<namespace>/<type>`. Any other name is a plain repository of the namespace that it begins with.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Self

from apps.artifacts.errors import DigestInvalid, NameInvalid
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_NAME = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*", re.ASCII)
_TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}", re.ASCII)
_HEX = {"sha256": 64, "sha512": 128}
_DIGEST = re.compile(r"(sha256|sha512):([0-9a-f]{64,128})", re.ASCII)
LONGEST_NAME = 255
PROVIDERS = "providers"


@dataclass(frozen=True, slots=True)
class Digest:
    """`sha256:<64 hex>` or `sha512:<128 hex>`, lower case."""

    algorithm: str
    hex: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.hex}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises DigestInvalid."""
        found = _DIGEST.fullmatch(text)
        if found is None or len(found[2]) != _HEX[found[1]]:
            raise DigestInvalid(
                f"{text[:150]!r} is not a digest: expected sha256 with 64, or sha512 with 128 lower-case hex digits."
            )
        return cls(found[1], found[2])

    @classmethod
    def of(cls, data: bytes, algorithm: str = "sha256") -> Self:
        return cls(algorithm, hashlib.new(algorithm, data).hexdigest())


@dataclass(frozen=True, slots=True)
class ProviderMirror:
    """The repository of a provider under one of the host names that clients use (D22)."""

    hostname: str
    address: ProviderAddress


@dataclass(frozen=True, slots=True)
class PlainRepository:
    """A repository without releases, such as `acme/images/web/front`; `path_name` is empty for `acme` itself."""

    namespace: str
    path_name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.path_name}" if self.path_name else self.namespace


RepositoryAddress = ModuleAddress | PlainRepository


def name_of(namespace: str, path: str) -> str:
    """Return the name that clients use, in lower case."""
    return str(PlainRepository(namespace, path)).lower()


def is_tag(text: str) -> bool:
    return _TAG.fullmatch(text) is not None


def is_release_tag(tag: str) -> bool:
    """Strict SemVer (D10), with `_` for `+`. `v1.2.0`, `1.2` and `01.2.3` are ordinary tags."""
    try:
        versions.parse(version_of(tag))
    except Invalid:
        return False
    return True


def version_of(tag: str) -> str:
    return tag.replace("_", "+")


def tag_of(version: str) -> str:
    return version.replace("+", "_")


def is_name(text: str) -> bool:
    """Return whether the grammar allows the name. Such a text is safe in a header."""
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None


def address_of(text: str) -> RepositoryAddress:
    """Parse a name that the grammar allows."""
    try:
        return ModuleAddress.parse(text)
    except Invalid:
        namespace, _, path = text.partition("/")
        return PlainRepository(namespace, path)


def parse_name(text: str) -> RepositoryAddress | ProviderMirror:
    """Raises NameInvalid."""
    if not is_name(text):
        raise NameInvalid(
            f"{text[:300]!r} is not a repository name: expected lower-case words joined by single slashes."
        )
    if text.partition("/")[0] != PROVIDERS:
        return address_of(text)
    parts = text.split("/")
    if len(parts) != 4:  # noqa: PLR2004 - the four of the line below
        raise NameInvalid(f"{text!r} has {len(parts)} parts: expected {PROVIDERS}/hostname/namespace/type.")
    try:
        return ProviderMirror(parts[1], ProviderAddress.parse(f"{parts[2]}/{parts[3]}"))
    except Invalid as refusal:
        raise NameInvalid(str(refusal), hint=refusal.hint) from None
