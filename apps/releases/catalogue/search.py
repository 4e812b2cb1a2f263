"""The search index: one document per module or provider, its words, and the values to filter by.

Words are indexed bytes, and a prefix is a range of bytes: the same SQL and the same order on every database.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add, or_
from typing import Any

from django.db import transaction
from django.db.models import (
    BinaryField,
    Case,
    Count,
    Expression,
    ExpressionWrapper,
    Func,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from apps.accounts.models import Namespace
from apps.lib import versions
from apps.lib.search_terms import begins_a_part, spellings, terms_of, words_of
from apps.releases.models import DownloadCount, Release, SearchDoc, SearchFacet, SearchTerm

# Weights of the places of a word. One word in a better place outweighs a whole query in worse ones, so that a module
# with the name never ranks below one that only has a submodule of that name.
NAME = 10_000
PLACE = 1_200
DESCRIPTION = 140
SUBMODULE = 16
RESOURCE = 4
INPUT = 3
OUTPUT = 2

RELEVANCE, BY_NAME, UPDATED, DOWNLOADS = SORTS = ("relevance", "name", "updated", "downloads")
FACETS = ("namespace", "system", "provider")
MAX_TERMS = 2_000
MAX_FACET_VALUES = 50


@dataclass(frozen=True, slots=True)
class FacetValue:
    value: str
    count: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A word of the query and the best term that it matched in a document; `place` is NAME to OUTPUT."""

    word: str
    place: int
    term: str


class _Bytewise(Func):
    """Sorts text by its bytes, as SQLite does; PostgreSQL would use the collation of its cluster."""

    template = "%(expressions)s"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return super().as_sql(compiler, connection, template='(%(expressions)s) COLLATE "C"', **context)


class _Position(Func):
    """The position of bytes in other bytes, from 1; 0 for none."""

    function = "INSTR"
    output_field = IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        swapped = self.copy()
        swapped.set_source_expressions(self.get_source_expressions()[::-1])
        return super(_Position, swapped).as_sql(
            compiler,
            connection,
            function="POSITION",
            template="POSITION(%(expressions)s)",
            arg_joiner=" IN ",
            **context,
        )


# --- Writing: inside the transaction of the verb that changes what is listed ------------------------------------------


@transaction.atomic
def put(
    *,
    release: Release,
    description: str,
    words: Mapping[int, Iterable[str]],
    facets: Mapping[str, Iterable[str]],
    is_listed: bool,
) -> SearchDoc:
    """Write the document of a module or provider whose default version is `release`. Safe to repeat.

    `words` are texts by weight. The row is locked until the transaction ends, so the last writer's words win.
    """
    where: dict[str, Any] = {"kind": release.kind, "namespace": release.namespace, "name": release.name}
    shown = {
        "sort_key": sort_key(release.namespace.name, release.name),
        "release": release,
        "description": description[:300],
        "version": release.version,
        "lifecycle": release.lifecycle,
        "is_prerelease": versions.parse(release.version).is_prerelease,
        "is_listed": is_listed,
        "published_at": release.published_at,
    }
    doc, created = SearchDoc.objects.update_or_create(**where, defaults=shown)
    if created:  # it may have had a document before, and downloads are never reset
        fetched = DownloadCount.objects.filter(release__in=Release.objects.filter(**where)).aggregate(n=Sum("count"))[
            "n"
        ]
        SearchDoc.objects.filter(pk=doc.pk).update(downloads=fetched or 0)
    _replace_terms(doc, _weighed(words))
    _replace_facets(doc, {(facet, value[:200]) for facet, values in facets.items() for value in values if value})
    return doc


def sort_key(namespace: str, name: str) -> bytes:
    """Return bytes that sort by the parts of the address, `vpc` before `vpc-b`, ignoring letter case."""
    return f"{namespace}/{name}".lower().replace("/", "\0").encode()


def drop(*, kind: str, namespace: Namespace, name: str) -> None:
    """Delete the document of a module or provider without readable versions."""
    SearchDoc.objects.filter(kind=kind, namespace=namespace, name=name).delete()


