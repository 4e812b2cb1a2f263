"""/api/v1/me, /namespaces, /modules and /providers: who the caller is, and what they may see."""

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate
from apps.accounts.models import ApiToken, Role
from apps.api import answers
from apps.api.base import ApiView
from apps.api.operations import operation
from apps.api.paging import CURSOR, page_of, text_of
from apps.http.views import ReadyInNamespace
from apps.lib.errors import Invalid
from apps.releases.catalogue import search
from apps.releases.catalogue.documents import moment
from apps.releases.models import Kind, SearchDoc

_QUERY = {
    "q": "Words, each of which begins a name or another indexed term.",
    "namespace": "Only in this namespace.",
    "sort": f"{', '.join(search.SORTS)}; relevance without words is by name.",
} | CURSOR
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

    @operation("The caller and their token", answers={200: answers.Me})
    def get(self, request: Request) -> Response:  # noqa: ARG002
        self.require_token()
        assert self.viewer.token is not None  # noqa: S101  # the API takes nothing else
        return Response(me_document(self.viewer.token))


class NamespaceList(ApiView):
    """The namespaces that the caller may see, by name; `role` is theirs, null where visibility alone lets them read."""

    http_method_names = ["get", "head"]

    @operation("List the namespaces that the caller may see", answers={200: answers.NamespacePage}, query=CURSOR)
    def get(self, request: Request) -> Response:
        rows = gate.visible_namespaces(self.viewer).annotate(highest=gate.highest_role(self.viewer.user))
        return Response(page_of(request, "namespaces", rows.order_by("canonical", "pk"), _namespace))


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
        rows = search.search(
            kind=self.kind,
            namespaces=gate.visible_namespaces(self.viewer),
            query=text_of(request, "q"),
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


class ModuleList(CatalogueList):
    kind = Kind.MODULE

    @operation("List and search modules", answers={200: answers.ModulePage}, query=_QUERY | _SYSTEM)
    def get(self, request: Request) -> Response:
        return self.page(request)


class ProviderList(CatalogueList):
    kind = Kind.PROVIDER

    @operation("List and search providers", answers={200: answers.ProviderPage}, query=_QUERY)
    def get(self, request: Request) -> Response:
        return self.page(request)


urlpatterns = [
    path("me", Me.as_view(), name="me"),
    path("namespaces", NamespaceList.as_view(), name="namespaces"),
    path("modules", ModuleList.as_view(), name="modules"),
    path("providers", ProviderList.as_view(), name="providers"),
]
