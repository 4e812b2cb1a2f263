from django.contrib import admin
from django.db.models import Q
from django.urls import reverse

from apps.accounts.admin.filters import in_namespace
from apps.admin_base import Column, ReadOnlyAdmin, digest_prefix, link, short, words
from apps.admin_base.base import address_condition
from apps.lib.packages.names import ARCHITECTURES, SYSTEMS
from apps.providers.models import Package
from apps.releases.admin.releases import standing_badge


@admin.register(Package)
class PackageAdmin(ReadOnlyAdmin[Package]):
    list_display = ("filename", "version_page", "platform", "size", "sha256", "standing")
    list_filter = (
        in_namespace("version__provider__namespace__name"),
        words("os", "os", "os", lambda: SYSTEMS),
        words("arch", "arch", "arch", lambda: ARCHITECTURES),
        ("version__release__lifecycle", admin.ChoicesFieldListFilter),
    )
    list_select_related = ("version__release__namespace",)
    ordering = ("-pk",)
    search_fields = ("filename", "digest")
    search_help_text = "An address (acme/cloud), a platform (linux_amd64), a file name, or the beginning of a sha256."
    fields = (("filename", "platform"), "version_page", ("digest", "size"), "h1")
    csv_columns = (
        "version__provider__namespace__name",
        "version__provider__type",
        "version__release__version",
        "os",
        "arch",
        "filename",
        "size",
        "digest",
        "h1",
    )

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "version__provider__namespace__name", "version__provider__type"):
            return by_address
        os, _, arch = word.partition("_")
        by_platform = Q(os=os, arch=arch) if arch else Q(os=os) | Q(arch=os)
        by_digest = Q(digest__begins=digest_prefix(word.removeprefix("zh:")))
        return by_platform | by_digest | Q(filename__begins=word) | Q(version__release__version=word)

    def view_on_site(self, package: Package) -> str:
        release = package.version.release
        return reverse("portal:provider-version", args=[release.namespace.name, release.name, release.version])

    platform = Column("platform", "platform", order="os")

    @admin.display(description="version", ordering="version__release__version")
    def version_page(self, package: Package) -> str:
        url = reverse("admin:providers_providerversion_change", args=[package.version_id])
        return link(url, package.version.release)

    sha256 = Column("sha256", lambda package: short(package.digest), order="digest")
    standing = Column(
        "lifecycle", lambda package: standing_badge(package.version.release), order="version__release__lifecycle"
    )