def _weighed(words: Mapping[int, Iterable[str]]) -> dict[bytes, int]:
    """Return each term with its best weight, at most MAX_TERMS: a huge module loses outputs, not its name."""
    weighed: dict[bytes, int] = {}
    for weight in sorted(words, reverse=True):
        for text in words[weight]:
            for term in terms_of(text):
                if len(weighed) == MAX_TERMS:
                    return weighed
                weighed.setdefault(term.encode(), weight)
    return weighed


def _replace_terms(doc: SearchDoc, wanted: Mapping[bytes, int]) -> None:
    """Write only differences: the next version of a module has nearly the same words."""
    there = {bytes(row.term): row for row in SearchTerm.objects.filter(doc=doc)}
    gone = [row.pk for term, row in there.items() if wanted.get(term) != row.weight]
    SearchTerm.objects.filter(pk__in=gone).delete()
    fresh = [(term, weight) for term, weight in wanted.items() if term not in there or there[term].weight != weight]
    SearchTerm.objects.bulk_create(
        [SearchTerm(doc=doc, term=term, weight=weight) for term, weight in fresh],
        update_conflicts=True,
        unique_fields=["doc", "term"],
        update_fields=["weight"],
    )


def _replace_facets(doc: SearchDoc, wanted: set[tuple[str, str]]) -> None:
    there = {(row.facet, row.value): row.pk for row in SearchFacet.objects.filter(doc=doc)}
    SearchFacet.objects.filter(pk__in=[key for pair, key in there.items() if pair not in wanted]).delete()
    fresh = sorted(wanted - there.keys())
    SearchFacet.objects.bulk_create(
        [SearchFacet(doc=doc, facet=facet, value=value) for facet, value in fresh], ignore_conflicts=True
    )


# --- Reading ----------------------------------------------------------------------------------------------------------


def search(
    *,
    kind: str,
    namespaces: QuerySet[Namespace],
    query: str = "",
    filters: Mapping[str, str] | None = None,
    include_unlisted: bool = False,
    sort: str = RELEVANCE,
) -> QuerySet[SearchDoc]:
    """Return documents in those namespaces in which each word of the query begins a term, in a total order.

    `filters` are the name of a namespace or values of facets; empty ones are ignored. Without a query, relevance is
    the order of names.
    """
    words = words_of(query)
    rows = _matching(kind, namespaces, words, filters or {}, include_unlisted=include_unlisted)
    by_name = ("sort_key", "pk")
    if sort == UPDATED:
        return rows.order_by("-published_at", *by_name)
    if sort == DOWNLOADS:
        return rows.order_by("-downloads", *by_name)
    if sort == RELEVANCE and words:
        return rows.order_by(_closeness(words), _weight(words).desc(), "-downloads", *by_name)
    return rows.order_by(*by_name)


def facet_counts(
    *,
    kind: str,
    namespaces: QuerySet[Namespace],
    query: str = "",
    filters: Mapping[str, str] | None = None,
    include_unlisted: bool = False,
) -> dict[str, list[FacetValue]]:
    """Return for each facet its most frequent values and the number of documents that each would show.

    A facet's own filter does not apply to its own values, so that there is something to change to. The chosen value is
    always included.
    """
    words, chosen = words_of(query), filters or {}
    found: dict[str, list[FacetValue]] = {}
    for facet in FACETS:
        others = {name: value for name, value in chosen.items() if name != facet}
        rows = _matching(kind, namespaces, words, others, include_unlisted=include_unlisted)
        found[facet] = _values(rows, facet, chosen.get(facet, ""))
    return found


