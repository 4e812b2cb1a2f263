"""/api/v1/search: one search over everything that the caller may see, in the groups of the search page."""

from django.urls import path
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DictField,
    IntegerField,
    ListField,
)

from apps.api.frame.base import DetailView, shown
from apps.api.frame.shapes import MomentField, Shape, With
from apps.lib.errors import Invalid
from apps.releases.catalogue import everything
from apps.releases.catalogue.everything import Hit
from apps.releases.models import Lifecycle


class SearchResult(Shape):
    # Of a Hit. A namespace or team has no `doc`.
    name = CharField(help_text="Name of the thing itself, such as an input.")
    address = CharField(help_text="The module or provider to which it belongs, or the namespace or team.")
    path = CharField(help_text="The folder that declares it, or the docs page; empty for the root.")
    description = CharField()
    version = CharField(
        source="doc.version", allow_null=True, help_text="The default version; null for namespaces and teams."
    )
    lifecycle = ChoiceField(source="doc.lifecycle", choices=Lifecycle.values, allow_null=True)
    published_at = MomentField(source="doc.published_at", allow_null=True)
    downloads = IntegerField(source="doc.downloads", allow_null=True)
    verified = BooleanField(
        source="doc.is_verified",
        allow_null=True,
        help_text="Whether the origin of that version is verified; null if it has none.",
    )

    def name_of(self, hit: Hit) -> str:
        return hit.name or (hit.doc.name if hit.doc else "")

    def address_of(self, hit: Hit) -> str:
        return str(hit.doc or hit.name)

    def path_of(self, hit: Hit) -> str:
        return hit.unit if hit.doc else ""

    def description_of(self, hit: Hit) -> str:
        return hit.doc.description if hit.doc else hit.description


class SearchGroup(Shape):
    kind = ChoiceField(choices=everything.GROUPS)
    count = IntegerField(help_text="All matches, or the matches among those examined if `complete` is false.")
    results = SearchResult(source="hits", many=True)


class SearchAnswer(Shape):
    query = CharField()
    words = ListField(child=CharField(), help_text="The search words.")
    corrected = DictField(child=CharField(), help_text="Corrected spellings of misspelled words.")
    complete = BooleanField(
        source="is_complete",
        help_text="false: the words are too common, so only the best matches were examined.",
    )
    groups = SearchGroup(many=True)


class Search(DetailView):
    """The best 5 of each group, or 50 of one: by how exactly they match and how much they are used, then the newest."""

    get = shown(
        "Search everything",
        SearchAnswer,
        query={
            "q": "Search terms; each must match the start of an indexed word. Misspelled ones are corrected if "
            "nothing matches.",
            "in": "Only this group, with more results.",
        },
        choices={"in": list(everything.GROUPS)},
        limits=["search"],
        public=True,
    )

    def row(self) -> With:
        query, only = self.text("q"), self.text("in")
        if only and only not in everything.GROUPS:
            raise Invalid(f"There is no group {only!a}.", hint=f"Ask for {', '.join(everything.GROUPS)}.")
        if query:
            self.count("search")
        limit = everything.MAX_SHOWN if only else everything.SHOWN
        return With(everything.everything(self.viewer, query, only=only, limit=limit), query=query)


urlpatterns = [path("search", Search.as_view(), name="search")]
