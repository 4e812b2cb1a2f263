"""Write the search index: one document per module or provider, its words, what is declared in it, and its filters.

Documents that a defect or an older Larder left outdated are rebuilt. The doors of the kinds name the refreshers.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet, Sum

from apps.accounts.models import Namespace
from apps.lib import versions
from apps.lib.process.progress import Progress
from apps.lib.text.search_terms import prose_words, simple_words, terms_of
from apps.lib.text.spelling import ONE_EDIT, grams
from apps.releases.models import DownloadCount, Release, SearchDoc, SearchFacet, SearchGram, SearchWord

# Where a word is, the better place as the greater number; `ranking` says what each costs.
NAME = 10_000
PLACE = 1_200
DESCRIPTION = 140
SUBMODULE = 16
FUNCTION = 7
EPHEMERAL = 6
RESOURCE = 5
DATA_SOURCE = 4
INPUT = 3
OUTPUT = 2
README = 1
DECLARED = (SUBMODULE, FUNCTION, EPHEMERAL, RESOURCE, DATA_SOURCE, INPUT, OUTPUT)

MAX_TERMS = 6_000
MAX_README_WORDS = 300
BATCH_SIZE = 500
MAX_PARAMETERS = 10_000
Refresh = Callable[[Release], None]
refreshers: dict[str, Refresh] = {}


@dataclass(frozen=True, slots=True)
class RoomFacet:
    """A filter that a room adds to the lists, and an order: `values` are those that documents can have, the first ones
    first. `value_of` returns that of a release, or "". `help` is a sentence for the API.
    """

    name: str
    label: str
    values: tuple[str, ...]
    value_of: Callable[[Release], str]
    help: str = ""


# By registry_site/wiring.py.
room_facets: tuple[RoomFacet, ...] = ()
DOCS_BATCH_SIZE = 100


@dataclass(frozen=True, slots=True)
class Item:
    """Something that a module declares or a provider documents. `unit` is the folder, or the docs page (kind/slug)."""

    place: int
    name: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """The searchable content of a module or provider; `words` are texts by place, `readme` is Markdown or text."""

    description: str
    words: Mapping[int, Iterable[str]]
    items: Iterable[Item] = ()
    readme: str = ""
    facets: Mapping[str, Iterable[str]] = field(default_factory=dict)


Key = tuple[bytes, int, str]  # term, place, whole name


@transaction.atomic
def put(*, release: Release, entry: Entry, is_listed: bool) -> SearchDoc:
    """Write the document of a module or provider whose default version is `release`. Safe to repeat.

    The row is locked until the transaction ends, so the last writer's words win.
    """
    where: dict[str, Any] = {"kind": release.kind, "namespace": release.namespace, "name": release.name}
    shown = {
        "sort_key": sort_key(release.namespace.name, release.name),
        "release": release,
        "description": entry.description[:300],
        "version": release.version,
        "lifecycle": release.lifecycle,
        "is_prerelease": versions.parse(release.version).is_prerelease,
        "is_listed": is_listed,
        "published_at": release.published_at,
        "indexed_release": release.pk,
    }
    doc, created = SearchDoc.objects.update_or_create(**where, defaults=shown)
    if created:  # it may have had a document before, and downloads are never reset
        fetched = DownloadCount.objects.filter(release__in=Release.objects.filter(**where)).aggregate(n=Sum("count"))[
            "n"
        ]
        SearchDoc.objects.filter(pk=doc.pk).update(downloads=fetched or 0)
    index_words(doc, entry)
    put_facets(doc, {**entry.facets, **{one.name: [one.value_of(release)] for one in room_facets}})
    return doc


def put_facets(doc: SearchDoc, given: Mapping[str, Iterable[str]], *, only: Collection[str] | None = None) -> None:
    """Write those of the document; with `only` those of these facets, and no other changes."""
    facets = {(facet, value[:200]) for facet, values in given.items() for value in values if value}
    rows = SearchFacet.objects.filter(doc=doc, **({} if only is None else {"facet__in": only}))
    there = {(row.facet, row.value): row.pk for row in rows}
    SearchFacet.objects.filter(pk__in=[key for pair, key in there.items() if pair not in facets]).delete()
    fresh = sorted(facets - there.keys())
    SearchFacet.objects.bulk_create(
        [SearchFacet(doc=doc, facet=facet, value=value) for facet, value in fresh], ignore_conflicts=True
    )


def refresh_facet(name: str, release: Release) -> None:
    """Write a room's facet again where the release is the version that lists show."""
    doc = SearchDoc.objects.filter(kind=release.kind, namespace=release.namespace_id, release=release).first()
    facet = next((one for one in room_facets if one.name == name), None)
    if doc is not None and facet is not None:
        put_facets(doc, {name: [facet.value_of(release)]}, only=[name])


def sort_key(namespace: str, name: str) -> bytes:
    """Return bytes that sort by the parts of the address, `vpc` before `vpc-b`, ignoring letter case."""
    return f"{namespace}/{name}".lower().replace("/", "\0").encode()


