"""/publish where there are more modules than a list should offer: the field is searched, and works without scripts."""

import pytest

from apps.portal.publish import module
from apps.releases.models import Release
from tests import pages
from tests.portal.publish.conftest import JSON
from tests.portal.rows import add_modules
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(alice, acme, browser_of, monkeypatch):
    monkeypatch.setattr(module, "LISTED", 2)
    monkeypatch.setattr(module, "SUGGESTED", 2)
    add_modules(acme, ["vpc/aws", "vpc-peering/aws", "network/google"])
    return browser_of(alice)


def posted(browser, **sent):
    return browser.post("/publish", {"version": "1.1.0", **sent}, headers=JSON)


def test_it_offers_few_and_costs_the_same_however_many_there_are(browser, acme):
    page = browser.get("/publish").text
    before = pages.queries_of(browser, "/publish")
    add_modules(acme, [f"m{number}/aws" for number in range(5)])

    assert '<input type="text" name="module"' in page
    assert page.partition('id="known-modules"')[2].partition("</datalist>")[0].count("<option") == 2
    assert pages.queries_of(browser, "/publish") == before <= 10


def test_it_suggests_what_matches_the_words(browser):
    assert browser.get("/publish?suggest=network").json() == {"modules": ["acme/network/google"]}
    assert browser.get("/publish?suggest=acme/vpc").json() == {"modules": ["acme/vpc/aws", "acme/vpc-peering/aws"]}
    assert len(browser.get("/publish?suggest=").json()["modules"]) == 2


def test_it_suggests_and_matches_nothing_that_one_may_not_publish(browser, bob, browser_of):
    assert browser_of(bob).get("/publish?suggest=vpc").json() == {"modules": []}
    assert browser_of(bob).get("/publish?match=vpc").json() == {"modules": []}


def test_an_address_that_was_typed_is_published_and_an_empty_field_is_a_new_module(browser):
    assert posted(browser, module=" acme/vpc/aws ").status_code == 201
    assert Release.objects.filter(name="vpc/aws", version="1.1.0").exists()
    assert posted(browser, module="", namespace="acme", name="dns", system="aws").status_code == 201
    assert Release.objects.filter(name="dns/aws", version="1.1.0").exists()


@for_each_row("typed", ["acme/vpcs/aws", "vpc", "other/vpc/aws", "acme", "a/b/c/d", "-"])
def test_an_address_that_is_no_module_is_refused_with_what_is_near(browser, typed):
    [said] = posted(browser, module=typed).json()["errors"]["module"]

    assert f"There is no module {typed} that you can publish." in said
    assert ("Did you mean acme/vpc/aws, acme/vpc-peering/aws?" in said) == (typed == "vpc")
    assert not Release.objects.filter(version="1.1.0").exists()


def test_a_link_fills_in_the_module_or_the_parts_of_a_new_one(browser):
    page = browser.get("/publish?namespace=acme&name=vpc&system=aws").text
    assert 'name="module" value="acme/vpc/aws"' in page
    page = browser.get("/publish?namespace=acme&name=dns&system=aws").text
    assert 'name="module" value=' not in page
    assert 'value="dns"' in page
