"""apps.releases.catalogue.search: what is found, in which order, and how many of each."""

from functools import partial

import pytest
from django.db import transaction

from apps.accounts.access import gate
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Namespace
from apps.releases.catalogue import indexing, search
from apps.releases.models import DownloadCount, SearchDoc, SearchFacet, SearchWord
from tests.releases.docs import add_doc
from tests.rows import for_each_row
from tests.threads import at_once

EVERYWHERE = Namespace.objects.all


def found(query="", **more):
    rows = search.search(kind="module", namespaces=EVERYWHERE(), query=query, **more)
    return [str(doc) for doc in rows.select_related("namespace")]


# --- Order: a golden list for each question ---------------------------------------------------------------------------


@pytest.fixture
def shelf(acme, pantry, hall):
    """Modules that all have something to do with vpc and subnets."""
    add_doc(acme, "network/aws", "Everything around a VPC", submodules=["vpc", "subnets"], downloads=9_000)
    inputs = ["enable_nat_gateway", "subnets"]
    add_doc(acme, "vpc/aws", "Network of an account", inputs=inputs, resources=["aws_vpc"], downloads=5)
    add_doc(pantry, "vpc/google", "Network of a project", downloads=70)
    add_doc(hall, "vpc_peering/aws", "Connects two networks", downloads=8_000)
    add_doc(hall, "my-vpc/aws", "A thin layer", downloads=7_000)
    add_doc(pantry, "cluster/aws", "Kubernetes", resources=["aws_vpc", "aws_subnet"], inputs=["vpc_id"], downloads=99)
    add_doc(pantry, "bucket/aws", "Keeps objects", outputs=["vpc_endpoint"], downloads=9_999)
    add_doc(hall, "subnets/aws", "Cuts a VPC", downloads=1)


def test_words_that_nearly_everything_has_are_ranked_by_names_and_downloads(shelf, monkeypatch):
    monkeypatch.setattr(search, "MAX_WEIGHED_TERMS", 4)
    assert found("vpc")[:5] == [
        "pantry/vpc/google",
        "acme/vpc/aws",
        "hall/vpc_peering/aws",
        "pantry/bucket/aws",  # 9,999 downloads, although only an output says so
        "acme/network/aws",
    ]
    assert found("vpc subnets") == GOLDEN["vpc subnets"], "one of the words is rare"


GOLDEN = {
    "vpc": [
        "pantry/vpc/google",  # called so; more downloads first
        "acme/vpc/aws",
        "hall/vpc_peering/aws",  # begins so
        "hall/my-vpc/aws",  # has it in its name
        "acme/network/aws",  # says so
        "hall/subnets/aws",
        "pantry/bucket/aws",  # declares it, with 9,999 downloads
        "pantry/cluster/aws",  # declares it, with 99
    ],
    "VPC aws": [
        "acme/vpc/aws",
        "hall/vpc_peering/aws",
        "hall/my-vpc/aws",
        "acme/network/aws",
        "hall/subnets/aws",
        "pantry/bucket/aws",
        "pantry/cluster/aws",
    ],
    "vpc subnets": ["hall/subnets/aws", "acme/vpc/aws", "acme/network/aws"],
    "subnets": ["hall/subnets/aws", "acme/network/aws", "acme/vpc/aws"],
    "acme/vpc/aws": ["acme/vpc/aws", "acme/network/aws"],
    "nat_gateway": ["acme/vpc/aws"],
    "nat-gateway": ["acme/vpc/aws"],
    "vpc-peering": ["hall/vpc_peering/aws"],
    "kube": ["pantry/cluster/aws"],
    "pc": [],
    "vpc nothing": [],
}


@pytest.mark.both
@for_each_row("query", list(GOLDEN))
def test_it_ranks_what_is_called_so_before_what_holds_it(shelf, query):
    assert found(query) == GOLDEN[query]


def test_a_module_of_the_name_is_above_any_number_of_hits_in_submodules(acme):
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    add_doc(acme, "first/aws", "", submodules=words, resources=words, inputs=words, downloads=10_000_000)
    add_doc(acme, "has-alpha/aws", "", outputs=words)

    assert found(" ".join(words)) == ["acme/has-alpha/aws", "acme/first/aws"]


