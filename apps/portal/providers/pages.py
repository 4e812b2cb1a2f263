"""The pages of one provider version: overview, platforms and verification. For its documentation see docs.py.

Its files are redirects: a page may stay open for longer than a capability is valid (D6).
"""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, F, OuterRef, Subquery
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.access import contacts
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role, Visibility
from apps.blobs import capabilities, store
from apps.lib.addresses import ProviderAddress
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import NotFound
from apps.lib.formats import sums
from apps.portal.frame.page_urls import url_of
from apps.portal.versions import urls
from apps.portal.versions.downloads import downloads_card
from apps.portal.versions.origin import origin_tab
from apps.portal.versions.pages import Contents, DescriptionForm, Opened, VersionPages, refusing
from apps.portal.versions.switcher import Switcher
from apps.providers import catalogue, comparing, lifecycle, reading
from apps.providers.documents import sums_name
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.catalogue.comparing import Comparison
from apps.releases.catalogue.describing import MAX_CHARACTERS
from apps.releases.docs import browsing
from apps.releases.models import Kind
from apps.snippets import provider_snippets

DOCS_SHOWN = 30  # pages of a kind on the overview
# The most common first; others follow by name.
SYSTEMS = ("linux", "darwin", "windows")
_PACKED = Package.objects.filter(version__release=OuterRef("pk")).values("version").annotate(number=Count("pk"))


class ProviderForm(DescriptionForm):
    description = forms.CharField(
        max_length=MAX_CHARACTERS, required=False, help_text="One line, shown in lists and search."
    )
    notice = forms.CharField(
        max_length=catalogue.MAX_NOTICE_CHARACTERS,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Clients show it as a warning at every init, for all versions. Leave empty for none.",
    )


class ProviderPages(VersionPages):
    kind = Kind.PROVIDER
    address_type = ProviderAddress
    path = "providers/<str:namespace>/<str:type>"
    publish_route = "portal:provider-publish"
    actions = lifecycle.ACTIONS
    settings_form = ProviderForm
    switcher = Switcher(Provider, ProviderVersion, Kind.PROVIDER)
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
            "counts": {
                "version": None,
                "docs": None if shown.docs_pages.exists() else 0,
                "platforms": len(packages),
            },
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
    context["owners"] = contacts.owners_of(opened.shown.provider.namespace) if opened.role else []
    ways = provider_snippets.usages(context["address"], opened.shown.release.version)
    context |= {"usages": ways, "usage_shown": "range" if context["is_latest"] and len(ways) > 1 else "exact"}
    if opened.shown.release.quarantined_at is None:  # quarantined versions give out nothing
        context |= {"docs": browsing.sections_of(opened.shown.docs_pages.all()), "docs_shown": DOCS_SHOWN}
        context["docs_url"] = url_of(context["address"], "docs", opened.shown.release.version)
        context["may_publish"] = opened.role not in (None, Role.READER)


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


def _origin(request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    """Show also what clients verify: the signed checksums, with the block for the lock file."""
    origin_tab(request, opened, context)
    shown: ProviderVersion = opened.shown
    name, packages = sums_name(shown.provider.type, shown.release.version), shown.packages.all()
    context["sums_name"] = name
    if shown.release.quarantined_at is not None:  # quarantined versions give out nothing
        return
    text = context["sums"] = sums_of(shown)
    listed = digests_in(text) or [package.digest for package in packages]
    context["lock"] = provider_snippets.lock_block(
        context["address"],
        shown.release.version,
        h1=[package.h1 for package in packages],
        zh=[f"zh:{digest}" for digest in listed],
    )
    context["sums_commands"] = provider_snippets.verify_commands(name, shown.key.key_id)


@login_not_required
@require_safe
def provider_verify(request: HttpRequest, *, version: str, **names: str) -> HttpResponseRedirect:
    """The address that this part of the page of its origin had of its own."""
    opened = PROVIDERS.open(request, version, names)
    url = url_of(opened.shown.provider.address, "origin", opened.shown.release.version)
    return HttpResponseRedirect(f"{url}#checksums", status=HTTPStatus.MOVED_PERMANENTLY)


MAX_SHOWN_BYTES = 64 * 1024


@login_not_required
@require_safe
def provider_package(
    request: HttpRequest,
    *,
    namespace: str,
    type: str,  # noqa: A002  # the field's word
    version: str,
    os: str,
    arch: str,
) -> HttpResponseRedirect:
    package = reading.package_for(session_viewer(request), ProviderAddress(namespace, type), version, os, arch)
    return _redirect(package.version, package.digest, package.filename)


@login_not_required
@require_safe
def provider_sums(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponseRedirect:  # noqa: A002
    shown = reading.version_for(session_viewer(request), ProviderAddress(namespace, type), version)
    return _redirect(shown, shown.sums_digest, sums_name(type, shown.release.version))


@login_not_required
@require_safe
def provider_signature(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponseRedirect:  # noqa: A002
    shown = reading.version_for(session_viewer(request), ProviderAddress(namespace, type), version)
    return _redirect(shown, shown.signature_digest, f"{sums_name(type, shown.release.version)}.sig")


def sums_of(shown: ProviderVersion) -> str:
    """The stored SHA256SUMS; empty if missing, damaged, or too long for a page."""
    try:
        if (store.size_of(shown.sums_digest) or 0) > MAX_SHOWN_BYTES:
            return ""
        return b"".join(store.read(shown.sums_digest)).decode("utf-8", "replace")
    except (NotFound, store.DamagedInStorage):
        return ""


def digests_in(text: str) -> list[str]:
    """The digest of every line, which clients write to their lock files."""
    try:
        return list(sums.parse(text.encode()).values()) if text else []
    except Refusal:
        return []


def _redirect(shown: ProviderVersion, digest: str, file_name: str) -> HttpResponseRedirect:
    if shown.provider.namespace.visibility == Visibility.PUBLIC:
        return HttpResponseRedirect(reverse("protocol:archive", args=[digest, file_name]))
    capability = capabilities.sign(digest=digest, file_name=file_name, now=timezone.now())
    url = reverse("protocol:archive-capability", args=[capability, digest, file_name])
    return HttpResponseRedirect(url, headers={"Cache-Control": "no-store"})


_TABS: dict[str, Contents] = {"version": _overview, "platforms": _platforms, "origin": _origin}

_VERSION = f"{PROVIDERS.path}/<str:version>"

urlpatterns = [
    *urls.routes(PROVIDERS, _TABS),
    path(f"{_VERSION}/packages/<str:os>/<str:arch>", provider_package, name="provider-package"),
    path(f"{_VERSION}/verify", provider_verify, name="provider-verify"),
    path(f"{_VERSION}/sums", provider_sums, name="provider-sums"),
    path(f"{_VERSION}/signature", provider_signature, name="provider-signature"),
]
