"""/modules. What is found, and in which order, is in tests/releases/test_search.py; for /search see portal/search."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import Grant, Membership, Role, Team
from apps.modules.catalogue import entries
from apps.modules.models import Module
from apps.releases.models import Lifecycle, Release, SearchDoc
from tests import pages
from tests.portal.rows import add_module, add_modules
from tests.rows import for_each_row


def listed(response):
    return re.findall(r'<a href="/modules/([^"/]+/[^"/]+/[^"/]+)">', pages.markup_of(response))


def unit(**parts):
    names = ("variables", "outputs", "resources", "providers", "calls", "warnings")
    return {"units": [{"path": "", "kind": "root", "name": "", **{name: [] for name in names}, **parts}]}


NAT = unit(
    variables=[{"name": "enable_nat_gateway"}],
    providers=[{"name": "aws", "source": "hashicorp/aws"}],
)


def yank(module, *numbers):
    rows = Release.objects.filter(namespace=module.namespace, name=f"{module.name}/{module.system}")
    rows.filter(version__in=numbers).update(lifecycle=Lifecycle.YANKED, lifecycle_reason="wrong")
    entries.refresh(module)


@pytest.fixture
def stock(acme, pantry, hall):
    add_module(acme, "vpc/aws", "1.0.0", "2.0.0-rc.1", summary="A network with subnets", inspection=NAT)
    add_module(acme, "vpc/google", "1.0.0")
    add_module(pantry, "label/null", "0.1.0")
    add_module(hall, "dns_zone/aws", "3.0.0")
    yank(add_module(hall, "old_zone/aws", "1.0.0"), "1.0.0")


def test_it_lists_what_somebody_may_see(browser_of, bob, charlie, stock):
    seen = {
        None: ["pantry/label/null"],
        charlie: ["hall/dns_zone/aws", "pantry/label/null"],
        bob: ["acme/vpc/aws", "acme/vpc/google", "hall/dns_zone/aws", "pantry/label/null"],
    }
    for user, addresses in seen.items():
        assert listed(browser_of(user).get("/modules")) == addresses, user


@pytest.mark.both
@for_each_row(
    ("query", "addresses"),
    [
        ("q=vpc", ["acme/vpc/aws", "acme/vpc/google"]),
        ("q=VPC+google", ["acme/vpc/google"]),
        ("q=acme/vpc/aws", ["acme/vpc/aws"]),
        ("q=nat_gateway", ["acme/vpc/aws"]),
        ("system=aws", ["acme/vpc/aws", "hall/dns_zone/aws"]),
        ("system=aws&yanked=1", ["acme/vpc/aws", "hall/dns_zone/aws", "hall/old_zone/aws"]),
        ("provider=hashicorp/aws", ["acme/vpc/aws"]),
        ("namespace=hall&system=aws", ["hall/dns_zone/aws"]),
        ("namespace=nowhere", []),
        ("q=nothing-like-it", []),
        ("q=%00", ["acme/vpc/aws", "acme/vpc/google", "hall/dns_zone/aws", "pantry/label/null"]),
        ("system=%00aws&sort=sideways&page=x", ["acme/vpc/aws", "hall/dns_zone/aws"]),
    ],
)
def test_it_filters(browser_of, bob, stock, query, addresses):
    assert listed(browser_of(bob).get(f"/modules?{query}")) == addresses


def test_it_shows_the_highest_stable_version_that_is_not_yanked_and_sorts_by_its_publication(browser_of, bob, acme):
    yank(add_module(acme, "vpc/aws", "1.0.0", "1.1.0", "2.0.0-rc.1"), "1.1.0")
    add_module(acme, "newest/aws", *[f"1.{minor}.0" for minor in range(5)])
    browser = browser_of(bob)
    page = pages.markup_of(browser.get("/modules?q=vpc/aws"))

    assert "1.0.0" in page
    assert "1.1.0" not in page
    assert "2.0.0-rc.1" not in page
    assert listed(browser.get("/modules?sort=updated")) == ["acme/newest/aws", "acme/vpc/aws"]


@for_each_row(
    ("numbers", "lifecycle", "query", "badge"),
    [
        (["1.0.0"], "maintained", "", None),
        (["1.0.0"], "deprecated", "", "Deprecated"),
        (["1.0.0-beta.1"], "maintained", "", "Pre-release"),
        (["1.0.0"], "yanked", "?yanked=1", "Yanked"),
    ],
)
def test_a_row_says_what_its_version_is(browser_of, bob, acme, numbers, lifecycle, query, badge):
    module = add_module(acme, "vpc/aws", *numbers)
    Release.objects.update(lifecycle=lifecycle)
    entries.refresh(module)
    row = pages.markup_of(browser_of(bob).get(f"/modules{query}")).partition('class="rows"')[2].partition("</ul>")[0]

    found = [word for word in ("Deprecated", "Pre-release", "Yanked") if word in row]
    assert found == ([badge] if badge else [])


def test_it_marks_what_was_searched_for_and_says_why(browser_of, bob, stock, acme):
    page = pages.markup_of(browser_of(bob).get("/modules?q=net+nat"))

    assert "A <mark>net</mark>work with subnets" in page
    assert "input <code>enable_<mark>nat</mark>_gateway</code>" in page
    add_module(acme, "odd/aws", summary="<script>alert(1)</script> & more")
    page = pages.markup_of(browser_of(bob).get("/modules?q=script+more"))
    assert "&lt;<mark>script</mark>&gt;alert(1)" in page
    assert "&amp; <mark>more</mark>" in page


def test_filters_say_how_many_there_are(browser_of, bob, stock):
    page = pages.markup_of(browser_of(bob).get("/modules?system=aws"))

    assert '<option value="aws" selected>aws (2)</option>' in page
    assert '<option value="google">google (1)</option>' in page  # what choosing it instead would show
    assert '<option value="acme">acme (1)</option>' in page
    assert '<option value="hashicorp/aws">hashicorp/aws (1)</option>' in page


def test_it_keeps_the_filter_from_page_to_page(browser_of, bob, acme, monkeypatch):
    monkeypatch.setattr("apps.portal.search.lists.PAGE", 3)
    add_modules(acme, [f"part-{position}/aws" for position in range(4)])
    browser = browser_of(bob)

    assert "?q=part&amp;page=2" in pages.markup_of(browser.get("/modules?q=part"))
    assert listed(browser.get("/modules?q=part&page=2")) == ["acme/part-3/aws"]
    assert listed(browser.get("/modules?q=part&page=99")) == ["acme/part-3/aws"]


def test_htmx_gets_the_results_without_the_page(browser_of, bob, stock):
    response = browser_of(bob).get("/modules?q=vpc", headers={"HX-Request": "true"})
    page = pages.markup_of(response)

    assert listed(response) == ["acme/vpc/aws", "acme/vpc/google"]
    assert "HX-Request" in response["Vary"]
    assert "<title>vpc - Modules - Larder</title>" in page
    assert '<p id="result-count" hx-swap-oob="innerHTML">2 modules found' in page
    assert "<body" not in page
    assert "<form" not in page


def test_an_empty_list_names_the_next_step(client, browser_of, charlie):
    browser = browser_of(charlie)
    for who, query, sentence in (
        (client, "", "No public modules"),
        (client, "?q=vpc", "Sign in to see more"),
        (browser, "", "No modules yet"),
        (browser, "?q=vpc", "No modules match"),
    ):
        assert sentence in pages.markup_of(who.get(f"/modules{query}"))


def test_an_empty_list_offers_what_would_find_something(browser_of, bob, stock):
    browser = browser_of(bob)

    assert 'href="?q=old_zone&amp;yanked=1"' in pages.markup_of(browser.get("/modules?q=old_zone"))
    page = pages.markup_of(browser.get("/modules?q=vpc&system=null"))
    assert "Show 2 without filters" in page
    assert 'href="?q=vpc"' in page
    assert "yanked" not in page.partition('class="empty"')[2].partition("</main>")[0]
    assert pages.queries_of(browser, "/modules?q=nothing&system=aws&namespace=acme") <= 12


def test_it_costs_the_same_at_any_size(browser_of, bob, acme, monkeypatch):
    monkeypatch.setattr("apps.portal.search.lists.PAGE", 5)
    browser = browser_of(bob)
    queries = ("", "?q=part", "?q=part&system=aws&namespace=acme&sort=updated&yanked=1")
    add_modules(acme, [f"part-{position}/aws" for position in range(3)], inspection=NAT)
    few = [pages.queries_of(browser, f"/modules{query}") for query in queries]
    add_modules(acme, [f"part-{position}/sys{position}" for position in range(3, 12)], inspection=NAT)
    many = [pages.queries_of(browser, f"/modules{query}") for query in queries]

    assert Module.objects.count() == 12
    assert few == many
    assert max(many) <= 13  # the last one: teams to filter by


@pytest.mark.both
def test_it_filters_by_a_team_that_publishes_and_that_the_reader_sees(
    browser_of, stock, acme, pantry, hall, bob, olga, charlie
):
    cooks, guests = Team.objects.create(name="cooks"), Team.objects.create(name="guests")
    Grant.objects.create(namespace=hall, team=cooks, role=Role.PUBLISHER)
    Grant.objects.create(namespace=pantry, team=cooks, role=Role.READER)
    Grant.objects.create(namespace=pantry, team=guests, role=Role.READER)
    Membership.objects.create(team=cooks, user=bob)
    Membership.objects.create(team=guests, user=bob)

    page = pages.markup_of(browser_of(bob).get("/modules"))
    assert re.findall(r'<option value="(\w*)"', page.partition('name="team"')[2].partition("</select>")[0]) == [
        "",
        "cooks",
    ]
    for query in ("?team=cooks", "?team=cooks&q=zone", "?team=cooks&yanked="):
        answer = browser_of(bob).get(f"/modules{query}")
        assert listed(answer) == ["hall/dns_zone/aws"], query
        assert "hall (1)" in pages.markup_of(answer)
        assert "pantry (" not in pages.markup_of(answer)
    everything = listed(browser_of(charlie).get("/modules"))
    assert (
        listed(browser_of(charlie).get("/modules?team=cooks"))
        == everything
        == listed(browser_of(charlie).get("/modules?team=x"))
    )
    assert 'name="team"' not in pages.markup_of(browser_of(charlie).get("/modules"))


def test_it_filters_by_what_was_published_in_the_last_30_days(browser_of, stock, bob):
    SearchDoc.objects.update(published_at=timezone.now())
    SearchDoc.objects.filter(name="vpc/aws").update(published_at=timezone.now() - timedelta(days=31))

    answer = browser_of(bob).get("/modules?recent=1&namespace=acme")

    assert listed(answer) == ["acme/vpc/google"]
    assert "google (1)" in pages.markup_of(answer)
    SearchDoc.objects.filter(namespace__name="acme").update(published_at=timezone.now() - timedelta(days=31))
    assert "Show all" in pages.markup_of(browser_of(bob).get("/modules?recent=1&namespace=acme"))
