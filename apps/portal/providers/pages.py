"""The pages of one provider version: overview, platforms and verification. For its documentation see docs.py."""

from typing import Any

from django import forms
from django.db.models import Count, F, OuterRef, Subquery
from django.http import HttpRequest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.lib.addresses import ProviderAddress
from apps.portal.providers import files
from apps.portal.snippets import provider_snippets
from apps.portal.versions import urls
from apps.portal.versions.downloads import downloads_card
from apps.portal.versions.pages import Contents, Opened, Tab, VersionPages, refusing
from apps.portal.versions.settings import DescriptionForm
from apps.providers import catalogue, comparing, lifecycle, reading
from apps.providers.documents import sums_name
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.catalogue.comparing import Comparison
from apps.releases.catalogue.describing import MAX_CHARACTERS
from apps.releases.models import Kind

# The most common first; others follow by name.
SYSTEMS = ("linux", "darwin", "windows")
_PACKED = Package.objects.filter(version__release=OuterRef("pk")).values("version").annotate(number=Count("pk"))


class ProviderForm(DescriptionForm):
    description = forms.CharField(
        max_length=MAX_CHARACTERS, required=False, help_text="One line, shown in lists and found by search."
    )
    notice = forms.CharField(
        max_length=catalogue.MAX_NOTICE_CHARACTERS,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Clients show it as a warning at every init, for all versions. Empty for none.",
    )


class ProviderPages(VersionPages):
    kind = Kind.PROVIDER
    address_type = ProviderAddress
    path = "providers/<str:namespace>/<str:type>"
    publish_route = "portal:provider-publish"
    actions = lifecycle.ACTIONS
    settings_form = ProviderForm
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

    def describe(self, parent: Provider, *, actor: Viewer, **fields: str) -> None:
        catalogue.describe(provider=parent, actor=actor, **fields)


PROVIDERS = ProviderPages()


def _overview(_request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    context |= {"refusing": refusing(opened), "card": downloads_card(opened.shown.provider)}
    context["usages"] = provider_snippets.usages(context["address"], opened.shown.release.version)


def _platforms(_request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    """The matrix of systems and processors, gaps included, and every package with its size and both hashes."""
    by_platform = {(one.os, one.arch): one for one in opened.shown.packages.all()}
    known = {name: place for place, name in enumerate(SYSTEMS)}
    systems = sorted({os for os, _ in by_platform}, key=lambda os: (known.get(os, len(known)), os))
    arches = sorted({arch for _, arch in by_platform}, key=lambda arch: (arch not in ("amd64", "arm64"), arch))
    cells: list[tuple[str, list[tuple[str, Package | None]]]] = [
        (os, [(arch, by_platform.get((os, arch))) for arch in arches]) for os in systems
    ]
    context |= {"arches": arches, "matrix": cells}


def _verify(_request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    shown: ProviderVersion = opened.shown
    name, packages = sums_name(shown.provider.type, shown.release.version), shown.packages.all()
    context["sums_name"] = name
    if shown.release.quarantined_at is not None:  # quarantined versions give out nothing
        return
    sums = context["sums"] = files.sums_of(shown)
    listed = files.digests_in(sums) or [package.digest for package in packages]
    context["lock"] = provider_snippets.lock_block(
        context["address"],
        shown.release.version,
        h1=[package.h1 for package in packages],
        zh=[f"zh:{digest}" for digest in listed],
    )
    context["commands"] = provider_snippets.verify_commands(name, shown.key.key_id)


_TABS: dict[str, Contents] = {"version": _overview, "platforms": _platforms, "verify": _verify}

urlpatterns = [*urls.routes(PROVIDERS, _TABS), *files.urlpatterns]
