"""The documents of mirrored providers in the OCI mirror: made again on each request, their digests in the rows."""

from collections.abc import Iterable

from apps.contrib.mirror.models import UpstreamPackage, UpstreamVersion
from apps.lib.formats import provider_manifests
from apps.lib.formats.oci_manifests import digest_of
from apps.lib.formats.provider_manifests import Zip


def package_manifest(package: UpstreamPackage, version: UpstreamVersion) -> bytes:
    """The caller knows that it has a size."""
    return provider_manifests.package_manifest(_zip(package), name=version.provider.type, version=version.version)


def version_index(version: UpstreamVersion, packages: Iterable[UpstreamPackage]) -> bytes:
    return provider_manifests.version_index(map(_zip, packages), name=version.provider.type, version=version.version)


def set_digests(version: UpstreamVersion, packages: Iterable[UpstreamPackage]) -> str:
    """Set those of the packages whose size is known, unsaved; return that of the index, empty unless all are."""
    listed = list(packages)
    for package in listed:
        package.manifest_digest = "" if package.size is None else digest_of(package_manifest(package, version))
    if not listed or any(package.size is None for package in listed):
        return ""
    return digest_of(version_index(version, listed))


def _zip(package: UpstreamPackage) -> Zip:
    if package.size is None:
        raise ValueError(f"the size of {package} is not known yet")
    return Zip(package.os, package.arch, package.filename, package.digest, package.size)