@pytest.mark.both
def test_usage_outweighs_a_description_and_never_a_name(acme):
    add_doc(acme, "zone/aws", downloads=0)
    add_doc(acme, "zone-file/aws", downloads=0)
    add_doc(acme, "my-zone/aws", downloads=1_000)
    add_doc(acme, "mail/aws", "Mail of a zone", downloads=0)
    add_doc(acme, "web/aws", inputs=["zone_id"], downloads=999_999)
    add_doc(acme, "site/aws", inputs=["zone_id"], downloads=5_000_000_000)

    names = [address.split("/")[1] for address in found("zone")]
    assert names == ["zone", "my-zone", "zone-file", "site", "web", "mail"]


@pytest.mark.both
def test_words_that_are_one_name_find_what_is_called_so_and_what_declares_it(acme):
    add_doc(acme, "gateway/aws", "A gateway, with NAT if need be", downloads=90)
    add_doc(acme, "routes/aws", "Routes to a NAT gateway", downloads=90)
    add_doc(acme, "vpc/aws", resources=["aws_nat_gateway"], downloads=80)
    add_doc(acme, "NAT-Gateway/aws")
    add_doc(acme, "both/aws", inputs=["nat", "gateway"], downloads=10_000)

    names = [address.split("/")[1] for address in found("nat gateway")]
    assert names == ["NAT-Gateway", "gateway", "vpc", "routes", "both"]
    assert found("nat gateway module") == found("nat gateway"), "it says what is looked for"


@pytest.mark.both
def test_without_a_query_the_order_is_by_name(shelf):
    assert found()[:3] == ["acme/network/aws", "acme/vpc/aws", "hall/my-vpc/aws"]
    assert found(sort="downloads")[:2] == ["pantry/bucket/aws", "acme/network/aws"]
    assert found(sort="updated")[0] == "hall/subnets/aws"
    assert found("vpc", sort="name")[0] == "acme/network/aws"


@pytest.mark.both
def test_names_come_part_by_part_in_the_order_of_their_bytes(acme):
    for name in ("a_b/aws", "a-b/aws", "ab/aws", "a1/aws", "a/aws"):
        add_doc(acme, name)

    assert found() == [f"acme/{name}/aws" for name in ("a", "a-b", "a1", "a_b", "ab")]


# --- Filters and counts ---------------------------------------------------------------------------------------------


def test_filters_hold_together_and_what_is_yanked_is_found_only_on_demand(shelf, acme):
    add_doc(acme, "old/aws", is_listed=False)
    assert found("old") == []
    assert found("old", include_unlisted=True) == ["acme/old/aws"]
    assert found(filters={"namespace": "hall", "system": "aws"}) == [
        "hall/my-vpc/aws",
        "hall/subnets/aws",
        "hall/vpc_peering/aws",
    ]
    assert found("vpc", filters={"namespace": "pantry", "system": "google"}) == ["pantry/vpc/google"]
    assert found(filters={"provider": "hashicorp/google"}) == ["pantry/vpc/google"]
    assert found(filters={"system": "", "namespace": ""}) == found()
    assert found(filters={"system": "nowhere"}) == []


@pytest.mark.both
def test_a_facet_has_so_many_values_and_the_chosen_one(acme, monkeypatch):
    monkeypatch.setattr(search, "MAX_FACET_VALUES", 5)
    for number in range(10):
        add_doc(acme, f"part-{number}/sys{number:02}")
        add_doc(acme, f"more-{number}/sys{number:02}") if number < 7 else None

    def counts(chosen):
        return search.facet_counts(kind="module", namespaces=EVERYWHERE(), filters={"system": chosen})["system"]

    assert len(counts("")) == 5
    assert {one.count for one in counts("")} == {2}
    assert [one for one in counts("sys09") if one.value == "sys09"] == [search.FacetValue("sys09", 1)]
    assert [one for one in counts("gone") if one.value == "gone"] == [search.FacetValue("gone", 0)]


# --- Writing --------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_writing_twice_changes_nothing(acme, django_assert_num_queries):
    doc = add_doc(acme, "vpc/aws", "A network", inputs=["enable_nat_gateway"])
    before = sorted(SearchWord.objects.values_list("pk", flat=True))
    SearchDoc.objects.filter(pk=doc.pk).update(downloads=12)

    again = add_doc(acme, "vpc/aws", "A network", inputs=["enable_nat_gateway"], release=doc.release)

    assert again.pk == doc.pk
    assert sorted(SearchWord.objects.values_list("pk", flat=True)) == before
    assert SearchDoc.objects.get(pk=doc.pk).downloads == 12


