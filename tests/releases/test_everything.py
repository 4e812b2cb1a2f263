"""apps.releases.catalogue.everything: what one search finds in all kinds, in which order, and that nothing leaks."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Membership, Namespace, Team, Visibility
from apps.releases.catalogue import everything, indexing
from apps.releases.catalogue.everything import GROUPS
from apps.releases.catalogue.search import indexes_in_memory
from apps.releases.models import SearchDoc, SearchGram, SearchWord
from tests.builders.archives import module_zip
from tests.releases.docs import add_doc
from tests.rows import for_each_row


@pytest.fixture
def shelf(acme, pantry, hall):
    """acme is private, pantry public, hall internal."""
    Namespace.objects.filter(pk=pantry.pk).update(description="Subnets and what lies in them")
    add_doc(acme, "vpc/aws", "Secret network", inputs=["cidr", "crown_jewels"], resources=["aws_vpc"], downloads=5_000)
    inputs, outputs = ["vpc_id", "subnet_ids", "Name"], ["subnet_arns"]
    add_doc(pantry, "subnet/aws", "Cuts a network", inputs=inputs, outputs=outputs, downloads=40)
    add_doc(pantry, "vpc/aws", "A network", inputs=["cidr", "tags"], resources=["aws_vpc", "aws_subnet"], downloads=9)
    add_doc(pantry, "subnets/google", "More of them", data_sources=["google_subnet"], submodules=["subnet"])
    add_doc(hall, "cluster/aws", "Runs things", inputs=["subnet_ids", "vpc_id"], downloads=900, readme="Uses subnets.")
    add_doc(hall, "dns", "Records", kind="provider", resources=["dns_record"], data_sources=["dns_subnet"])
    add_doc(hall, "old/aws", "A subnet", inputs=["subnet_ids"], is_listed=False)
    add_doc(hall, "prose/null", readme="# Peering\n\nSee https://example.com/secrets and join *subnetworks* 2026.")


def found(viewer, query, **more):
    answer = everything.everything(viewer, query, **more)
    return {
        group.kind: [" ".join(filter(None, [hit.name, str(hit.doc or "")])) for hit in group.hits]
        for group in answer.groups
    }


# --- What is found, and in which order --------------------------------------------------------------------------------


GOLDEN = {
    "subnet": {
        "modules": ["pantry/subnet/aws", "pantry/subnets/google"],  # called so, begins so
        "submodules": ["subnet pantry/subnets/google"],
        "resources": ["aws_subnet pantry/vpc/aws"],
        "data_sources": ["dns_subnet hall/dns", "google_subnet pantry/subnets/google"],  # the newer first
        "inputs": ["subnet_ids hall/cluster/aws", "subnet_ids pantry/subnet/aws"],  # more downloads first
        "outputs": ["subnet_arns pantry/subnet/aws"],
        "readmes": ["hall/prose/null"],
        "namespaces": ["pantry"],
    },
    "vpc_id": {"inputs": ["vpc_id hall/cluster/aws", "vpc_id pantry/subnet/aws"]},
    "vpc-id": {"inputs": ["vpc_id hall/cluster/aws", "vpc_id pantry/subnet/aws"]},
    "cluster vpc_id": {"modules": ["hall/cluster/aws"], "inputs": ["vpc_id hall/cluster/aws"]},
    "cidr tags": {"modules": ["pantry/vpc/aws"]},  # declares both
    "pantry/vpc/aws": {
        "modules": ["pantry/vpc/aws", "pantry/subnet/aws"],
        "resources": ["aws_vpc pantry/vpc/aws", "aws_subnet pantry/vpc/aws"],
        "inputs": ["vpc_id pantry/subnet/aws"],
    },
    "dns": {
        "providers": ["hall/dns"],
        "resources": ["dns_record hall/dns"],
        "data_sources": ["dns_subnet hall/dns"],
    },
    "NAME": {"inputs": ["Name pantry/subnet/aws"]},
    "peering": {"readmes": ["hall/prose/null"]},
    "secrets": {},  # in an address of the README only
    "old": {},  # yanked
    "crown_jewels": {},
    "": {},
    "%": {},
}


@pytest.mark.both
@for_each_row("query", list(GOLDEN))
def test_each_kind_is_found_the_most_exact_first(shelf, charlie, query):
    """On both databases: the lists are the same."""
    assert found(Viewer(charlie), query) == GOLDEN[query]


@pytest.mark.both
def test_of_equally_popular_ones_the_newest_is_first(pantry):
    for name, downloads in {"first": 130, "second": 140, "third": 250, "fourth": 2_000}.items():
        add_doc(pantry, f"{name}/aws", inputs=["zone"], downloads=downloads)
    last = [name.split("/")[1] for name in found(NOBODY, "zone")["inputs"]]

    assert last == ["fourth", "third", "second", "first"]
    SearchDoc.objects.filter(name="first/aws").update(published_at="2030-01-01T00:00:00Z")
    SearchDoc.objects.filter(name="third/aws").update(downloads=131)
    assert [name.split("/")[1] for name in found(NOBODY, "zone")["inputs"]] == ["fourth", "first", "third", "second"]


def test_one_group_shows_more_of_it(pantry):
    assert len(set(GROUPS)) == len(GROUPS) == 12
    for number in range(12):
        add_doc(pantry, f"part{number}/aws", inputs=["zone"])
    few = everything.everything(NOBODY, "zone").groups[0]
    many = everything.everything(NOBODY, "zone", only="inputs", limit=50).groups[0]

    assert (few.count, len(few.hits)) == (12, everything.SHOWN)
    assert (many.count, len(many.hits)) == (12, 12)
    assert found(NOBODY, "zone", only="outputs") == {}


@pytest.mark.both
@for_each_row(
    ("query", "first", "is_complete"),
    [
        ("network", {"modules": "pantry/network/aws", "inputs": "pantry/part0/aws"}, False),
        ("network aws", {"modules": "pantry/network/aws", "inputs": "pantry/part0/aws"}, False),
        ("part3 network", {"modules": "pantry/part3/aws", "inputs": "pantry/part3/aws"}, True),
        ("network nowhere", {}, True),
    ],
)
def test_a_word_that_everything_has_finds_names_and_what_is_popular(pantry, monkeypatch, query, first, is_complete):
    """The rest of the limits are those of the database; the right module must be there whatever its downloads."""
    for number in range(30):
        add_doc(pantry, f"part{number}/aws", inputs=["network"], downloads=1 << (30 - number))
    add_doc(pantry, "network/aws")
    monkeypatch.setattr(everything, "MAX_ROWS", 10)
    monkeypatch.setattr(everything, "MAX_DOCS", 5)
    answer = everything.everything(NOBODY, query)

    assert {group.kind: str(group.hits[0].doc) for group in answer.groups} == first
    assert answer.is_complete == is_complete


# --- Misspelled words -------------------------------------------------------------------------------------------------


@pytest.mark.both
@for_each_row(
    ("query", "corrected"),
    [
        ("subent", {"subent": "subnet"}),
        ("vcp", {"vcp": "vpc"}),
        ("clutser vpc_id", {"clutser": "cluster"}),
        ("aws_sbunet", {"aws_sbunet": "aws subnet"}),
        ("patnry", {"patnry": "pantry"}),
        ("netwrok cidr", {"netwrok": "network"}),
        ("subnet", {}),
        ("crwon_jewels", {}),  # of a private namespace
        ("zzzzzz", {}),
        ("subnet zzzzzz", {}),
    ],
)
def test_a_misspelled_word_is_read_as_the_nearest_one(shelf, charlie, query, corrected):
    answer = everything.everything(Viewer(charlie), query)

    assert answer.corrected == corrected
    assert bool(answer.groups) == bool(corrected or query == "subnet")


# --- Hidden things ----------------------------------------------------------------------------------------------------


PROBES = (
    *("crown_jewels", "crwon_jewels", "crown", "jewels", "secret", "secert", "acme", "acem", "vpc", "aws", "network"),
    *("subnet", "vpc crown_jewels", "acme/vpc/aws", "crew", "cerw", "guild", "sealed"),
)


@pytest.mark.both
def test_hidden_things_change_nothing_that_a_stranger_sees(shelf, acme, charlie, alice, monkeypatch):
    """Not hits, order, counts, corrections, whether there is more, or how many queries are sent."""
    monkeypatch.setattr(everything, "MAX_ROWS", 6)
    monkeypatch.setattr(everything, "MAX_DOCS", 3)

    def look(viewer):
        seen = {}
        for query in PROBES:
            with CaptureQueriesContext(connection) as asked:
                answer = everything.everything(viewer, query)
            seen[query] = (answer, len(asked))
        return seen

    before = [look(NOBODY), look(Viewer(charlie))]
    crew = Team.objects.create(name="crew", description="The guild")
    Membership.objects.create(team=crew, user=alice)
    for number in range(20):
        words = ["crown_jewels", "sealed", "vpc", "network", "subnet_ids", "cerw"]
        add_doc(acme, f"crown{number}/aws", "Secret network", inputs=words, readme="guild subnets", downloads=10_000)
    sealed = Namespace.objects.create(name="crown", canonical="crown", description="sealed", visibility="private")
    add_doc(sealed, "crwon/aws", inputs=["acem", "secert"])

    assert [look(NOBODY), look(Viewer(charlie))] == before
    assert "teams" in found(Viewer(alice), "crew")
    assert "crown_jewels" in " ".join(found(Viewer(alice), "crown_jewels")["inputs"])
    Namespace.objects.filter(pk=acme.pk).update(visibility=Visibility.INTERNAL)
    assert found(Viewer(charlie), "crown_jewels")["inputs"], "that counts at once"
    assert found(NOBODY, "crown_jewels") == {}


@pytest.mark.needs("on SQLite")
def test_a_query_reads_a_range_of_the_index_in_each_namespace(shelf, charlie, monkeypatch):
    """So rows of others are not even looked at, and a word that everything has costs no more than others.

    PostgreSQL reads a table of few rows whole.
    """
    monkeypatch.setattr(everything, "MAX_ROWS", 1)
    with CaptureQueriesContext(connection) as asked:
        everything.everything(Viewer(charlie), "subnet vpc")
        everything.everything(Viewer(charlie), "sbunet")
    plans = []
    for query in asked.captured_queries:
        if "searchword" in query["sql"] or "searchgram" in query["sql"]:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
                plans += [
                    row[3] for row in cursor.fetchall() if "releases_search" in row[3] and "searchdoc" not in row[3]
                ]

    ranges = ("(namespace_id=? AND is_name=? AND term>? AND term<?)", "(doc_id=? AND term>? AND term<?)")
    assert {found for plan in plans for found in ranges if plan.endswith(found)} == set(ranges)
    assert [plan for plan in plans if not plan.endswith((*ranges, "(namespace_id=? AND gram=?)"))] == []


@pytest.mark.both
def test_misspelled_words_are_looked_up_in_hundreds_of_namespaces(db):
    """PostgreSQL would read all trigrams of all namespaces instead: 12 ms for each word, for 88,000 of them."""
    spaces = [Namespace(name=f"n{at}", canonical=f"n{at}", visibility=Visibility.PUBLIC) for at in range(250)]
    spaces = Namespace.objects.bulk_create(spaces)
    words = [(f"{at:03}".encode(), b"w%d" % at) for at in range(120)]
    rows = (SearchGram(namespace=space, gram=gram, word=word) for space in spaces for gram, word in words)
    SearchGram.objects.bulk_create(rows, batch_size=5_000)
    with connection.cursor() as cursor, CaptureQueriesContext(connection) as asked:
        cursor.execute("ANALYZE releases_searchgram")
        everything.everything(NOBODY, "netwrok")
    [sql] = [query["sql"] for query in asked.captured_queries if "COUNT(DISTINCT" in query["sql"]]
    is_postgres = connection.vendor == "postgresql"
    with connection.cursor() as cursor, indexes_in_memory():
        cursor.execute(f"EXPLAIN {'' if is_postgres else 'QUERY PLAN '}{sql}")
        plan = str(cursor.fetchall())

    assert ("Scan using releases_grams_once" if is_postgres else "(namespace_id=? AND gram=?)") in plan


# --- Filling the index ------------------------------------------------------------------------------------------------


def test_what_an_older_larder_published_is_indexed_again(published):
    from apps.releases.tasks import index_search

    published("pantry/vpc/aws", "1.0.0", module_zip({"main.tf": 'variable "cidr" {\n  type = string\n}\n'}))
    words = set(SearchWord.objects.values_list("term", "place", "name", "unit"))
    for run in (index_search, lambda: call_command("index_search"), lambda: call_command("index_search", "--all")):
        SearchWord.objects.all().delete()
        SearchGram.objects.all().delete()
        SearchDoc.objects.update(indexed_release=None)
        assert found(NOBODY, "cidr") == {}
        run()
        assert found(NOBODY, "cidr") == {"inputs": ["cidr pantry/vpc/aws"]}
        assert set(SearchWord.objects.values_list("term", "place", "name", "unit")) == words
    call_command("index_search")  # nothing is left


def test_words_come_and_go_with_versions(pantry):
    doc = add_doc(pantry, "vpc/aws", inputs=["cidr", "zone"])
    add_doc(pantry, "vpc/aws", inputs=["zone", "region"], release=doc.release)

    assert [name for name in ("cidr", "zone", "region") if found(NOBODY, name)] == ["zone", "region"]
    indexing.drop(kind="module", namespace=pantry, name="vpc/aws")
    assert not SearchWord.objects.exists()
