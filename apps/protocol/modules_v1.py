"""modules.v1: https://opentofu.org/docs/internals/module-registry-protocol/

All clients get the same answers (D7): OpenTofu reads `location` in the JSON and Terraform only the header
X-Terraform-Get, so one 200 has both.

Beyond it, lists, search and details as the public registries answer them below the same base. Update bots call these
before `versions`; `tofu` and `terraform` call none of them. Golden files freeze the shapes:
https://developer.hashicorp.com/terraform/registry/api-docs
"""

from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Visibility
from apps.http.views import ReadyInNamespace, SameForReaders
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Invalid, NotFound
from apps.modules.catalogue import reading
from apps.modules.catalogue.documents import (
    details_document,
    download_document,
    summary_document,
    versions_document,
)
from apps.modules.models import ModuleVersion
from apps.protocol.base import ProtocolView
from apps.protocol.locations import location_of
from apps.releases.catalogue import search
from apps.releases.catalogue.reading import listed_numbers

LIMIT = 15
MAX_LIMIT = 100
LAST_OFFSET = 1_000_000


class Versions(SameForReaders, ProtocolView):
    """Every published version, highest first. Clients choose; they take a pre-release only if it is named exactly."""

    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:  # noqa: ARG002
        address = ModuleAddress(namespace, name, system)
        listed = reading.listed_versions(self.viewer, address)
        self.ready_until = listed.next_at
        return Response(versions_document(address, listed.versions, listed.source_url))


class Download(SameForReaders, ProtocolView):
    """The location of one version's archive. Matches the version by value, as clients normalise it."""

    def get(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:  # noqa: ARG002
        viewer = self.viewer
        release = reading.published_release(viewer, ModuleAddress(namespace, name, system), version)
        location = location_of(release, now=timezone.now())
        headers = {"X-Terraform-Get": location}
        if release.namespace.visibility != Visibility.PUBLIC:
            headers["Cache-Control"] = "no-store"  # the location grants access
        self.count_download(release.pk)
        return Response(download_document(location), headers=headers)


# --- Lists, search and details --------------------------------------------------------------------------------------


def list_document(request: Request, docs: QuerySet[Any]) -> dict[str, Any]:
    """A page of a list. Reads one row more than `limit` to learn if there is a next page."""
    limit = min(_number(request, "limit", LIMIT) or LIMIT, MAX_LIMIT)
    offset = _number(request, "offset", 0)
    # No module is "verified" here, so a client that asks only for those gets none.
    rows = [] if request.GET.get("verified") == "true" else search.rows_of(docs, offset, offset + limit + 1)
    meta: dict[str, Any] = {"limit": limit, "current_offset": offset}
    if len(rows) > limit:
        meta |= {"next_offset": offset + limit, "next_url": _url(request, limit, offset + limit)}
    if offset:
        before = max(0, offset - limit)
        meta |= {"prev_offset": before, "prev_url": _url(request, limit, before)}
    modules = [
        summary_document(
            ModuleAddress.parse(f"{doc.namespace.name}/{doc.name}"),
            doc.version,
            description=doc.description,
            source_url=doc.source_url,
            published_at=doc.published_at,
            downloads=doc.downloads,
        )
        for doc in rows[:limit]
    ]
    return {"meta": meta, "modules": modules}


def _number(request: Request, name: str, default: int) -> int:
    text = request.GET.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(LAST_OFFSET)) or int(text) > LAST_OFFSET:
        raise Invalid(f"{name} is {text[:80]!a}, expected a number from 0 to {LAST_OFFSET}.")
    return int(text)


def _url(request: Request, limit: int, offset: int) -> str:
    others = {name: value for name, value in request.GET.items() if name not in ("limit", "offset")}
    return f"{request.path}?{urlencode({'limit': limit, 'offset': offset, **others})}"


def _filters(request: Request, **names: str) -> dict[str, str]:
    """Filters from the query string, without NUL bytes, which PostgreSQL refuses."""
    return {facet: request.GET.get(name, "").replace("\0", "")[:200] for facet, name in names.items()}


class Modules(ReadyInNamespace, ProtocolView):
    """Every visible module, by address."""

    def get(self, request: Request) -> Response:
        docs = reading.listed_modules(self.viewer, filters=_filters(request, system="provider"))
        return Response(list_document(request, docs))


class Search(ReadyInNamespace, ProtocolView):
    """Modules that match every word of `q`, best match first; without words the whole list."""

    def get(self, request: Request) -> Response:
        filters = _filters(request, system="provider", namespace="namespace")
        docs = reading.listed_modules(self.viewer, query=request.GET.get("q", "")[:200], filters=filters)
        return Response(list_document(request, docs))


class InNamespace(ReadyInNamespace, ProtocolView):
    def get(self, request: Request, namespace: str) -> Response:
        docs = reading.modules_in(self.viewer, namespace, filters=_filters(request, system="provider"))
        return Response(list_document(request, docs))


class Systems(ReadyInNamespace, ProtocolView):
    """The latest version of a module in each of its systems."""

    def get(self, request: Request, namespace: str, name: str) -> Response:
        document = list_document(request, reading.systems_of(self.viewer, namespace, name))
        if not document["modules"] and not document["meta"]["current_offset"]:
            raise NotFound(f"There is no module {name} in {namespace}.")
        return Response(document)


class Latest(ReadyInNamespace, ProtocolView):
    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:  # noqa: ARG002
        latest = reading.latest_version(self.viewer, ModuleAddress(namespace, name, system))
        return Response(_details(self, latest))


class Exact(ReadyInNamespace, ProtocolView):
    """One version; a yanked one is still readable by its exact number (D9)."""

    def get(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:  # noqa: ARG002
        address = ModuleAddress(namespace, name, system)
        return Response(_details(self, reading.version_for(self.viewer, address, version, with_markdown=True)))


class LatestDownload(ProtocolView):
    """Redirect to the download of the latest version; temporary, as the latest version changes."""

    def get(self, request: Request, namespace: str, name: str, system: str) -> HttpResponse:  # noqa: ARG002
        latest = reading.latest_version(self.viewer, ModuleAddress(namespace, name, system))
        url = reverse("protocol:module-download", args=[namespace, name, system, latest.release.version])
        return HttpResponseRedirect(url, content_type="application/json")


def _details(view: ProtocolView, version: ModuleVersion) -> dict[str, Any]:
    listed = listed_numbers(version.module)
    view.ready_until = listed.next_at
    numbers = [number for number, _ in listed.rows]
    return details_document(version, versions=numbers, systems=reading.siblings(version))


_MODULE = "v1/modules/<segment:namespace>/<segment:name>/<segment:system>"
urlpatterns = [
    # Before the lists, so that `versions` is not taken for a version.
    path(f"{_MODULE}/versions", Versions.as_view(), name="module-versions"),
    path(f"{_MODULE}/<segment:version>/download", Download.as_view(), name="module-download"),
    path("v1/modules", Modules.as_view(), name="module-list"),
    path("v1/modules/", Modules.as_view(), name="modules"),
    path("v1/modules/search", Search.as_view(), name="module-search"),
    path("v1/modules/<segment:namespace>", InNamespace.as_view(), name="namespace-modules"),
    path("v1/modules/<segment:namespace>/<segment:name>", Systems.as_view(), name="module-systems"),
    path(_MODULE, Latest.as_view(), name="module-latest"),
    path(f"{_MODULE}/download", LatestDownload.as_view(), name="module-latest-download"),
    path(f"{_MODULE}/<segment:version>", Exact.as_view(), name="module-details"),
]
