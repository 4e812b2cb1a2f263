"""The documents of the provider OCI mirror (`oci_mirror` of OpenTofu): an index for each version, a manifest for each
package. Fixed bytes: equal zips, equal digests.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.lib.formats.oci_manifests import PROVIDER, PROVIDER_TARGET, TITLE, VERSION, Target, index, zip_manifest


@dataclass(frozen=True, slots=True)
class Zip:
    """A package; `digest` is its sha256, the `zh:` of lock files."""

    os: str
    arch: str
    filename: str
    digest: str
    size: int


def package_manifest(package: Zip, *, name: str, version: str) -> bytes:
    """Refers to the zip that the registry serves. `name` is the provider's type."""
    return zip_manifest(
        PROVIDER_TARGET,
        sha256=package.digest,
        size=package.size,
        file_name=package.filename,
        annotations=_annotations(name, version),
    )


def version_index(packages: Iterable[Zip], *, name: str, version: str) -> bytes:
    """One entry for each platform: clients fail on two for the same platform."""
    ordered = sorted(packages, key=lambda one: (one.os, one.arch))
    targets = [Target(package_manifest(one, name=name, version=version), one.os, one.arch) for one in ordered]
    return index(PROVIDER, targets, target_type=PROVIDER_TARGET, annotations=_annotations(name, version))


def _annotations(name: str, version: str) -> dict[str, str]:
    return {TITLE: name, VERSION: version}