def test_the_next_version_takes_words_and_facets_along_and_dropping_loses_no_downloads(acme):
    doc = add_doc(acme, "vpc/aws", "A network", inputs=["cidr"], providers=["hashicorp/aws", "random"])
    add_doc(acme, "vpc/aws", "A cidr machine", outputs=["network"], providers=["hashicorp/aws"], release=doc.release)

    terms = {bytes(row.term).decode(): row.place for row in SearchWord.objects.filter(doc=doc)}
    assert terms == {
        "vpc": indexing.NAME,
        "acme": indexing.PLACE,
        "aws": indexing.PLACE,
        "a": indexing.DESCRIPTION,
        "cidr": indexing.DESCRIPTION,
        "machine": indexing.DESCRIPTION,
        "network": indexing.OUTPUT,
    }
    assert sorted(SearchFacet.objects.values_list("facet", "value")) == [
        ("provider", "hashicorp/aws"),
        ("system", "aws"),
    ]

    DownloadCount.objects.create(release=doc.release, day="2026-01-01", client="OpenTofu 1.12.6", count=7)
    indexing.drop(kind="module", namespace=acme, name="vpc/aws")
    assert found() == []
    add_doc(acme, "vpc/aws", release=doc.release)
    assert SearchDoc.objects.get().downloads == 7


def test_a_giant_keeps_its_best_words(acme, monkeypatch):
    monkeypatch.setattr(indexing, "MAX_TERMS", 60)
    doc = add_doc(acme, "giant/aws", outputs=[f"output{number}" for number in range(70)])

    assert SearchWord.objects.filter(doc=doc).count() == indexing.MAX_TERMS
    assert found("giant") == ["acme/giant/aws"]


def test_it_says_why_something_was_found(shelf):
    docs = list(search.search(kind="module", namespaces=EVERYWHERE(), query="vpc aws"))
    why = {doc.name: [(hit.place, hit.term) for hit in hits] for doc, hits in _with_hits(docs, "vpc aws")}

    assert why["cluster/aws"] == [(indexing.RESOURCE, "aws_vpc"), (indexing.PLACE, "aws")]
    assert why["bucket/aws"] == [(indexing.OUTPUT, "vpc_endpoint"), (indexing.PLACE, "aws")]
    assert why["vpc/aws"] == [(indexing.NAME, "vpc"), (indexing.PLACE, "aws")]
    assert why["my-vpc/aws"] == [(indexing.NAME, "my-vpc"), (indexing.PLACE, "aws")]

    docs = list(search.search(kind="module", namespaces=EVERYWHERE(), query="nat"))
    assert [(doc.name, hits) for doc, hits in _with_hits(docs, "nat")] == [
        ("vpc/aws", [search.Hit("nat", indexing.INPUT, "enable_nat_gateway")])
    ], "a part is shown with the identifier it stands in"


def _with_hits(docs, query):
    hits = search.hits(docs, query)
    return [(doc, hits[doc.pk]) for doc in docs]


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_two_who_write_at_once_leave_one_document():
    namespace = Namespace.objects.create(name="acme", canonical="acme", visibility="public")
    releases = [add_doc(namespace, "seed/aws", version=f"1.{number}.0").release for number in range(2)]
    SearchDoc.objects.all().delete()

    @transaction.atomic
    def write(number):
        add_doc(namespace, "seed/aws", f"words of {number}", inputs=[f"only{number}"], release=releases[number])

    at_once(partial(write, 0), partial(write, 1))

    doc = SearchDoc.objects.get()
    last = doc.version[2]
    assert doc.description == f"words of {last}"
    assert found(f"only{last}") == ["acme/seed/aws"]
    assert found(f"only{1 - int(last)}") == []


def test_it_shows_what_the_reader_may_see(shelf, alice, bob, charlie):
    def seen(viewer):
        rows = search.search(kind="module", namespaces=gate.visible_namespaces(viewer))
        return {doc.namespace.name for doc in rows.select_related("namespace")}

    assert seen(NOBODY) == {"pantry"}
    assert seen(Viewer(charlie)) == {"pantry", "hall"}
    assert seen(Viewer(bob)) == seen(Viewer(alice)) == {"pantry", "hall", "acme"}
