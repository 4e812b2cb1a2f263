"""Lists of modules or providers by words and filters. `everything` searches all kinds at once, in the same index.

Words are indexed bytes, and a prefix is a range of bytes: the same SQL and the same order on every database.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import add, and_, or_
from typing import Any

from django.db import connection, transaction
from django.db.models import (
    Case,
    Count,
    Exists,
    Expression,
    ExpressionWrapper,
    IntegerField,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Least

from apps.accounts.models import Namespace
from apps.admin_base.counting import MAX_COUNTED_ROWS, one_of
from apps.lib.text.search_terms import spellings, words_of
from apps.releases.catalogue import indexing
from apps.releases.catalogue.indexing import README
from apps.releases.catalogue.ranking import (
    BEGINS,
    COSTS,
    EXACT,
    INSIDE,
    WRITTEN,
    as_one_name,
    worth_in_sql,
)
from apps.releases.models import Kind, SearchDoc, SearchFacet, SearchWord
from apps.releases.origin.models import verified

# A query, or the keys that it had: a caller that searches several times asks once.
Namespaces = QuerySet[Namespace] | Collection[int]

RELEVANCE, BY_NAME, UPDATED, DOWNLOADS = SORTS = ("relevance", "name", "updated", "downloads")
FACETS = ("namespace", "system", "provider")
# Words of a query that say what is looked for, unless nothing else is said.
KIND_WORDS = {"module": Kind.MODULE, "modules": Kind.MODULE, "provider": Kind.PROVIDER, "providers": Kind.PROVIDER}
MAX_FACET_VALUES = 50
# A query whose every word is in more places than this is ranked by names and downloads alone: the places of a word that
# everything has say little, and weighing them takes most of the time.
MAX_WEIGHED_TERMS = 2_000
# A word in more places than this is looked for in each document: one has it in dozens of places.
MAX_WORD_ROWS = 10_000
# The documents of a word are found once and named by their keys in each query, unless they are more than this.
MAX_NAMED_DOCS = 20_000
# PostgreSQL estimates for each key of a list by itself how many rows it has: for 20,000 that takes 30 ms.
MAX_PLANNED_KEYS = 1_000
# Lists find names and descriptions; what a README mentions is a group of its own in `everything`.
_NAMED = Q(place__gt=README)


@dataclass(frozen=True, slots=True)
class FacetValue:
    value: str
    count: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A word of the query and the best name that it matched in a document; `place` is one of `indexing`."""

    word: str
    place: int
    term: str


def search(
    *,
    kind: str,
    namespaces: Namespaces,
    query: str = "",
    filters: Mapping[str, str] | None = None,
    include_unlisted: bool = False,
    since: datetime | None = None,
    sort: str = RELEVANCE,
) -> QuerySet[SearchDoc]:
    """Return documents in those namespaces in which each word of the query begins a term, in a total order.

    `filters` are the name of a namespace or values of facets; empty ones are ignored. `since` is when something was
    published there last, at the earliest. Relevance is the cost of `ranking`, without a query the order of names; it
    asks the database how frequent the words are. `is_verified`: the origin of the document's version is.
    """
    words = asked_words(query)
    seen: Namespaces = keys_of(namespaces) if words else namespaces
    rows = _matching(kind, seen, words, filters or {}, include_unlisted=include_unlisted, since=since)
    rows = rows.annotate(is_verified=verified("release"))
    by_name = ("sort_key", "pk")
    if sort == UPDATED:
        return rows.order_by("-published_at", *by_name)
    if sort == DOWNLOADS:
        return rows.order_by("-downloads", *by_name)
    for facet in indexing.room_facets:
        if sort == facet.name:
            return rows.order_by(_place_in(facet), *by_name)
    if sort == RELEVANCE and words:
        as_one = as_one_name(words)
        if all(keys_of(seen).is_frequent(word) for word in words):
            names = [*(spelling for word in words for spelling in spellings(word)), *as_one]
            return rows.order_by(_cost_in_name(names, Value(INSIDE)), "-downloads", *by_name)
        cost = reduce(add, (_cost(spellings(word), WRITTEN) for word in words))
        if as_one:
            cost = Least(cost, _cost(as_one, len(words) * WRITTEN))
        return rows.order_by(ExpressionWrapper(cost - worth_in_sql(), IntegerField()), "-downloads", *by_name)
    return rows.order_by(*by_name)


