"""/api/v1/me, and lists of namespaces, modules, providers and versions that the caller may see."""

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate, throttling
from apps.accounts.identity.sign_ins import address_of
from apps.accounts.models import ApiToken, Role
from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of, text_of
from apps.http.views import ReadyInNamespace
from apps.lib.addresses import ModuleAddress, ProviderAddress, canonical
from apps.lib.errors import Invalid
from apps.modules.catalogue.reading import module_for
from apps.providers.reading import provider_for
from apps.releases.catalogue import search
from apps.releases.catalogue.documents import moment
from apps.releases.models import Kind, SearchDoc
from apps.releases.version_rows import VersionQuerySet

_QUERY = {
    "q": "Words, each of which begins a name or another indexed term.",
    "namespace": "Only in this namespace.",
    "sort": "The order; relevance without words is by name.",
} | CURSOR
_CHOICES = {"sort": list(search.SORTS)}
_SYSTEM = {"system": "Only for this system, such as aws."}


def me_document(token: ApiToken) -> dict[str, Any]:
    user = token.user
    return {
        "user": user.username,
        "name": user.get_full_name(),
        "staff": user.is_staff,
        "token": {
            "id": token.pk,
            "label": token.label,
            "scope": token.scope,
            "namespaces": sorted(token.namespaces.values_list("name", flat=True)) if token.is_limited else None,
            "only_name": token.only_name,
            "expires_at": moment(token.expires_at),
        },
    }


class Me(ApiView):
    """The caller and their token. `namespaces` is null for a token that is not limited to some."""

    http_method_names = ["get", "head"]

    @operation("The caller and their token", answers={200: shapes.Me})
    def get(self, request: Request) -> Response:  # noqa: ARG002
        self.require_token()
        assert self.viewer.token is not None  # noqa: S101  # the API takes nothing else
        return Response(me_document(self.viewer.token))


class NamespaceList(ApiView):
    """The namespaces that the caller may see, by name; `role` is theirs, null where visibility alone lets them read."""

    http_method_names = ["get", "head"]

    @operation(
        "List the namespaces that the caller may see",
        answers={200: shapes.NamespacePage},
        query={"q": "The beginning of a name, in any letter case."} | CURSOR,
        public=True,
    )
    def get(self, request: Request) -> Response:
        rows = gate.visible_namespaces(self.viewer).annotate(highest=gate.highest_role(self.viewer.user))
        rows = rows.filter(canonical__startswith=canonical(text_of(request, "q"))).order_by("canonical", "pk")
        return Response(page_of(request, "namespaces", rows, _namespace))


def _namespace(row: Any) -> dict[str, Any]:
    role = Role(row.highest).label.lower() if row.highest else None
    return {"name": row.name, "visibility": row.visibility, "description": row.description, "role": role}


class CatalogueList(ReadyInNamespace, ApiView):
    """Modules or providers with a listed version, about their default version."""

    http_method_names = ["get", "head"]
    kind: Kind

    def page(self, request: Request) -> Response:
        sort = text_of(request, "sort") or search.RELEVANCE
        if sort not in search.SORTS:
            raise Invalid(f"Nothing is sorted by {sort!a}.", hint=f"Sort by {', '.join(search.SORTS)}.")
        query = text_of(request, "q")
        if query:
            throttling.count(throttling.by_account("search", self.viewer.user_id, address_of(request)))
        rows = search.search(
            kind=self.kind,
            namespaces=gate.visible_namespaces(self.viewer),
            query=query,
            filters={facet: text_of(request, facet) for facet in ("namespace", "system")},
            sort=sort,
        )
        return Response(page_of(request, f"{self.kind.value}s", rows.select_related("namespace"), self.document_of))

    def document_of(self, doc: SearchDoc) -> dict[str, Any]:
        name, _, system = doc.name.partition("/")
        named = {"name": name, "system": system} if self.kind == Kind.MODULE else {"type": name}
        return {
            "namespace": doc.namespace.name,
            **named,
            "version": doc.version,
            "description": doc.description,
            "lifecycle": doc.lifecycle,
            "published_at": moment(doc.published_at),
            "downloads": doc.downloads,
        }


class VersionList(ReadyInNamespace, ApiView):
    """The highest first, yanked ones included."""

    http_method_names = ["get", "head"]

    def page(self, request: Request, versions: VersionQuerySet[Any]) -> Response:
        rows = versions.published().newest_first().select_related("release")
        return Response(page_of(request, "versions", rows, _version))


def _version(row: Any) -> dict[str, Any]:
    release = row.release
    return {
        "version": release.version,
        "lifecycle": release.lifecycle,
        "reason": release.lifecycle_reason,
        "published_at": moment(release.published_at),
    }


class ModuleVersions(VersionList):
    @operation("List the versions of a module", answers={200: shapes.VersionPage}, query=CURSOR, public=True)
    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:
        return self.page(request, module_for(self.viewer, ModuleAddress(namespace, name, system)).versions.all())


class ProviderVersions(VersionList):
    @operation("List the versions of a provider", answers={200: shapes.VersionPage}, query=CURSOR, public=True)
    def get(self, request: Request, namespace: str, type: str) -> Response:  # noqa: A002
        return self.page(request, provider_for(self.viewer, ProviderAddress(namespace, type)).versions.all())


class ModuleList(CatalogueList):
    kind = Kind.MODULE

    @operation(
        "List and search modules",
        answers={200: shapes.ModulePage},
        query=_QUERY | _SYSTEM,
        choices=_CHOICES,
        public=True,
    )
    def get(self, request: Request) -> Response:
        return self.page(request)


class ProviderList(CatalogueList):
    kind = Kind.PROVIDER

    @operation(
        "List and search providers", answers={200: shapes.ProviderPage}, query=_QUERY, choices=_CHOICES, public=True
    )
    def get(self, request: Request) -> Response:
        return self.page(request)


urlpatterns = [
    path("me", Me.as_view(), name="me"),
    path("namespaces", NamespaceList.as_view(), name="namespaces"),
    path("modules", ModuleList.as_view(), name="modules"),
    path("providers", ProviderList.as_view(), name="providers"),
    # Before those with <version> in this place.
    path(
        "modules/<segment:namespace>/<segment:name>/<segment:system>/versions",
        ModuleVersions.as_view(),
        name="module-versions",
    ),
    path("providers/<segment:namespace>/<segment:type>/versions", ProviderVersions.as_view(), name="provider-versions"),
]
