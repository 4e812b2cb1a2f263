"""One search over modules, providers, what they declare, READMEs, namespaces and teams: grouped and ranked.

The database finds the words in what the reader may see; the ranking is plain Python, so it is the same on every
database. A word that is in nearly everything is looked for in the most downloaded modules and providers alone.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.lib.text.search_terms import begins_a_part, simple_words, spellings, words_of
from apps.releases.catalogue import indexing, similar
from apps.releases.catalogue.ranking import BEGINS, COSTS, EXACT, INSIDE, WRITTEN, as_one_name, worth
from apps.releases.catalogue.search import KIND_WORDS, Keys, among, asked_words, in_names, in_namespaces, words_in
from apps.releases.models import Kind, SearchDoc, SearchWord
from apps.releases.origin.models import verified

MODULES, PROVIDERS, SUBMODULES, RESOURCES, DATA_SOURCES = (
    "modules",
    "providers",
    "submodules",
    "resources",
    "data_sources",
)
EPHEMERAL, FUNCTIONS = ("ephemeral_resources", "functions")
INPUTS, OUTPUTS, READMES, NAMESPACES, TEAMS = ("inputs", "outputs", "readmes", "namespaces", "teams")
# In the order in which they are shown.
GROUPS = (
    *(MODULES, PROVIDERS, SUBMODULES, RESOURCES, DATA_SOURCES, EPHEMERAL, FUNCTIONS),
    *(INPUTS, OUTPUTS, READMES, NAMESPACES, TEAMS),
)
_GROUP_OF = {Kind.MODULE: MODULES, Kind.PROVIDER: PROVIDERS}
ITEMS = {
    indexing.SUBMODULE: SUBMODULES,
    indexing.RESOURCE: RESOURCES,
    indexing.DATA_SOURCE: DATA_SOURCES,
    indexing.EPHEMERAL: EPHEMERAL,
    indexing.FUNCTION: FUNCTIONS,
    indexing.INPUT: INPUTS,
    indexing.OUTPUT: OUTPUTS,
}
OWN = (indexing.NAME, indexing.PLACE, indexing.DESCRIPTION)
# More rows than this: the word is in nearly everything.
MAX_ROWS = 800
MAX_DOCS = 150
_COLUMNS = ("doc", "place", "term", "name", "unit")
SHOWN, MAX_SHOWN = 5, 50


class Match(NamedTuple):
    """A row of the index that a word of the query begins."""

    doc: int
    place: int
    term: str
    name: str
    unit: str


_DOCS = SearchDoc.objects.select_related("namespace").annotate(is_verified=verified("release"))


class Rank(NamedTuple):
    """Better ones are smaller: the cost of `ranking`, then the magnitude of downloads, then the newest."""

    cost: int
    unpopular: int = 0
    age: float = 0
    key: bytes = b""


@dataclass(frozen=True, slots=True)
class Hit:
    """`doc` is the module or provider; `unit` the folder or docs page that declares the item."""

    group: str
    rank: Rank
    name: str
    doc_id: int = 0
    unit: str = ""
    description: str = ""
    visibility: str = ""
    doc: SearchDoc | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The best hits of a kind; `count` is the number of all, or of those that were looked at."""

    kind: str
    hits: list[Hit]
    count: int


@dataclass(frozen=True, slots=True)
class Answer:
    """`corrected` has the words that were searched for instead. Not complete: there is more than was looked at."""

    words: tuple[str, ...] = ()
    corrected: Mapping[str, str] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    is_complete: bool = True

    @property
    def count(self) -> int:
        return sum(group.count for group in self.groups)


def everything(viewer: Viewer, query: str, *, only: str = "", limit: int = SHOWN) -> Answer:
    """Search all groups or `only` one. If nothing matches, misspelled words are replaced by the nearest in use.

    A word such as `provider` brings that group to the top: few providers have it in their names.
    """
    words = asked_words(query)
    first = next((_GROUP_OF[KIND_WORDS[word]] for word in words_of(query) if word in KIND_WORDS), "")
    if not words:
        return Answer()
    places = _Places(viewer)
    hits, is_complete, unused = _search(places, words)
    corrections: dict[str, str] = {}
    if not hits:
        corrections = similar.corrected(words, namespaces=places.keys, names=places.names, unused=unused) or {}
        if corrections:
            right = words_of(" ".join(corrections.get(word, word) for word in words))
            hits, is_complete, _ = _search(places, right)
            words, corrections = (right, corrections) if hits else (words, {})
    # The groups that have hits, in that order, the best of each with their documents.
    kinds = sorted((kind for kind in GROUPS if not only or kind == only), key=lambda kind: kind != first)
    by_kind: dict[str, list[Hit]] = {kind: [] for kind in kinds}
    for hit in hits:
        if hit.group in by_kind:
            by_kind[hit.group].append(hit)
    best = {kind: sorted(found, key=lambda hit: hit.rank)[:limit] for kind, found in by_kind.items()}
    keys = {hit.doc_id for found in best.values() for hit in found if hit.doc_id}
    docs = _DOCS.in_bulk(keys) if keys else {}
    groups = [
        Group(kind, [_with_doc(hit, docs) for hit in found], len(by_kind[kind]))
        for kind, found in best.items()
        if found
    ]
    return Answer(tuple(words), corrections, groups, is_complete)