def drop(*, kind: str, namespace: Namespace, name: str) -> None:
    """Delete the document of a module or provider without readable versions."""
    SearchDoc.objects.filter(kind=kind, namespace=namespace, name=name).delete()


def _words(entry: Entry) -> Iterator[tuple[Key, str]]:
    """Each row with its unit, the best first: a huge module loses words of its README and parts of names."""
    seen: set[Key] = set()
    terms: set[bytes] = set()
    for text, item in _candidates(entry):
        term = text.encode()
        key = (term, item.place, item.name.replace("\0", "")[:200])
        if key in seen or (term in terms and item.place not in DECLARED):
            continue
        seen.add(key)
        terms.add(term)
        yield key, item.unit[:300]


def _candidates(entry: Entry) -> Iterator[tuple[str, Item]]:
    """Terms: of the thing itself, whole names of what it declares, their parts, and prose."""
    for place in sorted(entry.words, reverse=True):
        for text in entry.words[place]:
            item = Item(place, "" if place == DESCRIPTION else text)
            yield from ((term, item) for term in terms_of(text))
    declared = [(list(terms_of(item.name)), item) for item in entry.items]
    yield from ((term, item) for found, item in declared for term in found[:1])
    yield from ((term, item) for found, item in declared for term in found[1:])
    found: set[str] = set()
    for word in prose_words(entry.readme):  # no further than is wanted: READMEs may have megabytes
        if len(found) == MAX_README_WORDS:
            return
        if word not in found:
            found.add(word)
            yield word, Item(README, "")


def index_words(doc: SearchDoc, entry: Entry) -> None:
    """Write only differences: the next version of a module has nearly the same words."""
    wanted = dict(islice(_words(entry), MAX_TERMS))
    there = {}
    for row in SearchWord.objects.filter(doc=doc).values_list("pk", "term", "place", "name", "unit"):
        there[bytes(row[1]), row[2], row[3]] = (row[0], row[4])
    gone = [pk for key, (pk, unit) in there.items() if wanted.get(key) != unit]
    for start in range(0, len(gone), BATCH_SIZE):
        SearchWord.objects.filter(pk__in=gone[start : start + BATCH_SIZE]).delete()
    fresh = [(key, unit) for key, unit in wanted.items() if key not in there or there[key][1] != unit]
    rows = [(doc.namespace_id, doc.pk, place == NAME, term, place, name, unit) for (term, place, name), unit in fresh]
    _insert("releases_searchword (namespace_id, doc_id, is_name, term, place, name, unit)", rows)
    spelled = {word for (term, place, _), _ in fresh if place != README for word in simple_words(term.decode())}
    # In one order for everybody, so that two publishes of the same words do not wait for each other in a circle.
    pairs = sorted((gram.encode(), word.encode()) for word in spelled if len(word) >= ONE_EDIT for gram in grams(word))
    _insert("releases_searchgram (namespace_id, gram, word)", [(doc.namespace_id, gram, word) for gram, word in pairs])


def _insert(into: str, rows: Sequence[tuple[bytes | int | str, ...]]) -> None:
    """Insert what is not there. Not bulk_create: ten thousand objects take longer than the publish around them."""
    if not rows:
        return
    width = len(rows[0])
    values = f"({', '.join(['%s'] * width)})"
    size = min(BATCH_SIZE, (connection.features.max_query_params or MAX_PARAMETERS) // width)
    with connection.cursor() as cursor:
        for start in range(0, len(rows), size):
            batch = rows[start : start + size]
            sql = f"INSERT INTO {into} VALUES {', '.join([values] * len(batch))} ON CONFLICT DO NOTHING"  # noqa: S608  # our own names
            cursor.execute(sql, [value for row in batch for value in row])


@transaction.atomic
def rebuild(doc: SearchDoc) -> None:
    """Rebuild the document, or drop it if its subject is gone."""
    try:
        refreshers[doc.kind](doc.release)
    except ObjectDoesNotExist:
        drop(kind=doc.kind, namespace=doc.namespace, name=doc.name)


def outdated() -> QuerySet[SearchDoc]:
    """Documents whose words an older Larder wrote."""
    return SearchDoc.objects.filter(Q(indexed_release=None) | ~Q(indexed_release=F("release")))


def rebuild_outdated() -> int:
    """Rebuild one batch of them; return how many."""
    docs = outdated().order_by("pk").select_related("namespace", "release__namespace")
    count = 0
    for doc in docs[:DOCS_BATCH_SIZE]:
        rebuild(doc)
        count += 1
    return count


def rebuild_all_outdated() -> int:
    progress = Progress("indexed modules and providers", outdated().count())
    while count := rebuild_outdated():
        progress.add(count)
    return progress.done


def rebuild_all() -> int:
    """Rebuild every document, and drop the spellings of words that no document has now."""
    SearchGram.objects.all().delete()
    SearchWord.objects.all().delete()
    SearchDoc.objects.update(indexed_release=None)
    return rebuild_all_outdated()
