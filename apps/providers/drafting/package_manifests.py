"""Documents of the provider OCI mirror (`oci_mirror` of OpenTofu): an index for each version, a manifest for each
package. Fixed bytes, made from the rows on each request; rows store their digests.
"""

from collections.abc import Iterable

from apps.lib.formats import provider_manifests
from apps.lib.formats.oci_manifests import digest_of
from apps.lib.formats.provider_manifests import Zip
from apps.providers.models import Package, ProviderVersion
from apps.releases.models import Release


def package_manifest(package: Package, release: Release) -> bytes:
    return provider_manifests.package_manifest(_zip(package), name=release.name, version=release.version)


def version_index(release: Release, packages: Iterable[Package]) -> bytes:
    return provider_manifests.version_index(map(_zip, packages), name=release.name, version=release.version)


def store_digests(version: ProviderVersion, packages: Iterable[Package]) -> None:
    """Set the digests on unsaved rows."""
    listed = list(packages)
    for package in listed:
        package.manifest_digest = digest_of(package_manifest(package, version.release))
    version.index_digest = digest_of(version_index(version.release, listed))


def _zip(package: Package) -> Zip:
    return Zip(package.os, package.arch, package.filename, package.digest, package.size)
