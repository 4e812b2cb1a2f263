"""/api/v1/modules, /api/v1/providers and their versions: lists of those that the caller may see."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField

from apps.accounts.access import gate
from apps.api.frame.base import MODULE, PROVIDER, ListView, Operation, listed
from apps.api.frame.shapes import ModuleNames, MomentField, ProviderNames, Shape, page
from apps.http.views import ReadyInNamespace
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid
from apps.modules.catalogue.reading import module_for
from apps.providers.reading import provider_for
from apps.releases.catalogue import indexing, search
from apps.releases.catalogue.indexing import RoomFacet
from apps.releases.models import Kind, Lifecycle, SearchDoc
from apps.releases.origin.models import verified
from apps.releases.version_rows import VersionQuerySet


class CatalogueRow(Shape):
    # Of a SearchDoc with its namespace.
    version = CharField(help_text="The default version.")
    description = CharField()
    lifecycle = ChoiceField(choices=Lifecycle.values)
    published_at = MomentField()
    downloads = IntegerField()
    verified = BooleanField(source="is_verified", help_text="Whether the origin of that version is verified.")

    def namespace_of(self, doc: SearchDoc) -> str:
        return doc.namespace.name


class ModuleRow(CatalogueRow, ModuleNames):
    def name_of(self, doc: SearchDoc) -> str:
        return doc.name.partition("/")[0]

    def system_of(self, doc: SearchDoc) -> str:
        return doc.name.partition("/")[2]


class ProviderRow(CatalogueRow, ProviderNames):
    def type_of(self, doc: SearchDoc) -> str:
        return doc.name


class VersionRow(Shape):
    version = CharField(source="release.version")
    lifecycle = ChoiceField(source="release.lifecycle", choices=Lifecycle.values)
    reason = CharField(source="release.lifecycle_reason", help_text="Why it is deprecated or yanked; empty otherwise.")
    published_at = MomentField(source="release.published_at")
    verified = BooleanField(source="is_verified", help_text="Whether an origin is recorded; see …/<version>/origin.")


class CatalogueList(ReadyInNamespace, ListView):
    """Modules or providers with a listed version, about their default version."""

    kind: Kind

    @property
    def facets(self) -> Sequence[RoomFacet]:
        return ()

    def rows(self) -> QuerySet[SearchDoc]:
        query = self.text("q")
        orders = (*search.SORTS, *(one.name for one in self.facets))
        sort = self._chosen("sort", orders, "a sort order") or search.RELEVANCE
        of_rooms = {one.name: self._chosen(one.name, one.values, f"a value of {one.name}") for one in self.facets}
        if query:
            self.count("search")
        return search.search(
            kind=self.kind,
            namespaces=gate.visible_namespaces(self.viewer),
            query=query,
            filters={facet: self.text(facet) for facet in ("namespace", "system")} | of_rooms,
            sort=sort,
        ).select_related("namespace")

    def _chosen(self, name: str, values: Collection[str], what: str) -> str:
        """A parameter with few values, or "". Raises Invalid."""
        value = self.text(name)
        if value and value not in values:
            raise Invalid(f"{value!a} is not {what}.", hint=f"There are {', '.join(values)}.")
        return value


_QUERY = {
    "q": "Search terms; each must match the start of a name or another indexed word.",
    "namespace": "Only in this namespace.",
    "sort": "Sort order. Without search words, relevance sorts by name.",
}
_CATALOGUE: dict[str, Any] = {"choices": {"sort": list(search.SORTS)}, "limits": ["search"], "public": True}


class ModuleList(CatalogueList):
    """With the filters and orders of rooms, as the page has them."""

    kind = Kind.MODULE

    @property
    def facets(self) -> Sequence[RoomFacet]:
        return indexing.room_facets

    def operation_of(self, method: str) -> Operation | None:
        found = super().operation_of(method)
        if found is None:
            return None
        query = {**found.query, **{one.name: one.help for one in self.facets}}
        orders = [*found.choices["sort"], *(one.name for one in self.facets)]
        choices = {**found.choices, "sort": orders, **{one.name: one.values for one in self.facets}}
        return replace(found, query=query, choices=choices)

    get = listed(
        "List and search modules",
        page("ModulePage", modules=ModuleRow(many=True)),
        query=_QUERY | {"system": "Only for this system, such as aws."},
        **_CATALOGUE,
    )


class ProviderList(CatalogueList):
    kind = Kind.PROVIDER
    get = listed(
        "List and search providers", page("ProviderPage", providers=ProviderRow(many=True)), query=_QUERY, **_CATALOGUE
    )


def _listed(versions: VersionQuerySet[Any]) -> QuerySet[Any]:
    return versions.published().newest_first().select_related("release").annotate(is_verified=verified("release"))


VersionPage = page("VersionPage", versions=VersionRow(many=True))


class ModuleVersions(ReadyInNamespace, ListView):
    """The highest first, yanked ones included."""

    get = listed("List the versions of a module", VersionPage, public=True)

    def rows(self, **names: str) -> QuerySet[Any]:
        versions = module_for(self.viewer, ModuleAddress(**names)).versions.all()
        return _listed(versions)


class ProviderVersions(ReadyInNamespace, ListView):
    """The highest first, yanked ones included."""

    get = listed("List the versions of a provider", VersionPage, public=True)

    def rows(self, **names: str) -> QuerySet[Any]:
        versions = provider_for(self.viewer, ProviderAddress(**names)).versions.all()
        return _listed(versions)


urlpatterns = [
    path("modules", ModuleList.as_view(), name="modules"),
    path("providers", ProviderList.as_view(), name="providers"),
    # Before those with <version> in this place.
    path(f"{MODULE}/versions", ModuleVersions.as_view(), name="module-versions"),
    path(f"{PROVIDER}/versions", ProviderVersions.as_view(), name="provider-versions"),
]
