"""The input of a lock: providers with their constraints, the lock file so far, a client, and platforms."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

from apps.contrib.mirror.ahead import lock_texts
from apps.contrib.mirror.ahead.choosing import followed
from apps.lib.errors import Invalid
from apps.lib.formats import lock_files
from apps.lib.formats.lock_files import LockFile, written
from apps.lib.mirrored import HostedProvider
from apps.lib.provider_constraints import Constraints

MAX_PROVIDERS = 100
MAX_PLATFORMS = 16
_PLATFORM = re.compile(r"[a-z0-9]{1,20}_[a-z0-9]{1,20}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Request:
    """`required` are the providers to lock; what `locks` has besides is kept as it is."""

    locks: LockFile
    required: Mapping[HostedProvider, Constraints]
    platforms: tuple[str, ...]

    @property
    def packages(self) -> int:
        return len(self.required) * len(self.platforms)

    def locked_version(self, provider: HostedProvider) -> str:
        locked = self.locks.providers.get(provider)
        return locked.version if locked else ""

    def as_json(self) -> dict[str, Any]:
        return {
            "client": str(self.locks.client),
            "lock": str(self.locks),
            "required": {written(provider): str(constraints) for provider, constraints in self.required.items()},
            "platforms": list(self.platforms),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        required = {
            lock_files.parse_source(address, default_host=""): Constraints.parse(text)
            for address, text in data["required"].items()
        }
        return cls(lock_files.parse_lock(data["lock"]), required, tuple(data["platforms"]))


def read(*, lock: str = "", required_providers: str = "", platforms: Collection[str], client: str = "") -> Request:
    """Raises Invalid.

    A lock file alone requires what it locks, with its constraints. With both, as in a working folder: the block
    says what is required, and versions that are locked stay.
    """
    if not lock.strip() and not required_providers.strip():
        raise Invalid(
            "The request has neither a lock file nor a required_providers block.",
            hint="Send lock, required_providers, or both.",
        )
    locks, required = lock_texts.read(lock=lock, required_providers=required_providers, client=client)
    if not required_providers.strip():
        required = {provider: locked.constraints for provider, locked in locks.providers.items()}
    if not required:
        raise Invalid("The lock file has no provider.", hint="Send the required_providers block with it.")
    if len(required) > MAX_PROVIDERS:
        raise Invalid(
            f"{len(required):,} providers are required, expected at most {MAX_PROVIDERS} in one request.",
            hint="Send parts of them, one after the other.",
        )
    return Request(followed(locks), required, checked_platforms(platforms))


def checked_platforms(platforms: Collection[str]) -> tuple[str, ...]:
    """Each once, sorted. Raises Invalid."""
    found = sorted(set(platforms))
    if not found:
        raise Invalid("No platform is named.", hint="Name those that your team uses, such as linux_amd64.")
    for platform in found:
        if not _PLATFORM.fullmatch(platform):
            raise Invalid(
                f"Found the platform {platform[:60]!r}, expected an operating system and an architecture.",
                hint="Write it such as linux_amd64 or darwin_arm64.",
            )
    if len(found) > MAX_PLATFORMS:
        raise Invalid(f"{len(found):,} platforms are named, expected at most {MAX_PLATFORMS}.")
    return tuple(found)