def facets() -> tuple[str, ...]:
    """Return those of the core, and of rooms."""
    return (*FACETS, *(one.name for one in indexing.room_facets))


def _place_in(facet: indexing.RoomFacet) -> Expression:
    """The place of a document's value in the order of the facet; last without one."""
    mine = SearchFacet.objects.filter(doc=OuterRef("pk"), facet=facet.name)
    places = [When(Exists(mine.filter(value=value)), then=Value(place)) for place, value in enumerate(facet.values)]
    return Case(*places, default=Value(len(places)), output_field=IntegerField())


def asked_words(query: str) -> list[str]:
    """The words that a hit must match: of `vpc module` only `vpc`."""
    said = words_of(query)
    return [word for word in said if word not in KIND_WORDS] or said


def facet_counts(
    *,
    kind: str,
    namespaces: Namespaces,
    query: str = "",
    filters: Mapping[str, str] | None = None,
    include_unlisted: bool = False,
    since: datetime | None = None,
) -> dict[str, list[FacetValue]]:
    """Return for each facet its most frequent values and the number of documents that each would show.

    A facet's own filter does not apply to its own values, so that there is something to change to. The chosen value is
    always included. At most MAX_COUNTED_ROWS documents are counted.
    """
    words, chosen = asked_words(query), filters or {}
    seen: Namespaces = keys_of(namespaces) if words else namespaces
    unchosen = [facet for facet in facets() if facet != "namespace" and not chosen.get(facet)]
    found: dict[str, list[FacetValue]] = {}
    for facet in facets():
        if facet in found:
            continue
        others = {name: value for name, value in chosen.items() if name != facet}
        rows = _matching(kind, seen, words, others, include_unlisted=include_unlisted, since=since)
        counted_docs = rows.order_by().values("pk")[:MAX_COUNTED_ROWS]
        if facet == "namespace":
            grouped = SearchDoc.objects.filter(one_of(counted_docs)).values("namespace__name").annotate(n=Count("pk"))
            found[facet] = _most_frequent(grouped.order_by().values_list("namespace__name", "n"), chosen.get(facet, ""))
        else:  # those without a filter of their own count the same rows, in one query
            together = unchosen if facet in unchosen else [facet]
            counted = SearchFacet.objects.filter(one_of(counted_docs, "doc"), facet__in=together)
            values = counted.order_by().values("facet", "value").annotate(n=Count("pk"))
            counts: dict[str, list[tuple[str, int]]] = {name: [] for name in together}
            for name, value, count in values.values_list("facet", "value", "n"):
                counts[name].append((value, count))
            found |= {name: _most_frequent(pairs, chosen.get(name, "")) for name, pairs in counts.items()}
    return found


def hits(docs: Iterable[SearchDoc], query: str) -> dict[int, list[Hit]]:
    """Return by document why it matched: for each word of the query the whole identifier around it."""
    keys, words = [doc.pk for doc in docs], asked_words(query)
    if not keys or not words:
        return {}
    rows = words_in(Q(doc__in=keys) & _NAMED, words)
    names: dict[int, list[tuple[int, str, str]]] = {}
    for key, place, term, name in rows.values_list("doc", "place", "term", "name"):
        found = bytes(term).decode(errors="replace")
        names.setdefault(key, []).append((place, found, name or found))
    return {key: [hit for word in words if (hit := _best(word, found))] for key, found in names.items()}


def rows_of(docs: QuerySet[Any], start: int, stop: int) -> list[Any]:
    """Return a slice. Of what is skipped the keys alone are read, and nothing that is shown of a document."""
    if not start:
        return list(docs[:stop])
    return list(docs.filter(pk__in=list(docs.values_list("pk", flat=True)[start:stop])))


