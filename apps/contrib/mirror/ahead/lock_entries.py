"""The records of lock files about a provider of this registry."""

from collections.abc import Sequence
from contextlib import suppress

from apps.accounts.access.gate import Viewer
from apps.blobs import store
from apps.contrib.mirror.ahead import choosing
from apps.contrib.mirror.ahead.choosing import LockedVersion
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import Conflict, NotFound
from apps.lib.formats.lock_files import written
from apps.lib.mirrored import HostedProvider
from apps.lib.provider_constraints import Constraints
from apps.providers import reading
from apps.releases import cooldown
from apps.signing.models import State


def hashes_of(
    viewer: Viewer, provider: HostedProvider, *, constraints: Constraints, locked: str, platforms: Sequence[str]
) -> LockedVersion:
    """The version that a client selects, with the hashes that it records for these platforms, through the gate.

    Raises CredentialsRequired or NotFound for what the viewer does not see, HeldBack for a locked version in its
    cool-down, and what `choose` raises.
    """
    address = ProviderAddress(provider.namespace, provider.type)
    offered = [version.version for version in reading.listed_versions(viewer, address).rows]
    if locked and locked not in offered:
        with suppress(NotFound):
            cooldown.require_visible(reading.version_for(viewer, address, locked).release)
    chosen = choosing.choose(offered, constraints, locked=locked, provider=provider)
    version = reading.version_for(viewer, address, chosen)
    if version.key.state == State.REVOKED:
        raise Conflict(
            f"The key {version.key.key_id}, which signed {written(provider)} {chosen}, was revoked: clients "
            "reject this version.",
            hint="Ask the provider's owners to sign it again.",
        )
    packages = {package.platform: package for package in version.packages.all()}
    if missing := [platform for platform in platforms if platform not in packages]:
        raise NotFound(
            f"{written(provider)} {chosen} has no package for {', '.join(missing)}.",
            hint=f"It has {', '.join(sorted(packages)) or 'none'}.",
        )
    sums = b"".join(store.read(version.sums_digest))
    hashes = [packages[platform].h1 for platform in platforms]
    return LockedVersion(chosen, (*hashes, *choosing.zip_hashes(sums)))
