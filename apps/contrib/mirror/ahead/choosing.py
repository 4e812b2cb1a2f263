"""The versions and hashes that clients lock."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from apps.lib import versions
from apps.lib.errors import Invalid, NotFound
from apps.lib.formats.lock_files import DEFAULT_NAMESPACE, Client, LockFile, written
from apps.lib.mirrored import HostedProvider
from apps.lib.provider_constraints import Constraints

_DIGEST = re.compile(rb"[0-9A-Fa-f]{64}")
_NOT_A_VERSION = "0.0.0"


@dataclass(frozen=True, slots=True)
class LockedVersion:
    """The hashes that a lock file records of a provider: of bytes that were verified, and of its signed sums."""

    version: str
    hashes: tuple[str, ...]


def choose(offered: Iterable[str], constraints: Constraints, *, locked: str, provider: HostedProvider) -> str:
    """The version that `providers lock` selects: the locked one, otherwise the highest. Raises Invalid or NotFound."""
    if locked and not constraints.allows(versions.parse(locked)):
        raise Invalid(
            f"{written(provider)} is locked to {locked}, which the constraints {str(constraints)!r} exclude.",
            hint="Run init -upgrade, or remove the provider from the lock file.",
        )
    if _NOT_A_VERSION in (locked, str(constraints)):
        raise Invalid(f"{written(provider)}: {_NOT_A_VERSION} is not a version that clients install.")
    if locked:
        if locked in offered:
            return locked
        raise NotFound(f"Version {locked} of {written(provider)}, which is locked, is not available.")
    found = constraints.highest(offered)
    if found is None:
        which = f"that meets {str(constraints)!r}" if constraints.terms else "that is a release"
        raise NotFound(f"There is no version of {written(provider)} {which}.")
    return found


def zip_hashes(sums: bytes) -> list[str]:
    """The `zh:` of every line of SHA256SUMS, as clients record them: none if one line has another shape."""
    found = []
    for line in sums.split(b"\n"):
        fields = line.split()
        if not fields:
            continue
        if len(fields) < 2 or not _DIGEST.fullmatch(fields[0]):  # noqa: PLR2004 - digest and name
            return []
        found.append(f"zh:{fields[0].decode().lower()}")
    return found


def followed(locks: LockFile) -> LockFile:
    """The locks with which `tofu providers lock` begins: of HashiCorp's providers in Terraform's registry it takes the
    versions over for those of the same names in its own, without their hashes.
    """
    if locks.client is not Client.TOFU:
        return locks
    more = {
        HostedProvider(Client.TOFU.default_host, provider.namespace, provider.type): replace(one, hashes=frozenset())
        for provider, one in locks.providers.items()
        if (provider.host, provider.namespace) == (Client.TERRAFORM.default_host, DEFAULT_NAMESPACE)
    }
    return replace(locks, providers={**more, **locks.providers})
