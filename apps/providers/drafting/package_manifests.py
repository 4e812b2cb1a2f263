"""Documents of the provider OCI mirror (`oci_mirror` of OpenTofu): an index for each version, a manifest for each
package. Fixed bytes, made from the rows on each request; rows store their digests.
"""

from collections.abc import Iterable

from apps.lib.formats.oci_manifests import (
    PROVIDER,
    PROVIDER_TARGET,
    TITLE,
    VERSION,
    Target,
    digest_of,
    index,
    zip_manifest,
)
from apps.providers.models import Package, ProviderVersion
from apps.releases.models import Release


def package_manifest(package: Package, release: Release) -> bytes:
    """Refers to the zip that the registry serves: its digest is the `zh:` of lock files."""
    return zip_manifest(
        PROVIDER_TARGET,
        sha256=package.digest,
        size=package.size,
        file_name=package.filename,
        annotations=_annotations(release),
    )


def version_index(release: Release, packages: Iterable[Package]) -> bytes:
    """One entry for each platform: clients fail on two for the same platform."""
    ordered = sorted(packages, key=lambda one: (one.os, one.arch))
    targets = [Target(package_manifest(one, release), one.os, one.arch) for one in ordered]
    return index(PROVIDER, targets, target_type=PROVIDER_TARGET, annotations=_annotations(release))


def store_digests(version: ProviderVersion, packages: Iterable[Package]) -> None:
    """Set the digests on unsaved rows."""
    listed = list(packages)
    for package in listed:
        package.manifest_digest = digest_of(package_manifest(package, version.release))
    version.index_digest = digest_of(version_index(version.release, listed))


def _annotations(release: Release) -> dict[str, str]:
    return {TITLE: release.name, VERSION: release.version}
