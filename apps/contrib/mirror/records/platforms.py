"""The packages of a version by the names in its sums."""

from collections.abc import Iterable, Mapping

from apps.contrib.mirror.models import UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.records import manifests
from apps.lib.formats import sums

Platform = Iterable[str]


def name_of(filename: str, platforms: Iterable[Platform], os: str, arch: str, listed: Mapping[str, str]) -> str:
    """Return what `filename` is called for another platform, empty if that is not in the sums.

    Registries name the packages of a version alike, except for the platform.
    """
    for known_os, known_arch in platforms:
        end = f"_{known_os}_{known_arch}.zip"
        if filename.endswith(end):
            name = f"{filename.removesuffix(end)}_{os}_{arch}.zip"
            if name in listed:
                return name
    return ""


def add_listed(version: UpstreamVersion) -> bool:
    """Add packages whose platform a registry lists only now, by the sums that were verified. In a transaction.

    Return False if these sums have no line for one of them.
    """
    rows = list(version.packages.order_by("os", "arch"))
    known = {(row.os, row.arch) for row in rows}
    missing = [(os, arch) for os, arch in version.platforms if (os, arch) not in known]
    if not rows or not missing:
        return True
    listed = sums.read_as_clients_do(bytes(version.sums))
    new = []
    for os, arch in missing:
        name = name_of(rows[0].filename, [(rows[0].os, rows[0].arch)], os, arch, listed)
        if name:
            new.append(UpstreamPackage(version=version, os=os, arch=arch, filename=name, digest=listed[name]))
    if new:
        UpstreamPackage.objects.bulk_create(new)
        digest = manifests.set_digests(version, [*rows, *new])
        UpstreamVersion.objects.filter(pk=version.pk).update(index_digest=digest)
    return len(new) == len(missing)