class _Places:
    """The namespaces and teams that the viewer may see: few enough to look at each."""

    def __init__(self, viewer: Viewer) -> None:
        columns = ("pk", "name", "description", "visibility")
        self.spaces = list(gate.visible_namespaces(viewer).values_list(*columns))
        self.teams = list(gate.visible_teams(viewer).values_list("name", "description"))
        self.keys = [row[0] for row in self.spaces]

    @property
    def names(self) -> set[str]:
        named = [*(row[1] for row in self.spaces), *(row[0] for row in self.teams)]
        return {word for name in named for word in simple_words(name)}

    def hits(self, words: list[str]) -> Iterable[Hit]:
        for _, name, description, visibility in self.spaces:
            if (cost := _cost_of_texts(words, name, description)) is not None:
                rank = Rank(cost, key=name.encode())
                yield Hit(NAMESPACES, rank, name, description=description, visibility=visibility)
        for name, description in self.teams:
            if (cost := _cost_of_texts(words, name, description)) is not None:
                yield Hit(TEAMS, Rank(cost, key=name.encode()), name, description=description)


def _cost_of_texts(words: list[str], name: str, description: str) -> int | None:
    """None unless each word begins a part of the name or of the description."""
    total, name, description = 0, name.casefold(), description.casefold()
    for word in words:
        ways = spellings(word)
        if any(begins_a_part(way, name) for way in ways):
            total += _cost_in(word, name)
        elif any(begins_a_part(way, description) for way in ways):
            total += COSTS[indexing.DESCRIPTION]
        else:
            return None
    return total


# A word that is not in the item's name but in the address of what declares it.
_AROUND = 2 * INSIDE


def _cost_in(word: str, name: str) -> int:
    ways, name = tuple(spellings(word)), name.casefold()
    return EXACT if name in ways else BEGINS if name.startswith(ways) else INSIDE


def _search(places: _Places, words: list[str]) -> tuple[list[Hit], bool, list[str]]:
    """Return the hits, whether these are all, and words that are nowhere in the index."""
    matches, docs, is_complete, unused = _matches(places.keys, words)
    hits = list(places.hits(words))
    by_doc: dict[int, dict[str, list[Match]]] = {key: {} for key in docs}
    for word, rows in matches.items():
        for row in rows:
            if row.doc in by_doc:
                by_doc[row.doc].setdefault(word, []).append(row)
    for key, found in by_doc.items():
        if len(found) == len(words):
            hits += _hits_of(docs[key], {word: found[word] for word in words})
    return hits, is_complete, unused


class _Doc(NamedTuple):
    pk: int
    kind: str
    downloads: int
    published_at: datetime
    sort_key: bytes

    def rank(self, cost: int, name: str = "") -> Rank:
        key = bytes(self.sort_key) + b"\0" + name.encode()
        cost -= worth(self.downloads)
        return Rank(cost, -self.downloads.bit_length(), -self.published_at.timestamp(), key)


def _hits_of(doc: _Doc, found: Mapping[str, list[Match]]) -> Iterable[Hit]:
    """Yield the matching items that it declares, and the module or provider itself or its README.

    A search for `nat gateway` and not `nat_gateway` is for a module, so one that declares it is found too.
    """
    items = list(_items_of(doc, found))
    yield from items
    as_one, words = tuple(as_one_name(list(found))), list(found)
    together = [row for row in found[words[0]] if as_one and row.term.startswith(as_one)]
    is_own = any(row.place in OWN for rows in found.values() for row in rows)
    if is_own or together or (not items and all(any(row.place in ITEMS for row in rows) for rows in found.values())):
        cost = sum(_own_cost(word, rows) for word, rows in found.items())
        if together:
            cost = min(cost, _own_cost(as_one[0], together))
        yield Hit(MODULES if doc.kind == Kind.MODULE else PROVIDERS, doc.rank(cost), "", doc.pk)
    elif not items:
        yield Hit(READMES, doc.rank(WRITTEN), "", doc.pk)