class Seen(list[int]):
    """The keys of the namespaces that a request searches several times, and what it found there for each word.

    The index of words takes most of a search's time, and a list asks four times: for its count, its page and the values
    to filter by.
    """

    def __init__(self, keys: Iterable[int]) -> None:
        super().__init__(keys)
        self._rows: dict[str, list[tuple[int, int]]] = {}
        self._docs: dict[tuple[str, ...], Q] = {}

    def is_frequent(self, word: str) -> bool:
        return len(self._first_rows(word)) > MAX_WEIGHED_TERMS

    def has(self, words: Iterable[str]) -> Q:
        """Documents that have all of these words."""
        asked = tuple(words)
        if asked not in self._docs:
            keys = self._keys_with(asked)
            if len(keys) > MAX_NAMED_DOCS:
                found = [words_in(in_namespaces(self) & _NAMED, [word]).values("doc") for word in asked]
                self._docs[asked] = reduce(and_, (Q(pk__in=docs) for docs in found))
            else:
                self._docs[asked] = Q(pk__in=Keys(sorted(keys)) if keys else [])
        return self._docs[asked]

    def _keys_with(self, words: Collection[str]) -> set[int]:
        """At most MAX_NAMED_DOCS, and one more if there are more."""
        frequent = sorted((word for word in words if self.is_frequent(word)), key=len, reverse=True)
        rare = [self._first_rows(word) for word in words if word not in frequent]
        found = [{key for key, place in rows if place > README} for rows in rare]
        keys = set.intersection(*found) if found else None
        if not frequent or keys == set():
            return keys or set()
        with indexes_in_memory():
            return set(self._with_frequent(frequent, keys)[: MAX_NAMED_DOCS + 1])

    def _first_rows(self, word: str) -> list[tuple[int, int]]:
        """Documents and places, one more than make a word frequent."""
        if word not in self._rows:
            rows = words_in(in_namespaces(self), [word]).values_list("doc", "place")
            self._rows[word] = list(rows[: MAX_WEIGHED_TERMS + 1])
        return self._rows[word]

    def _with_frequent(self, words: list[str], keys: Collection[int] | None) -> QuerySet[SearchDoc, int]:
        """Of the documents with these keys, or of all, those with these words, the longest (so rarest) first."""
        docs = SearchDoc.objects.filter(among(self) if keys is None else Q(pk__in=Keys(sorted(keys))))
        if keys is None:
            rows = words_in(in_namespaces(self), words[:1])
            if rows.values("pk")[: MAX_WORD_ROWS + 1].count() <= MAX_WORD_ROWS:
                docs, words = docs.filter(pk__in=rows.filter(_NAMED).values("doc")), words[1:]
        for word in words:
            docs = docs.filter(Exists(words_in(Q(doc=OuterRef("pk")) & _NAMED, [word])))
        return docs.values_list("pk", flat=True)


def keys_of(namespaces: Namespaces) -> Seen:
    """The namespaces as numbers: with them each database looks into the index once per namespace."""
    if isinstance(namespaces, Seen):
        return namespaces
    return Seen(namespaces.values_list("pk", flat=True) if isinstance(namespaces, QuerySet) else namespaces)


