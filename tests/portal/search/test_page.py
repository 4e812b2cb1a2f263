"""/search: everything in one box. What is found, and in which order, is in tests/releases/test_everything.py."""

import re
from urllib.parse import quote

import pytest

from apps.accounts.models import Membership, Team
from apps.providers import catalogue as provider_catalogue
from apps.providers.models import DocsPage
from tests import pages
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module
from tests.protocol.catalogue import INSPECTION
from tests.rows import for_each_row


@pytest.fixture
def stock(acme, pantry):
    add_module(acme, "vpc/aws", "1.0.0", summary="A network", inspection=INSPECTION, readmes={"": "Talks of peering."})
    add_module(pantry, "label/null", "0.1.0", summary="Names things")
    version = provider_version(acme, "dns", "1.0.0", key=row_of_key(acme, 1))
    DocsPage.objects.create(version=version, kind="resources", slug="record", name="dns_record")
    DocsPage.objects.create(version=version, kind="overview", slug="index", name="dns", html="<p>Needs a zonefile</p>")
    provider_catalogue.refresh(version.provider)


@pytest.mark.slow
@pytest.mark.both
@for_each_row(
    ("query", "heading", "url"),
    [
        ("vpc", "Modules", "/modules/acme/vpc/aws"),
        ("dns", "Providers", "/providers/acme/dns"),
        ("cidr", "Inputs", "/modules/acme/vpc/aws/1.0.0/inputs/cidr"),
        ("vpc_id", "Outputs", "/modules/acme/vpc/aws/1.0.0/outputs/vpc_id"),
        ("ids", "Outputs", "/modules/acme/vpc/aws/1.0.0/submodules/subnets#output_ids"),
        ("subnets", "Submodules", "/modules/acme/vpc/aws/1.0.0/submodules/subnets"),
        ("aws_vpc", "Resources", "/modules/acme/vpc/aws/1.0.0/resources"),
        ("aws_region", "Data sources", "/modules/acme/vpc/aws/1.0.0/resources"),
        ("dns_record", "Resources", "/providers/acme/dns/1.0.0/docs/resources/record"),
        ("peering", "READMEs", "/modules/acme/vpc/aws"),
        ("zonefile", "READMEs", "/providers/acme/dns"),
        ("pantry", "Namespaces", "/namespaces/pantry"),
        ("shelvers", "Teams", "/teams/shelvers"),
    ],
)
def test_a_hit_leads_to_its_place(browser_of, alice, stock, query, heading, url):
    Membership.objects.create(team=Team.objects.create(name="shelvers"), user=alice)
    browser = browser_of(alice)
    page = pages.markup_of(browser.get("/search", {"q": query}))
    section = next((one for one in page.split("<section")[1:] if f">{heading} <span" in one), "")

    assert f'href="{url}"' in section, page
    url = browser.get(url.partition("#")[0]).headers.get("Location", url)  # an input may be on any page of the list
    assert browser.get(url.partition("#")[0]).status_code == 200
    if anchor := url.partition("#")[2]:
        assert f'id="{anchor}"' in pages.markup_of(browser.get(url.partition("#")[0]))


@pytest.mark.both
def test_a_misspelled_word_is_corrected_and_the_page_says_so(client, stock):
    page = pages.markup_of(client.get("/search?q=lable"))

    assert "No results for <q>lable</q>" in page
    assert 'href="/modules/pantry/label/null"' in page


def said(browser, query):
    """The page without the query and without its one-time token."""
    markup = pages.markup_of(browser.get("/search", {"q": query}))
    return re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", markup).replace(query, "?")


def test_strangers_find_nothing_of_what_they_may_not_see(client, browser_of, charlie, stock):
    for browser in (client, browser_of(charlie)):
        for query in ("vpc", "acme", "cidr", "peering", "vcp", "shelvers"):
            assert said(browser, query) == said(browser, "qqqqqqqq"), query


def test_one_kind_has_a_page_of_its_own(client, pantry):
    for number in range(8):
        add_module(pantry, f"label{number}/null", "1.0.0")
    page = pages.markup_of(client.get("/search?q=label"))
    assert 'href="?q=label&amp;in=modules"' in page
    assert page.count('<li class="rows__item">') == 5

    every = pages.markup_of(client.get("/search?q=label&in=modules"))
    assert every.count('<li class="rows__item">') == 8
    assert "All kinds of results" in every
    assert client.get("/search?q=label&in=nonsense").status_code == 200


def test_an_empty_box_offers_places_to_go(client, browser_of, alice):
    assert 'href="/account/login/"' in pages.markup_of(client.get("/search"))
    member = pages.markup_of(browser_of(alice).get("/search"))
    assert all(f'href="{url}"' in member for url in ("/publish", "/publish/provider", "/tokens", "/releases"))


def test_a_search_asks_few_queries(browser_of, alice, stock, django_assert_max_num_queries):
    browser = browser_of(alice)
    for query in ("vpc", "acme vpc cidr", "vcp", "nothing like it"):
        with django_assert_max_num_queries(16 if query in ("vcp", "nothing like it") else 12):
            browser.get("/search", {"q": query})


HOSTILE = {
    "long": "a" * 10_240,
    "long words": "vpc " * 2_560,
    "nul": "vpc\0id",
    "only nul": "\0",
    "sql": "'; DROP TABLE releases_searchword; --",
    "like": "%_%",
    "fts": '"vpc* NEAR/2 (NOT aws)" AND col:^x OR {a b}',
    "regex": "(a+)+$ [[:alpha:]] \\d{1,9999} .*",
    "quotes": "\"''`\u00b4\u201c\u201d«",
    "html": "<script>alert(1)</script><b onload=x>",
    "emoji": "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁥󠁮󠁧󠁿 vpc🚀",
    "rtl": "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627\u202c vpc",
    "combining": "e" + "\u0301" * 500,
    "surrogate": "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    "template": "{{ 7*7 }}{% debug %}",
    "separators": "/-_--__//",
    "whitespace": " \t\r\n\u00a0\u3000",
    "many words": " ".join(f"w{n}" for n in range(500)),
}


# They ask the same search, so they take the queries in turn.
ELSEWHERE = (
    *("/search?q={}&in=inputs", "/search?in={}", "/modules?q={}", "/providers?q={}"),
    *("/search?palette=1&q={}", "/api/v1/search?q={}"),
)


@pytest.mark.slow
@pytest.mark.both
@for_each_row(("turn", "name"), enumerate(HOSTILE))
def test_a_hostile_query_has_an_answer(client, stock, turn, name):
    for url in ("/search?q={}", ELSEWHERE[turn % 6], ELSEWHERE[(turn + 3) % 6]):
        headers = {"HX-Request": "true"} if "palette" in url else {}
        answer = client.get(url.format(quote(HOSTILE[name])), headers=headers)
        assert answer.status_code == 200, url
        assert "<script>alert" not in answer.text
        assert ">49<" not in answer.text


def test_a_query_that_is_no_text_has_an_answer(client, stock):
    assert client.get("/search?q=%ff%fe%00%c0%80").status_code == 200
