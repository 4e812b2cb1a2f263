"""Totals and facets equal a count by hand, for everybody and for every filter."""

import random
from collections import Counter
from itertools import cycle, product
from typing import Any

import pytest

from apps.accounts.access import gate
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Grant
from apps.releases.catalogue import search
from tests.releases.docs import add_doc
from tests.rows import for_each_row

SYSTEMS = ["aws", "google", "null"]
PROVIDERS = ["hashicorp/aws", "hashicorp/google", "hashicorp/random", "tls"]
INPUTS = ["cidr", "enable_nat_gateway", "tags", "subnet_ids", "Name"]
QUERIES = [[], ["nat"], ["cidr", "aws"], ["name"], ["nothing"]]
FILTERS = [
    {},
    {"system": "aws"},
    {"provider": "tls"},
    {"namespace": "pantry"},
    {"system": "google", "provider": "hashicorp/random"},
    {"namespace": "acme", "system": "null", "provider": "hashicorp/aws"},
    {"namespace": "nowhere"},
]


LIMITS = ("MAX_WEIGHED_TERMS", "MAX_WORD_ROWS", "MAX_NAMED_DOCS", "MAX_PLANNED_KEYS")
# The number of places that a word may have before it is looked for in another way: the figures are the same.
FREQUENCIES = {
    "rare": (2_000, 10_000, 20_000, 1_000),
    "in many rows": (3, 10_000, 20_000, 1),
    "in most documents": (3, 3, 20_000, 1),
    "in too many to name": (3, 3, 2, 1),
}


@pytest.fixture
def sixty(acme, pantry, hall):
    """Modules as plain data, each a row as well."""
    dice, made = random.Random(7), []
    for number in range(60):
        namespace, system = dice.choice([acme, pantry, hall]), dice.choice(SYSTEMS)
        one = {
            "namespace": namespace.name,
            "system": {system},
            "provider": set(dice.sample(PROVIDERS, dice.randint(0, 3))),
            "inputs": dice.sample(INPUTS, dice.randint(0, 4)),
            "listed": dice.random() > 0.2,
            "address": f"{namespace.name}/part{number}/{system}",
        }
        path_name = f"part{number}/{system}"
        add_doc(namespace, path_name, inputs=one["inputs"], providers=one["provider"], is_listed=one["listed"])
        made.append(one)
    return made


def holds(one, word):
    """By hand: whether any part of any of its names begins so."""
    texts = [*one["inputs"], *one["address"].split("/")]
    parts = [part for text in texts for part in [text, *text.split("_")]]
    return any(part.lower().startswith(word) for part in parts)


def by_hand(sixty, seen, words, filters, *, unlisted):
    return [
        one
        for one in sixty
        if one["namespace"] in seen
        and (unlisted or one["listed"])
        and all(holds(one, word) for word in words)
        and all(value in ({one[facet]} if facet == "namespace" else one[facet]) for facet, value in filters.items())
    ]


def viewers(alice, bob, charlie):
    return [
        (Viewer(alice), {"acme", "pantry", "hall"}),
        (Viewer(bob), {"acme", "pantry", "hall"}),
        (Viewer(charlie), {"pantry", "hall"}),
        (NOBODY, {"pantry"}),
    ]


@pytest.mark.both
@pytest.mark.slow
@for_each_row("frequency", FREQUENCIES)
def test_counts_equal_those_by_hand(sixty, acme, alice, bob, charlie, monkeypatch, frequency):
    """Each query with each filter, by the viewers in turn."""
    for name, limit in zip(LIMITS, FREQUENCIES[frequency], strict=True):
        monkeypatch.setattr(search, name, limit)
    asking = cycle(viewers(alice, bob, charlie))
    for unlisted, words, filters in product((False, True), QUERIES, FILTERS):
        viewer, seen = next(asking)
        asked: dict[str, Any] = {
            "kind": "module",
            "namespaces": gate.visible_namespaces(viewer),
            "query": " ".join(words),
            "filters": filters,
            "include_unlisted": unlisted,
        }
        expected = by_hand(sixty, seen, words, filters, unlisted=unlisted)
        rows = search.search(**asked)
        assert rows.count() == len(expected), asked
        assert {str(doc) for doc in rows.select_related("namespace")} == {one["address"] for one in expected}
        _compare_facets(search.facet_counts(**asked), sixty, seen, words, filters, unlisted)

    Grant.objects.create(namespace=acme, user=charlie, role=1)  # which counts at once
    found = search.search(kind="module", namespaces=gate.visible_namespaces(Viewer(charlie)))
    assert found.count() == len([one for one in sixty if one["listed"]])


def _compare_facets(found, sixty, seen, words, filters, unlisted):
    for facet, values in found.items():
        others = {name: value for name, value in filters.items() if name != facet}
        rest = by_hand(sixty, seen, words, others, unlisted=unlisted)
        counted = Counter(
            one[facet] if facet == "namespace" else value for one in rest for value in _values(one, facet)
        )
        if facet in filters:
            counted.setdefault(filters[facet], 0)
        assert {one.value: one.count for one in values} == dict(counted), (facet, filters)


def _values(one, facet):
    return [one["namespace"]] if facet == "namespace" else one.get(facet, [])  # a room's has none