def _items_of(doc: _Doc, found: Mapping[str, list[Match]]) -> Iterable[Hit]:
    """Each word must be in the item's name, or in the address of what declares it."""
    named = {word: [row for row in rows if row.place in OWN[:2]] for word, rows in found.items()}
    around = {word: _own_cost(word, rows) + _AROUND for word, rows in named.items() if rows}
    matched = {word: {(row.place, row.name) for row in rows if row.place in ITEMS} for word, rows in found.items()}
    units = {(row.place, row.name): row.unit for rows in found.values() for row in rows if row.place in ITEMS}
    for (place, name), unit in units.items():
        inside = [word for word in found if (place, name) in matched[word]]
        outside = [word for word in found if word not in inside]
        if name and all(word in around for word in outside):
            cost = sum(_cost_in(word, name) for word in inside) + sum(around[word] for word in outside)
            yield Hit(ITEMS[place], doc.rank(cost, name), name, doc.pk, unit)


def _own_cost(word: str, rows: list[Match]) -> int:
    return min(_cost_in(word, row.name) if row.place == indexing.NAME else COSTS[row.place] for row in rows)


def _matches(keys: list[int], words: list[str]) -> tuple[dict[str, list[Match]], dict[int, _Doc], bool, list[str]]:
    """Return the matches by word, the listed documents that have them, whether these are all, and unused words."""
    found: dict[str, list[Match]] = {}
    for word in sorted(words, key=len, reverse=True):  # long words are rare
        rows = _few_rows(words_in(in_namespaces(keys), [word]))
        if rows is not None:
            found[word] = named = rows
            docs = _docs({row.doc for row in rows})
            break
    else:
        docs, named = _frequent(keys, words)
    unused = [word for word, rows in found.items() if not rows]
    rest = [word for word in words if word not in found]
    is_complete = bool(found) and (not rest or len(docs) <= MAX_DOCS)
    if rest and docs:
        docs = {doc.pk: doc for doc in _best(docs.values(), words, named)}
        rows = _read(words_in(Q(doc__in=Keys(docs)), rest).values_list(*_COLUMNS))
        ways = {word: tuple(spellings(word)) for word in rest}
        found |= {word: [row for row in rows if row.term.startswith(ways[word])] for word in rest}
    return found, docs, is_complete, unused


def _frequent(keys: list[int], words: list[str]) -> tuple[dict[int, _Doc], list[Match]]:
    """The most downloaded documents, and those with one of the words in their own name, unless that is common too."""
    listed = SearchDoc.objects.filter(among(keys), kind__in=Kind.values, is_listed=True)
    popular = listed.order_by("-downloads", "-published_at", "sort_key").values_list("pk", flat=True)[:MAX_DOCS]
    named = _few_rows(words_in(in_names(keys), words)) or []
    return _docs({row.doc for row in named} | set(popular)), named


def _best(docs: Iterable[_Doc], words: list[str], rows: list[Match]) -> list[_Doc]:
    """At most MAX_DOCS: those with a word in their own name first."""
    costs: dict[int, int] = {}
    for row in rows:
        if row.place == indexing.NAME:
            cost = min(_cost_in(word, row.name) for word in words)
            costs[row.doc] = min(costs.get(row.doc, cost), cost)
    return sorted(docs, key=lambda doc: doc.rank(costs.get(doc.pk, COSTS[indexing.DESCRIPTION])))[:MAX_DOCS]


def _few_rows(rows: QuerySet[SearchWord]) -> list[Match] | None:
    """All of them, None if there are more than MAX_ROWS: reading so many costs more than finding them."""
    found = list(rows.values_list(*_COLUMNS)[: MAX_ROWS + 1])
    return _read(found) if len(found) <= MAX_ROWS else None


def _read(rows: Iterable[tuple[Any, ...]]) -> list[Match]:
    """A row that a migration made has no name of its own; the next publish adds it."""
    found = []
    for doc, place, term, name, unit in rows:
        text = bytes(term).decode(errors="replace")
        found.append(Match(doc, place, text, name or (text if place in OWN[:2] else ""), unit))
    return found


def _docs(numbers: Collection[int]) -> dict[int, _Doc]:
    if not numbers:
        return {}
    rows = SearchDoc.objects.filter(pk__in=Keys(numbers), is_listed=True)
    return {row[0]: _Doc(*row) for row in rows.values_list(*_Doc._fields)}


def _with_doc(hit: Hit, docs: Mapping[int, SearchDoc]) -> Hit:
    doc = docs.get(hit.doc_id)
    return hit if doc is None else Hit(hit.group, hit.rank, hit.name, hit.doc_id, hit.unit, doc.description, "", doc)
