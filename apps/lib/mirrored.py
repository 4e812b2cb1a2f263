"""Providers of other registries, in the words that the mirror edges and the room that fetches them share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.lib.errors import NotFound


@dataclass(frozen=True, slots=True)
class HostedProvider:
    """`host/namespace/type`, as clients write it: normalised, in lower case."""

    host: str
    namespace: str
    type: str

    def __str__(self) -> str:
        return f"{self.host}/{self.namespace}/{self.type}"


@dataclass(frozen=True, slots=True)
class MirroredPackage:
    """One platform's zip, by the signed sums; `h1` is empty and `size` the registry's claim until it is fetched.

    `is_public`: anyone may fetch it; else links carry their own permission.
    """

    os: str
    arch: str
    filename: str
    digest: str  # sha256, 64 lower-case hex digits
    size: int | None
    h1: str
    manifest_digest: str  # in the OCI mirror; may be empty
    is_public: bool

    @property
    def platform(self) -> str:
        return f"{self.os}_{self.arch}"

    @property
    def hashes(self) -> list[str]:
        return [*([self.h1] if self.h1 else []), f"zh:{self.digest}"]


@dataclass(frozen=True, slots=True)
class PackageLink:
    """The parts of a package's URL. `capability`: of a link that carries its own permission; empty without one."""

    provider: HostedProvider
    number: str
    filename: str
    capability: str


@dataclass(frozen=True, slots=True)
class OpenLink:
    """The package that a link opens right now, and for how many seconds nothing but a change ends that."""

    package: MirroredPackage
    seconds: float


@dataclass(frozen=True, slots=True)
class MirroredVersions:
    """The versions that one asker may see, highest first. `seconds`: as of a version."""

    numbers: Sequence[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class MirroredVersion:
    """A version by the verified sums, with the packages of the platforms that this asker may fetch.

    `seconds`: for how long policy and list give the same answer to every asker who may read it; 0: the answer is for
    this asker alone.
    """

    number: str
    packages: Sequence[MirroredPackage]
    seconds: float


@dataclass(frozen=True, slots=True)
class MirroredDocument:
    """A manifest or an index of the OCI mirror. `seconds`: as of a version."""

    raw: bytes
    digest: str  # sha256:…
    media_type: str
    seconds: float


@dataclass(frozen=True, slots=True)
class MirroredCopy:
    """The versions of a provider with stored packages, highest first: number and packages of each.

    `seconds`: as of a version.
    """

    versions: Sequence[tuple[str, Sequence[MirroredPackage]]]
    is_public: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class MirroredProof:
    """The proof of a mirrored version for another Larder: SHA256SUMS as signed, and trusted keys with their sources.

    `platforms`: OS and architecture of each package, by file name. `since`: from when its age counts; None: it is old.
    """

    sums: bytes
    signature: bytes
    keys: Sequence[tuple[str, str]]
    platforms: Mapping[str, tuple[str, str]]
    protocols: Sequence[str]
    since: datetime | None
    visibility: str


class OtherClientsOnly(NotFound):
    """The terms of a registry allow other clients alone. The answer may say so to everyone who may see the version."""


class VersionUnknown(NotFound):
    """The provider is there, and this version, package or document of it is not."""
