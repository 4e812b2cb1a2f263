"""Providers of other registries, in the words that the mirror edges and the room that fetches them share."""

from dataclasses import dataclass


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
    """One platform's zip, by the signed sums; `h1` is empty and `size` the registry's claim until it is fetched."""

    os: str
    arch: str
    filename: str
    digest: str  # sha256, 64 lower-case hex digits
    size: int | None
    h1: str
    manifest_digest: str  # in the OCI mirror; may be empty

    @property
    def platform(self) -> str:
        return f"{self.os}_{self.arch}"

    @property
    def hashes(self) -> list[str]:
        return [*([self.h1] if self.h1 else []), f"zh:{self.digest}"]


@dataclass(frozen=True, slots=True)
class LockedVersion:
    """What a lock file records of a provider: hashes of bytes that were verified, and those of its signed sums."""

    version: str
    hashes: tuple[str, ...]
