"""Hits of the search as rows: where they lead, and what is said about them."""

from dataclasses import dataclass
from functools import reduce
from operator import and_
from urllib.parse import quote

from django.db.models import Q
from django.urls import reverse

from apps.accounts.access.gate import Viewer
from apps.accounts.people import accounts
from apps.lib.addresses import ProviderAddress
from apps.lib.text.search_terms import begins_a_part
from apps.portal.frame.elsewhere import Elsewhere
from apps.portal.frame.page_urls import url_of
from apps.portal.frame.rows import Row, address_of
from apps.releases.catalogue import everything
from apps.releases.catalogue.everything import Group, Hit

# Heading, one of them, and its icon.
WORDS = {
    everything.MODULES: ("Modules", "module", "package"),
    everything.PROVIDERS: ("Providers", "provider", "layers"),
    everything.SUBMODULES: ("Submodules", "submodule", "folder"),
    everything.RESOURCES: ("Resources", "resource", "circle-dashed"),
    everything.DATA_SOURCES: ("Data sources", "data source", "circle"),
    everything.EPHEMERAL: ("Ephemeral resources", "ephemeral resource", "clock"),
    everything.FUNCTIONS: ("Functions", "function", "terminal"),
    everything.INPUTS: ("Inputs", "input", "log-in"),
    everything.OUTPUTS: ("Outputs", "output", "log-out"),
    everything.READMES: ("READMEs", "README", "book-open"),
    everything.NAMESPACES: ("Namespaces", "namespace", "building-2"),
    everything.TEAMS: ("Teams", "team", "users"),
}
_TABS = {
    everything.RESOURCES: ("module-resources", ""),
    everything.DATA_SOURCES: ("module-resources", ""),
    everything.EPHEMERAL: ("module-resources", ""),
    everything.INPUTS: ("module-inputs", "input_"),
    everything.OUTPUTS: ("module-outputs", "output_"),
}
_PERMANENT = {everything.INPUTS: "input", everything.OUTPUTS: "output"}
_SUBMODULES = "modules/"
# Of those in whose names the words are, wherever.
MAX_PEOPLE = 50


@dataclass(frozen=True, slots=True)
class HitRow:
    """`within` is the address of the module or provider that has it; `whole` is its row in lists."""

    title: str
    url: str
    what: str
    within: str = ""
    text: str = ""
    version: str = ""
    whole: Row | None = None


@dataclass(frozen=True, slots=True)
class Section:
    kind: str
    title: str
    icon: str
    rows: list[HitRow]
    count: int
    url: str = ""  # the page that has all of them, where another than the search does

    @property
    def has_more(self) -> bool:
        return self.count > len(self.rows)

    @property
    def whole_rows(self) -> list[Row]:
        """Modules and providers as rows of a list."""
        return [row.whole for row in self.rows if row.whole and not row.within]


def sections_of(groups: list[Group], words: tuple[str, ...]) -> list[Section]:
    found = []
    for group in groups:
        title, what, icon = WORDS[group.kind]
        rows = [row_of(hit, what, words) for hit in group.hits]
        found.append(Section(group.kind, title, icon, rows, group.count))
    return found


def section_elsewhere(found: Elsewhere) -> Section:
    """Providers of other registries, labelled with their host."""
    rows = [HitRow(one.address, one.url, "provider", version=one.version) for one in found.rows]
    return Section("elsewhere", "Providers of other registries", "globe", rows, found.count, found.url)


def section_of_people(viewer: Viewer, words: list[str], limit: int) -> Section | None:
    """Those whom the viewer knows, by words that each begin a part of their user name."""
    if not words:
        return None
    named = reduce(and_, (Q(username__contains=word) for word in words))
    people = (
        accounts.shown_to(viewer).filter(named).order_by("username").values_list("username", flat=True)[:MAX_PEOPLE]
    )
    found = [name for name in people if all(begins_a_part(word, name) for word in words)]
    rows = [HitRow(name, reverse("portal:person", args=[name]), "person") for name in found[:limit]]
    return Section("people", "People", "user", rows, len(rows)) if rows else None


def row_of(hit: Hit, what: str, words: tuple[str, ...] = ()) -> HitRow:
    if hit.doc is None:
        page = "portal:namespace" if hit.group == everything.NAMESPACES else "portal:team"
        return HitRow(hit.name, reverse(page, args=[hit.name]), what, text=hit.description)
    doc, address = hit.doc, address_of(hit.doc)
    if not hit.name:
        whole = Row(doc, address, words)
        return HitRow(str(address), url_of(address), what, text=doc.description, version=doc.version, whole=whole)
    return HitRow(hit.name, _url_of_item(hit), what, within=str(address), version=doc.version)


def _url_of_item(hit: Hit) -> str:
    """The page of a module version or the docs page that declares it, at its place."""
    assert hit.doc is not None  # noqa: S101  # items belong to one
    address, version = address_of(hit.doc), hit.doc.version
    if isinstance(address, ProviderAddress):
        kind, _, slug = hit.unit.partition("/")
        return url_of(address, "docs-page", version, kind, slug) if slug else url_of(address, "docs", version)
    if hit.group in _PERMANENT and not hit.unit and "/" not in hit.name:  # whatever page of the list it is on
        return url_of(address, _PERMANENT[hit.group], version, hit.name)
    page, prefix = _TABS.get(hit.group, ("module-version", ""))
    anchor = f"#{prefix}{quote(hit.name)}" if prefix else ""
    if not hit.unit:
        return url_of(address, page.removeprefix("module-"), version) + anchor
    if hit.unit.startswith(_SUBMODULES):
        return url_of(address, "submodule", version, hit.unit.removeprefix(_SUBMODULES)) + anchor
    return url_of(address, "folder", version, hit.unit) + anchor
