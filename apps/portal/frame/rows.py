"""Modules and providers as rows of a list, without their versions."""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.portal.frame.page_urls import Address
from apps.releases.catalogue import indexing, marks, search
from apps.releases.catalogue.marks import Mark
from apps.releases.models import Kind, SearchDoc

# Matches that the row itself does not show, with the words for their kind.
HIDDEN_PLACES = {
    indexing.SUBMODULE: "submodule",
    indexing.RESOURCE: "resource",
    indexing.DATA_SOURCE: "data source",
    indexing.EPHEMERAL: "ephemeral resource",
    indexing.FUNCTION: "function",
    indexing.INPUT: "input",
    indexing.OUTPUT: "output",
}


@dataclass(frozen=True, slots=True)
class Why:
    """The reason for a hit that the row would not show otherwise: input `enable_nat_gateway`."""

    what: str
    term: str


@dataclass(frozen=True, slots=True)
class Row:
    doc: SearchDoc
    address: Address
    words: tuple[str, ...] = ()
    why: tuple[Why, ...] = ()
    marks: tuple[Mark, ...] = ()


def rows_of(docs: Iterable[SearchDoc], query: str = "") -> list[Row]:
    """For entries loaded with their namespaces. One more query if there are search words."""
    shown, words = list(docs), tuple(search.asked_words(query))
    hits = search.hits(shown, query) if words else {}
    said = marks.of(doc.release_id for doc in shown)
    rows = []
    for doc in shown:
        why = (Why(HIDDEN_PLACES[hit.place], hit.term) for hit in hits.get(doc.pk, []) if hit.place in HIDDEN_PLACES)
        rows.append(Row(doc, address_of(doc), words, tuple(dict.fromkeys(why)), tuple(said[doc.release_id])))
    return rows


def plain_rows_of(docs: Iterable[SearchDoc]) -> list[Row]:
    """For short lists that show no words of a search and nothing of rooms: no query."""
    return [Row(doc, address_of(doc)) for doc in docs]


def address_of(doc: SearchDoc) -> Address:
    return address_named(doc.kind, doc.namespace.name, doc.name)


def address_named(kind: str, namespace: str, name: str) -> Address:
    """From a name as releases and search entries store it: `vpc/aws`, or `dns` of a provider."""
    if kind == Kind.PROVIDER:
        return ProviderAddress(namespace, name)
    return ModuleAddress(namespace, *name.split("/"))