@contextmanager
def indexes_in_memory() -> Iterator[None]:
    """Let PostgreSQL take it that what an index leads to is in memory, as these small tables are.

    Its default is a disk: it would rather read the trigrams of all namespaces than look up some in each of hundreds.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute("SET LOCAL random_page_cost = 1.1")
        yield


class Keys(Expression):
    """Numbers, at least one, written into the statement.

    Django handles each parameter several times, and there may be hundreds.
    """

    def __init__(self, keys: Collection[int]) -> None:
        super().__init__(output_field=IntegerField())
        self.count, self.text = len(keys), ", ".join(str(int(key)) for key in keys)

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[str | int, ...]]:  # noqa: ARG002  # Django's
        return f"({self.text})", ()

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, tuple[str | int, ...]]:
        if self.count <= MAX_PLANNED_KEYS:
            return self.as_sql(compiler, connection)
        return f"(SELECT unnest('{{{self.text}}}'::bigint[]))", ()


def among(namespaces: Namespaces) -> Q:
    """Rows of those namespaces."""
    if isinstance(namespaces, QuerySet) or not namespaces:
        return Q(namespace__in=namespaces)
    return Q(namespace__in=Keys(namespaces))


def in_namespaces(keys: Namespaces) -> Q:
    """Words there, by the index that begins with the namespace."""
    return among(keys) & Q(is_name__in=(True, False))


def in_names(keys: Namespaces) -> Q:
    """Words of names there, by the same index. `is_name = True` would be the column alone: no key for SQLite."""
    return among(keys) & Q(is_name__in=(True,))


def words_in(where: Q, words: Iterable[str]) -> QuerySet[SearchWord]:
    """Rows there that one of the words begins. UTF-8 has no byte FF, so they sort below word + FF.

    `where` is repeated for each range: SQLite takes an index for an OR only if each part of it has the whole key.
    """
    spelled = [spelling.encode() for word in words for spelling in spellings(word)]
    ranges = (where & Q(term__gte=one, term__lt=one + b"\xff") for one in spelled)
    return SearchWord.objects.filter(reduce(or_, ranges))


def _best(word: str, found: list[tuple[int, str, str]]) -> Hit | None:
    """Return the name in the best place; there, one that begins with the word, then the shortest."""
    ways = tuple(spellings(word))
    matching = [one for one in found if one[1].startswith(ways)]
    if not matching:
        return None
    place = max(place for place, _, _ in matching)
    names = {name for where, _, name in matching if where == place}
    return Hit(word, place, min(names, key=lambda name: (not name.casefold().startswith(ways), len(name), name)))


def _matching(
    kind: str,
    namespaces: Namespaces,
    words: list[str],
    filters: Mapping[str, str],
    *,
    include_unlisted: bool,
    since: datetime | None,
) -> QuerySet[SearchDoc]:
    rows = SearchDoc.objects.filter(among(namespaces), kind=kind)
    if since is not None:
        rows = rows.filter(published_at__gte=since)
    if not include_unlisted:
        rows = rows.filter(is_listed=True)
    if words:
        rows = rows.filter(keys_of(namespaces).has(words))
    for facet, value in filters.items():
        if value and facet == "namespace":
            rows = rows.filter(namespace__name=value)
        elif value:
            rows = rows.filter(pk__in=SearchFacet.objects.filter(facet=facet, value=value).values("doc"))
    return rows


def _cost(ways: list[str], otherwise: int) -> Expression:
    """Of the best place where one of these spellings is."""
    least_place = {cost: place for place, cost in sorted(COSTS.items(), reverse=True)}
    places = [When(place__gte=place, then=Value(cost)) for cost, place in least_place.items()]
    rows = words_in(Q(doc=OuterRef("pk")), ways).order_by().values("doc")
    least = rows.annotate(least=Min(Case(*places, default=Value(WRITTEN)))).values("least")
    return _cost_in_name(ways, Coalesce(Subquery(least), Value(otherwise)))


def _cost_in_name(ways: list[str], otherwise: Expression) -> Expression:
    """The same letter case for both databases: SQLite ignores it in a prefix, PostgreSQL does not."""
    exact = reduce(or_, (Q(name__iexact=name) | Q(name__istartswith=f"{name}/") for name in ways))
    beginning = reduce(or_, (Q(name__istartswith=name) for name in ways))
    steps = When(exact, then=Value(EXACT)), When(beginning, then=Value(BEGINS))
    return Case(*steps, default=otherwise, output_field=IntegerField())


def _most_frequent(counts: Iterable[tuple[str, int]], chosen: str) -> list[FacetValue]:
    """The chosen value is always among them."""
    ranked = sorted((FacetValue(*pair) for pair in counts), key=lambda one: (-one.count, one.value))
    found = [one for one in ranked if one.value == chosen] or ([FacetValue(chosen, 0)] if chosen else [])
    rest = [one for one in ranked if one.value != chosen][: MAX_FACET_VALUES - len(found)]
    return sorted([*found, *rest], key=lambda one: (-one.count, one.value))
