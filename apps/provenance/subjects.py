"""The digests that clients receive of a release: what statements and attestations are about.

A provider's signature is none of them: it can be replaced, and a statement stays.
"""

from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings

from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.formats.oci_manifests import digest_of
from apps.modules.catalogue.documents import archive_name
from apps.modules.models import ModuleVersion
from apps.providers.documents import sums_name
from apps.providers.drafting import package_manifests
from apps.providers.models import ProviderVersion
from apps.releases.models import Kind, Release


class Subject(NamedTuple):
    """`sha256` in hexadecimal digits. Empty only of a manifest that was pushed by its `sha512`, and is served by it.

    `repository` is where clients pull a manifest; files have none.
    """

    name: str
    sha256: str
    sha512: str = ""
    repository: str = ""

    @property
    def digests(self) -> dict[str, str]:
        """The digests as in-toto writes them."""
        return {name: value for name, value in (("sha256", self.sha256), ("sha512", self.sha512)) if value}


def of_release(release: Release) -> list[Subject]:
    """Return them in a fixed order; none of a release that is not published, or was purged."""
    return _of_module(release) if release.kind == Kind.MODULE else _of_provider(release)


def _of_module(release: Release) -> list[Subject]:
    # This column alone: signing workers may not read the texts.
    manifests = ModuleVersion.objects.filter(release_id=release.pk).values_list("manifest_digest", flat=True)
    found = list(manifests)
    if not found:
        return []
    archive = Subject(archive_name(release.name, release.version), release.digest)
    name, _, system = release.name.partition("/")
    repository = ModuleAddress(release.namespace.name, name, system).repository
    return [archive, *(_manifest(repository, release.version, one) for one in found if one)]


def _of_provider(release: Release) -> list[Subject]:
    version = ProviderVersion.objects.filter(release_id=release.pk).first()
    if version is None:
        return []
    packages = list(version.packages.order_by("filename"))
    host = urlsplit(settings.PUBLIC_URL).hostname  # as in the paths of a mirror: without a port
    repository = f"providers/{host}/{ProviderAddress(release.namespace.name, release.name).source}"
    index = version.index_digest or digest_of(package_manifests.version_index(release, packages))
    found = [Subject(package.filename, package.digest) for package in packages]
    found += [Subject(sums_name(release.name, release.version), version.sums_digest)]
    found += [_manifest(repository, release.version, index)]
    for package in packages:
        digest = package.manifest_digest or digest_of(package_manifests.package_manifest(package, release))
        found.append(_manifest(repository, f"{release.version} {package.platform}", digest))
    return found


def _manifest(repository: str, what: str, digest: str) -> Subject:
    """A manifest, by the name of its repository here: `host/acme/vpc/aws 1.2.0`."""
    algorithm, _, digits = digest.partition(":")
    place = f"{settings.PUBLIC_HOST}/{repository}"
    sha256, sha512 = (digits, "") if algorithm == "sha256" else ("", digits)
    return Subject(f"{place} {what}", sha256, sha512, place)
