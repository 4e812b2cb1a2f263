"""The places of the files of the static tree.

A *place* is the path of a file in the tree, which is the path of its URL without the first slash:
`v1/modules/acme/vpc/aws/versions`. Files lie below one of two folders, `public/` for what anonymous people may read and
`private/` for the rest. A bundle and a follower have the same places.
"""

import hashlib
import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Self

MANIFEST = "manifest.dsse"
PAYLOAD_TYPE = "application/vnd.larder.static-copy+json"  # of its envelope
SHARDS = tuple(f"{number:02x}" for number in range(256))
DISCOVERY = ".well-known/terraform.json"


class Kind(StrEnum):
    MODULE = "modules"
    PROVIDER = "providers"
    MIRROR = "mirror"
    DISCOVERY = "discovery"


class Rank(IntEnum):
    """The order in which files are written, so that what a client reads names only files that are there.

    Files are removed in reverse.
    """

    BYTES = 0
    SUMS = 1
    SIGNATURE = 2
    DOWNLOAD = 3
    LIST = 4


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """A unit of writing: a module, a provider, a provider of another registry, or the discovery document.

    `name` is as clients write it: `acme/vpc/aws`, `acme/hello` (in lower case, with - for _),
    `registry.terraform.io/hashicorp/random`; empty for discovery.
    """

    kind: Kind
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}" if self.name else str(self.kind)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError for other text."""
        kind, _, name = text.partition("/")
        if not _NAMES[found := Kind(kind)].fullmatch(name):
            raise ValueError(f"found {name[:80]!r}, expected a name of {kind}")
        return cls(found, name)

    @property
    def digest(self) -> str:
        return hashlib.sha256(str(self).encode()).hexdigest()

    @property
    def shard(self) -> str:
        """The name of the manifest's shard that has its line: two hex digits."""
        return self.digest[:2]

    @property
    def list_path(self) -> str:
        """The path of the list of its files, from the root of the tree."""
        return f"manifest/{self.shard}/{self.digest}.json"

    @property
    def packages(self) -> str:
        """The folder of its bytes."""
        return f"packages/{self.kind}/{self.name}"

    # --- Places of documents ---

    @property
    def versions(self) -> str:
        return f"v1/{self.kind}/{self.name}/versions"

    def module_download(self, version: str) -> str:
        return f"v1/modules/{self.name}/{version}/download"

    def provider_download(self, version: str, os: str, arch: str) -> str:
        return f"v1/providers/{self.name}/{version}/download/{os}/{arch}"

    # --- Places of bytes ---

    def archive(self, version: str) -> str:
        """The place of a module's archive."""
        return f"{self.packages}/{version}.zip"

    def package(self, version: str, file_name: str) -> str:
        """The place of a provider's zip, its sums or their signature."""
        return f"{self.packages}/{version}/{file_name}"


_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9_.+~-]*"
_NAMES = {
    kind: re.compile("/".join([_SEGMENT] * parts), re.ASCII)
    for kind, parts in {Kind.MODULE: 3, Kind.PROVIDER: 2, Kind.MIRROR: 3, Kind.DISCOVERY: 0}.items()
}
_PLACE = re.compile(rf"{re.escape(DISCOVERY)}|(?:v1|packages)(?:/{_SEGMENT})+", re.ASCII)


def mirror_index(provider: str) -> str:
    """`provider`: `host/namespace/type`."""
    return f"v1/mirror/{provider}/index.json"


def mirror_version(provider: str, version: str) -> str:
    return f"v1/mirror/{provider}/{version}.json"


def side(*, is_public: bool) -> str:
    """The folder that has such files."""
    return "public" if is_public else "private"


def path_of(place: str, *, is_public: bool) -> str:
    """The path of a file from the root of the tree."""
    return f"{side(is_public=is_public)}/{place}"


def shard_path(shard: str) -> str:
    return f"manifest/{shard}.json"


def is_place(text: str) -> bool:
    """Return whether this can be a place: no text leads out of the tree, or to a temporary file."""
    return len(text) <= 600 and _PLACE.fullmatch(text) is not None  # noqa: PLR2004  # as a storage key


def rank_of(place: str) -> Rank:
    if place.startswith("packages/"):
        if place.endswith(".sig"):
            return Rank.SIGNATURE
        return Rank.SUMS if place.endswith("_SHA256SUMS") else Rank.BYTES
    if place == DISCOVERY or place.endswith(("/versions", "/index.json")):
        return Rank.LIST
    return Rank.DOWNLOAD


def version_at(place: str) -> str:
    """The version that a file is of. Lists are of none."""
    parts = place.split("/")
    number = 4 if parts[1] == Kind.PROVIDER else 5
    suffix = ".zip" if place.startswith("packages/modules/") else ".json" if place.startswith("v1/mirror/") else ""
    return parts[number].removesuffix(suffix)


def addresses_at(place: str) -> list[Address]:
    """The addresses that can have a file at this place: our own providers are in the mirror as well."""
    if place == DISCOVERY:
        return [Address(Kind.DISCOVERY)]
    top, *names = place.split("/")
    found = []
    if top in ("v1", "packages") and names[:1] in ([Kind.MODULE], [Kind.MIRROR]):
        found.append((Kind(names[0]), names[1:4]))
    if top in ("v1", "packages") and names[:1] in ([Kind.PROVIDER], [Kind.MIRROR]):
        found.append((Kind.PROVIDER, names[1:3] if names[0] == Kind.PROVIDER else names[2:4]))
    return [Address(kind, "/".join(parts)) for kind, parts in found]
