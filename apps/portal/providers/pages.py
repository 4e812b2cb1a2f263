"""The pages of one provider: a version's overview, platforms and verification, and the list of versions."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, F, OuterRef, Subquery, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_safe

from apps.accounts.access import gate, operators
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Visibility
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import NotFound
from apps.portal.frame import damage
from apps.portal.frame.paging import page_of
from apps.portal.lifecycle import pages
from apps.portal.providers import files
from apps.portal.snippets import module_snippets, provider_snippets
from apps.providers import catalogue, reading
from apps.providers.documents import sums_name
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.models import DownloadCount, Kind, Release, ReleaseQuerySet, State

PAGE = 50
# The most common first; others follow by name.
SYSTEMS = ("linux", "darwin", "windows")


@dataclass(frozen=True, slots=True)
class Tab:
    route: str
    label: str
    count: int | None = None


@login_not_required
@require_safe
def provider(request: HttpRequest, namespace: str, type: str) -> HttpResponse:  # noqa: A002  # the field's word
    """The default version: the highest stable listed one."""
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)
    shown = catalogue.default_version(reading.provider_for(viewer, address))
    if shown is None:  # all are removed or in quarantine: the list of versions says so
        return HttpResponseRedirect(reverse("portal:provider-versions", args=[namespace, type]))
    return _overview(request, viewer, reading.version_for(viewer, address, shown.release.version))


@login_not_required
@require_safe
def provider_version(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponse:  # noqa: A002
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)
    return _overview(request, viewer, reading.version_for(viewer, address, version, even_quarantined=True))


def _overview(request: HttpRequest, viewer: Viewer, shown: ProviderVersion) -> HttpResponse:
    context = frame(viewer, shown, "provider-version")
    context |= {
        "usages": provider_snippets.usages(context["address"], shown.release.version),
        "needs_credentials": shown.provider.namespace.visibility != Visibility.PUBLIC,
        "credentials": module_snippets.credentials_block(),
    }
    return render(request, "portal/provider/overview.html", context)


@login_not_required
@require_safe
def provider_platforms(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponse:  # noqa: A002
    """The matrix of systems and processors, gaps included, and every package with its size and both hashes."""
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)
    shown = reading.version_for(viewer, address, version, even_quarantined=True)
    return render(
        request, "portal/provider/platforms.html", frame(viewer, shown, "provider-platforms") | _matrix(shown)
    )


@login_not_required
@require_safe
def provider_verify(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponse:  # noqa: A002
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)
    shown = reading.version_for(viewer, address, version, even_quarantined=True)
    context = frame(viewer, shown, "provider-verify")
    name, packages = sums_name(type, shown.release.version), shown.packages.all()
    context["sums_name"] = name
    if shown.release.quarantined_at is None:  # quarantined versions give out nothing
        sums = context["sums"] = files.sums_of(shown)
        listed = files.digests_in(sums) or [package.digest for package in packages]
        context["lock"] = provider_snippets.lock_block(
            address,
            shown.release.version,
            h1=[package.h1 for package in packages],
            zh=[f"zh:{digest}" for digest in listed],
        )
        context["commands"] = provider_snippets.verify_commands(name, shown.key.key_id)
    return render(request, "portal/provider/verify.html", context)


@login_not_required
@require_safe
def provider_versions(request: HttpRequest, namespace: str, type: str) -> HttpResponse:  # noqa: A002
    """Every version, with the reasons for yanked and removed ones: no page is a dead end."""
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)
    found = reading.provider_for(viewer, address)
    rows = _visible(viewer, found)
    page = page_of(_described(rows), request, size=PAGE)
    if not page.paginator.count:
        raise NotFound(f"There is no provider {type} in {namespace}.")
    latest = catalogue.default_version(found)
    context = {"provider": found, "address": address, "namespace": found.namespace, "page": page}
    context["latest"] = latest.release.version if latest else ""
    context["role"] = gate.role_on(viewer, found.namespace) if viewer.is_identified else None
    return render(request, "portal/provider/versions.html", context)


def frame(viewer: Viewer, shown: ProviderVersion, route: str) -> dict[str, Any]:
    """The context of templates/portal/provider/base_version.html. `route` names the open tab."""
    found = shown.provider
    latest, packages = catalogue.default_version(found), shown.packages.all()
    context: dict[str, Any] = {"address": found.address, "shown": shown, "release": shown.release, "tab": route}
    context |= {"provider": found, "namespace": found.namespace, "packages": packages, "key": shown.key}
    context["role"] = gate.role_on(viewer, found.namespace) if viewer.is_identified else None
    context["damage"] = damage.warnings_for(context["role"], _files(shown))
    context["latest"] = latest.release.version if latest else ""
    context["is_latest"] = context["latest"] == shown.release.version
    context["is_older"] = latest is not None and bytes(shown.release.sort_key) < bytes(latest.release.sort_key)
    context["total_size"] = sum(package.size for package in packages)
    context["tabs"] = [
        Tab("provider-version", "Overview"),
        Tab("provider-docs", "Documentation"),
        Tab("provider-platforms", "Platforms", len(packages)),
        Tab("provider-verify", "Verify"),
    ]
    return context


def _files(shown: ProviderVersion) -> list[tuple[str, str]]:
    sums = sums_name(shown.provider.type, shown.release.version)
    packages = [(package.filename, package.digest) for package in shown.packages.all()]
    return [*packages, (sums, shown.sums_digest), (f"{sums}.sig", shown.signature_digest)]


def _matrix(shown: ProviderVersion) -> dict[str, Any]:
    by_platform = {(one.os, one.arch): one for one in shown.packages.all()}
    known = {name: place for place, name in enumerate(SYSTEMS)}
    systems = sorted({os for os, _ in by_platform}, key=lambda os: (known.get(os, len(known)), os))
    arches = sorted({arch for _, arch in by_platform}, key=lambda arch: (arch not in ("amd64", "arm64"), arch))
    cells: list[tuple[str, list[tuple[str, Package | None]]]] = [
        (os, [(arch, by_platform.get((os, arch))) for arch in arches]) for os in systems
    ]
    return {"arches": arches, "matrix": cells}


def _visible(viewer: Viewer, found: Provider) -> ReleaseQuerySet:
    """Published versions and tombstones; quarantined versions only for staff."""
    rows = Release.objects.filter(
        kind=Kind.PROVIDER,
        namespace=found.namespace,
        name=found.type,
        state__in=[State.PUBLISHED, State.PURGED],
    )
    return rows if operators.is_operator(viewer) else rows.exclude(state=State.PUBLISHED, quarantined_at__isnull=False)


def _described(rows: ReleaseQuerySet) -> ReleaseQuerySet:
    fetched = DownloadCount.objects.filter(release=OuterRef("pk")).values("release").annotate(total=Sum("count"))
    packed = Package.objects.filter(version__release=OuterRef("pk")).values("version").annotate(number=Count("pk"))
    return (
        rows.annotate(
            downloads=Subquery(fetched.values("total")),
            platforms=Subquery(packed.values("number")),
            signing=F("provider_version__signing"),
            is_prerelease=F("provider_version__is_prerelease"),
        )
        .select_related("created_by", "lifecycle_by", "quarantined_by")
        .newest_first()
    )


_PROVIDER = "providers/<str:namespace>/<str:type>"
_VERSION = f"{_PROVIDER}/<str:version>"

urlpatterns = [
    path(_PROVIDER, provider, name="provider"),
    path(f"{_PROVIDER}/versions", provider_versions, name="provider-versions"),  # before <version>
    path(_VERSION, provider_version, name="provider-version"),
    path(f"{_VERSION}/platforms", provider_platforms, name="provider-platforms"),
    path(f"{_VERSION}/verify", provider_verify, name="provider-verify"),
    *files.urlpatterns,
    *pages.provider_urlpatterns,
]
