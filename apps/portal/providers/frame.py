"""The parts of a provider's version pages that modules lack."""

from typing import Any

from django.db.models import Count, F, OuterRef, Subquery

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.lib.addresses import ProviderAddress
from apps.portal.versions.pages import Tab, VersionPages
from apps.providers import catalogue, comparing, reading
from apps.providers.documents import sums_name
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.catalogue.comparing import Comparison
from apps.releases.models import Kind

_PACKED = Package.objects.filter(version__release=OuterRef("pk")).values("version").annotate(number=Count("pk"))


class ProviderPages(VersionPages):
    kind = Kind.PROVIDER
    address_type = ProviderAddress
    path = "providers/<str:namespace>/<str:type>"
    publish_route = "portal:provider-publish"
    columns = {"platforms": Subquery(_PACKED.values("number")), "signing": F("provider_version__signing")}

    def parent_and_role(
        self, viewer: Viewer, address: ProviderAddress, *, need: Role = Role.READER
    ) -> tuple[Provider, Role]:
        return reading.provider_and_role(viewer, address, need=need)

    def version_of(self, viewer: Viewer, parent: Provider, version: str) -> ProviderVersion:
        return reading.version_of(viewer, parent, version, even_quarantined=True)

    def default_of(self, viewer: Viewer, parent: Provider) -> ProviderVersion | None:
        found = catalogue.default_version(parent)
        return found and self.version_of(viewer, parent, found.release.version)

    def files_of(self, shown: ProviderVersion) -> list[tuple[str, str]]:
        sums = sums_name(shown.provider.type, shown.release.version)
        packages = [(package.filename, package.digest) for package in shown.packages.all()]
        return [*packages, (sums, shown.sums_digest), (f"{sums}.sig", shown.signature_digest)]

    def details_of(self, shown: ProviderVersion) -> dict[str, Any]:
        packages = shown.packages.all()
        return {
            "lead": shown.provider.description,
            "tabs": [
                Tab("version", "Overview"),
                Tab("docs", "Documentation"),
                Tab("platforms", "Platforms", len(packages)),
                Tab("verify", "Verify"),
            ],
            "packages": packages,
            "key": shown.key,
            "total_size": sum(package.size for package in packages),
        }

    def compare(self, viewer: Viewer, address: ProviderAddress, numbers: str) -> Comparison:
        return comparing.compare(viewer, address, numbers)


PROVIDERS = ProviderPages()