def hits(docs: Iterable[SearchDoc], query: str) -> dict[int, list[Hit]]:
    """Return by document why it matched: for each word of the query the whole identifier around it."""
    keys, words = [doc.pk for doc in docs], words_of(query)
    if not keys or not words:
        return {}
    places = {
        f"at_{number}": _Position("term", Value(spelling.encode(), output_field=BinaryField()))
        for number, spelling in enumerate(spelling for word in words for spelling in spellings(word))
    }
    rows = SearchTerm.objects.filter(doc__in=keys).annotate(**places)
    terms: dict[int, list[tuple[int, str]]] = {}
    anywhere = reduce(or_, (Q(**{f"{name}__gt": 0}) for name in places))
    for key, term, weight in rows.filter(anywhere).values_list("doc", "term", "weight"):
        terms.setdefault(key, []).append((weight, bytes(term).decode(errors="replace")))
    return {key: [hit for word in words if (hit := _best(word, found))] for key, found in terms.items()}


def _best(word: str, terms: list[tuple[int, str]]) -> Hit | None:
    """Return the term in the best place; if it is the end of an identifier that is indexed too, the identifier."""
    ways = spellings(word)
    matching = [(weight, term) for weight, term in terms if any(begins_a_part(way, term) for way in ways)]
    if not matching:
        return None
    place = max(weight for weight, _ in matching)
    found = [term for weight, term in matching if weight == place]
    ends = {term[position + 1 :] for term in found for position, mark in enumerate(term) if not mark.isalnum()}
    whole = [term for term in found if term not in ends]
    return Hit(word, place, min(whole, key=lambda term: (not term.startswith(tuple(ways)), len(term), term)))


def _matching(
    kind: str, namespaces: QuerySet[Namespace], words: list[str], filters: Mapping[str, str], *, include_unlisted: bool
) -> QuerySet[SearchDoc]:
    rows = SearchDoc.objects.filter(kind=kind, namespace__in=namespaces)
    if not include_unlisted:
        rows = rows.filter(is_listed=True)
    for word in words:
        rows = rows.filter(pk__in=SearchTerm.objects.filter(_begins(word)).values("doc"))
    for facet, value in filters.items():
        if value and facet == "namespace":
            rows = rows.filter(namespace__name=value)
        elif value:
            rows = rows.filter(pk__in=SearchFacet.objects.filter(facet=facet, value=value).values("doc"))
    return rows


def _begins(word: str) -> Q:
    """Match terms that begin with the word: UTF-8 has no byte FF, so they sort below word + FF."""
    ranges = (Q(term__gte=one.encode(), term__lt=one.encode() + b"\xff") for one in spellings(word))
    return reduce(or_, ranges)


def _closeness(words: list[str]) -> Case:
    """Rank 0 for the exact name, 1 for the beginning of a name, 2 for everything else."""
    names = [spelling for word in words for spelling in spellings(word)]
    exact = reduce(or_, (Q(name=name) | Q(name__startswith=f"{name}/") for name in names))
    begins = reduce(or_, (Q(name__startswith=name) for name in names))
    return Case(When(exact, then=0), When(begins, then=1), default=2, output_field=IntegerField())


def _weight(words: list[str]) -> Expression:
    heaviest = (Coalesce(Subquery(_heaviest(word)), 0) for word in words)
    return ExpressionWrapper(reduce(add, heaviest), output_field=IntegerField())


def _heaviest(word: str) -> QuerySet[SearchTerm, Any]:
    rows = SearchTerm.objects.filter(_begins(word), doc=OuterRef("pk"))
    return rows.order_by().values("doc").annotate(heaviest=Max("weight")).values("heaviest")


def _values(rows: QuerySet[SearchDoc], facet: str, chosen: str) -> list[FacetValue]:
    counted: QuerySet[Any, Any]
    if facet == "namespace":
        column, counted = "namespace__name", rows
    else:
        column, counted = "value", SearchFacet.objects.filter(facet=facet, doc__in=rows.values("pk"))
    first = Case(When(**{column: chosen}, then=0), default=1, output_field=IntegerField())
    grouped = counted.order_by().values(column).annotate(n=Count("pk")).order_by(first, "-n", _Bytewise(column))
    found = [FacetValue(value, count) for value, count in grouped.values_list(column, "n")[:MAX_FACET_VALUES]]
    if chosen and all(facet_value.value != chosen for facet_value in found):
        found.append(FacetValue(chosen, 0))
    return sorted(found, key=lambda facet_value: (-facet_value.count, facet_value.value))
