"""Mirrored versions that cross an air gap: one Larder says what it verified, and the other verifies it again.

Nothing is trusted because a bundle brought it: keys are pinned, wait for staff or are refused as if the registry had
named them, and packages are checked as if it had sent them.
"""

from collections.abc import Callable, Iterable, Mapping

from django.db import transaction
from django.utils import timezone

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import (
    KeyPin,
    KeyState,
    Upstream,
    UpstreamPackage,
    UpstreamProvider,
    UpstreamVersion,
)
from apps.contrib.mirror.records import packages, version_records
from apps.lib import versions
from apps.lib.errors import Conflict
from apps.lib.mirrored import HostedProvider, MirroredProof


def proof(provider: HostedProvider, number: str) -> MirroredProof:
    version = UpstreamVersion.objects.select_related("provider__upstream").get(
        provider__upstream__host=provider.host,
        provider__namespace=provider.namespace,
        provider__type=provider.type,
        version=number,
    )
    pins = KeyPin.objects.of(version.provider).filter(state=KeyState.TRUSTED).order_by("pk")
    return MirroredProof(
        sums=bytes(version.sums),
        signature=bytes(version.signature),
        keys=list(pins.values_list("armor", "source")) if version.key_id else [],
        platforms={one.filename: (one.os, one.arch) for one in version.packages.exclude(blob=None)},
        protocols=version.protocols,
        since=version.known_since,
        visibility=version.provider.upstream.visibility,
    )


def take(
    provider: HostedProvider,
    number: str,
    files: Mapping[str, str],
    *,
    proof: Callable[[], MirroredProof],
    read: Callable[[str], Iterable[bytes]],
    viewer: Viewer,
    origin: str,
) -> bool:
    """Store what is missing, one package after another, so that a repeated call continues. See `http.mirrors`."""
    operators.require_everywhere(viewer, upstreams.OPERATE)
    stored = UpstreamPackage.objects.exclude(blob=None).filter(
        version__provider__upstream__host=provider.host,
        version__provider__namespace=provider.namespace,
        version__provider__type=provider.type,
        version__sort_key=versions.sort_key(number),
    )
    if dict(stored.values_list("filename", "digest")).items() >= files.items():
        return False
    carried = proof()
    try:
        version = _version(provider, number, carried, viewer)
        version_records.take(version, carried, origin=origin)
        rows = {one.filename: one for one in version.packages.select_related("version__provider__upstream")}
        for name, digest in files.items():
            if name not in rows or rows[name].digest != digest:
                raise Conflict(f"The SHA256SUMS of {version} does not name {name}, sha256:{digest}.")
            if rows[name].blob_id is None:
                packages.take(rows[name], read(digest), origin=origin, by=viewer.user_id)
    except FetchFailed as failure:
        raise Conflict(f"{failure.message}.", hint="Look at the alarms of this registry.") from None
    return True


@transaction.atomic
def _version(provider: HostedProvider, number: str, carried: MirroredProof, viewer: Viewer) -> UpstreamVersion:
    """Return its row, which is created with what leads to it: as of the list of the other Larder."""
    upstream = upstreams.of_host(provider.host) or _added(provider.host, carried, viewer)
    now = timezone.now()
    row, _ = UpstreamProvider.objects.get_or_create(upstream=upstream, namespace=provider.namespace, type=provider.type)
    UpstreamProvider.objects.filter(pk=row.pk, listed_at=None).update(listed_at=now)
    platforms = sorted(map(list, carried.platforms.values()))
    version, _ = UpstreamVersion.objects.select_related("provider__upstream").get_or_create(
        provider=row,
        sort_key=versions.sort_key(number),
        defaults={
            "version": number,
            "protocols": carried.protocols,
            "platforms": platforms,
            "first_seen_at": carried.since or now,
            "published_at": carried.since,
            "was_in_first_list": carried.since is None,
        },
    )
    if lacking := [one for one in platforms if one not in version.platforms]:
        version.platforms = sorted([*version.platforms, *lacking])
        version.save(update_fields=["platforms"])
    return version


def _added(host: str, carried: MirroredProof, viewer: Viewer) -> Upstream:
    """Add a registry that nothing here can reach. The other Larder carries what its own cool-down shows."""
    if upstreams.terms_of(host) is not None:
        raise Conflict(f"{host} is not mirrored here.", hint="It has terms: add it, accept them, and import again.")
    return upstreams.change(
        host, actor=viewer, enabled=True, sealed=True, cooldown_days=0, visibility=carried.visibility
    )
