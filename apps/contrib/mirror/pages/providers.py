"""/mirror/providers: the providers of other registries that this Larder mirrors, for those who see the upstream."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_safe

from apps.accounts.access import throttling
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.sign_ins import address_of
from apps.contrib.mirror import snippets
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.policy.evaluation import Decision
from apps.contrib.mirror.serving import catalogue, docs
from apps.lib import versions
from apps.lib.errors import NotFound
from apps.portal.frame.elsewhere import Elsewhere, ElsewhereRow
from apps.portal.frame.page_urls import page_of
from apps.portal.versions import docs as version_pages
from apps.releases.docs.layouts import INDEX
from apps.snippets.module_snippets import compatible

PAGE = 30
VERSIONS_PAGE = 50


def row_of(found: catalogue.Listed) -> ElsewhereRow:
    provider = found.provider
    return ElsewhereRow(
        host=found.host,
        namespace=provider.namespace,
        type=provider.type,
        url=reverse("portal:mirror-provider", args=[found.host, provider.namespace, provider.type]),
        version=found.newest,
        held_back=found.held_back,
    )


def found_for(viewer: Viewer, words: str, limit: int) -> Elsewhere:
    """For the lists of our own providers and the search."""
    rows = catalogue.providers_for(viewer, words)
    first = list(rows[: limit + 1])
    count = len(first) if len(first) <= limit else rows.count()
    url = reverse("portal:mirror-providers") + (f"?{urlencode({'q': words})}" if words else "")
    return Elsewhere([row_of(one) for one in catalogue.listed(first[:limit])], count, url)


@login_not_required
@require_safe
def provider_list(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    words, host = (_clean(request.GET.get(name, "")) for name in ("q", "host"))
    if words:
        throttling.count(throttling.by_account("search", viewer.user_id, address_of(request)))
    hosts = [row.host for row in upstreams.visible_to(viewer)]
    page = page_of(catalogue.providers_for(viewer, words, host=host if host in hosts else ""), request, size=PAGE)
    rows = [(row_of(one), one) for one in catalogue.listed(page.object_list)]
    context = {"page": page, "rows": rows, "query": words, "host": host, "hosts": hosts}
    return render(request, "portal/upstream/providers.html", context)


@login_not_required
@require_safe
def provider(request: HttpRequest, host: str, mirrored_namespace: str, mirrored_type: str) -> HttpResponse:
    """The provider with its versions, and with what holds some of them back."""
    viewer = session_viewer(request)
    row = catalogue.provider_for(viewer, host, mirrored_namespace, mirrored_type)
    page = page_of(catalogue.versions_of(row), request, size=VERSIONS_PAGE)
    newest = catalogue.newest_for_clients(row)
    usage = ""
    if newest is not None:
        is_exact = versions.parse(newest.version).is_prerelease  # ranges match no pre-release
        constraint = newest.version if is_exact else compatible(newest.version)
        usage = snippets.required_block(row.upstream.host, row.namespace, row.type, constraint)
    context = {
        "provider": row,
        "upstream": row.upstream,
        "page": page,
        "rows": catalogue.decided(row, list(page.object_list)),
        "newest": newest,
        "usage": usage,
    }
    return render(request, "portal/upstream/provider.html", context)


@login_not_required
@require_safe
def version(request: HttpRequest, host: str, mirrored_namespace: str, mirrored_type: str, version: str) -> HttpResponse:
    """Show the version's verification, the rule that allows it or not, and its packages with their digests."""
    viewer = session_viewer(request)
    row = catalogue.version_for(viewer, host, mirrored_namespace, mirrored_type, version)
    packages, decisions = catalogue.packages_of(row), catalogue.decisions_by_platform(row)
    context = _frame(viewer, row, decisions[""], packages)
    context |= {
        "weakness": catalogue.weakness_of(row),
        "packages": [(each, held_back(decisions, each.platform)) for each in packages],
        "platforms": [f"{os}_{arch}" for os, arch in row.platforms],
        "unstored": [each.platform for each in packages if each.blob is None],
        "sees_operations": upstreams.sees_operations(viewer),
        "can_install": context["one"].reaches_clients,
    }
    if context["one"].stored:
        context["lock"] = _lock(row, packages)
    return render(request, "portal/upstream/version.html", context)


@login_not_required
@require_safe
def version_docs(
    request: HttpRequest, *, host: str, version: str, kind: str = "", slug: str = INDEX, **names: str
) -> HttpResponse:
    """A page of the docs; without `kind` the overview, or why there are none."""
    version_pages.require_own_address(kind)
    viewer = session_viewer(request)
    row = catalogue.version_for(viewer, host, names["mirrored_namespace"], names["mirrored_type"], version)
    decision = catalogue.decisions_by_platform(row)[""]
    context = _frame(viewer, row, decision, catalogue.packages_of(row))
    found = docs.of(row)
    context |= {
        "tab": "docs",
        "why": found.why,
        "are_coming": found.are_coming,
        "registry_page": docs.registry_page(row),
    }
    if found.docs is not None:
        pages = found.docs.rows.all()
        context |= version_pages.contents(request, pages, context["docs_url"], kind, slug)
        if page := context["page"]:
            page.html = docs.placed(page.html, context["docs_url"])
    elif kind:
        raise NotFound(f"{row} has no documentation here. {found.why}")
    return render(request, "portal/upstream/docs.html", context)


def _frame(
    viewer: Viewer, row: UpstreamVersion, decision: Decision, packages: Sequence[UpstreamPackage]
) -> dict[str, Any]:
    """The context of portal/upstream/base_version.html."""
    provider, one = row.provider, catalogue.decided_with(row, decision, packages)
    names = (provider.upstream.host, provider.namespace, provider.type, row.version)
    return {
        "version": row,
        "provider": provider,
        "upstream": provider.upstream,
        "one": one,
        "decision": decision,
        "may_allow": viewer.user is not None and viewer.user.has_perm(upstreams.OPERATE),
        "docs_url": reverse("portal:mirror-docs", args=names),
    }


def held_back(decisions: dict[str, Decision], platform: str) -> Decision | None:
    """Return the decision that hides this platform from clients where the version itself is shown."""
    found = decisions.get(platform)
    return found if found is not None and not found.is_visible and decisions[""].is_visible else None


def _lock(row: UpstreamVersion, packages: list[Any]) -> str:
    """Hashes of verified bytes alone."""
    provider, stored = row.provider, [one for one in packages if one.blob is not None]
    names = (provider.upstream.host, provider.namespace, provider.type, row.version)
    return snippets.lock_block(*names, h1=[one.h1 for one in stored], zh=[one.zh for one in stored])


def _clean(text: str) -> str:
    """PostgreSQL refuses NUL in text."""
    return text.replace("\0", "").strip()[:200]


_PROVIDER = "mirror/providers/<str:host>/<str:mirrored_namespace>/<str:mirrored_type>"
urlpatterns = [
    path("mirror/providers", provider_list, name="mirror-providers"),
    path(_PROVIDER, provider, name="mirror-provider"),
    path(f"{_PROVIDER}/<str:version>", version, name="mirror-version"),
    path(f"{_PROVIDER}/<str:version>/docs", version_docs, name="mirror-docs"),
    path(f"{_PROVIDER}/<str:version>/docs/<str:kind>/<str:slug>", version_docs, name="mirror-docs-page"),
]
