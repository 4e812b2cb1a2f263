"""/modules"""

import re

import pytest

from tests.portal.rows import add_module, add_modules


def listed(response):
    return re.findall(r'<a href="/modules/([^"/]+/[^"/]+/[^"/]+)">', response.content.decode())


@pytest.fixture
def stock(acme, pantry, hall):
    add_module(acme, "vpc/aws", "1.0.0", "2.0.0-rc.1")
    add_module(acme, "vpc/google", "1.0.0")
    add_module(pantry, "label/null", "0.1.0")
    add_module(hall, "dns_zone/aws", "3.0.0")


@pytest.mark.parametrize(
    ("who", "addresses"),
    [
        (None, ["pantry/label/null"]),
        ("charlie", ["hall/dns_zone/aws", "pantry/label/null"]),
        ("bob", ["acme/vpc/aws", "acme/vpc/google", "hall/dns_zone/aws", "pantry/label/null"]),
        ("olga", ["acme/vpc/aws", "acme/vpc/google", "hall/dns_zone/aws", "pantry/label/null"]),
    ],
)
def test_it_lists_what_somebody_may_see(request, browser_of, stock, who, addresses):
    user = request.getfixturevalue(who) if who else None
    assert listed(browser_of(user).get("/modules")) == addresses


@pytest.mark.parametrize(
    ("query", "addresses"),
    [
        ("q=vpc", ["acme/vpc/aws", "acme/vpc/google"]),
        ("q=VPC+google", ["acme/vpc/google"]),
        ("q=acme/vpc/aws", ["acme/vpc/aws"]),
        ("system=aws", ["acme/vpc/aws", "hall/dns_zone/aws"]),
        ("namespace=hall&system=aws", ["hall/dns_zone/aws"]),
        ("q=nothing-like-it", []),
        ("q=%00", ["acme/vpc/aws", "acme/vpc/google", "hall/dns_zone/aws", "pantry/label/null"]),
    ],
)
def test_it_filters(browser_of, bob, stock, query, addresses):
    assert listed(browser_of(bob).get(f"/modules?{query}")) == addresses


def test_it_sorts_by_the_last_publication(browser_of, bob, acme, published):
    add_module(acme, "zebra/aws", "1.0.0")
    add_module(acme, "newest/aws", *[f"1.{minor}.0" for minor in range(5)])

    assert listed(browser_of(bob).get("/modules?sort=updated")) == ["acme/newest/aws", "acme/zebra/aws"]


def test_it_shows_the_highest_stable_version(browser_of, bob, stock):
    page = browser_of(bob).get("/modules?q=vpc/aws").content.decode()

    assert "1.0.0" in page
    assert "2.0.0-rc.1" not in page


def test_it_keeps_the_filter_from_page_to_page(browser_of, bob, acme):
    add_modules(acme, [f"part-{position:02}/aws" for position in range(31)])
    browser = browser_of(bob)

    assert "?q=part&amp;page=2" in browser.get("/modules?q=part").content.decode()
    assert listed(browser.get("/modules?q=part&page=2")) == ["acme/part-30/aws"]
    assert listed(browser.get("/modules?q=part&page=99")) == ["acme/part-30/aws"]


@pytest.mark.parametrize(
    ("who", "query", "sentence"),
    [
        (None, "", "No public modules"),
        ("charlie", "", "No modules yet"),
        ("charlie", "?q=vpc", "No module matches"),
    ],
)
def test_an_empty_list_names_the_next_step(request, browser_of, db, who, query, sentence):
    user = request.getfixturevalue(who) if who else None
    assert sentence in browser_of(user).get(f"/modules{query}").content.decode()


@pytest.mark.parametrize("count", [10, 300])
def test_it_costs_the_same_at_any_size(browser_of, bob, acme, django_assert_max_num_queries, count):
    add_modules(acme, [f"part-{position}/aws" for position in range(count)])
    browser = browser_of(bob)

    with django_assert_max_num_queries(6):
        assert browser.get("/modules").status_code == 200
