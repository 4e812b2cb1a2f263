"""A page of a module, provider or namespace that is not there suggests the nearest ones that the person may see."""

import pytest

from apps.accounts.models import Namespace
from tests import pages
from tests.portal.rows import add_module
from tests.rows import for_each_row


@pytest.fixture
def near(browser_of):
    """The addresses that the 404 page links to."""

    def ask(person, url):
        answer = browser_of(person).get(url)
        assert answer.status_code == 404
        return [name for name, _ in answer.context["near"]]

    return ask


@pytest.fixture
def shelf(acme, pantry):
    for namespace, names in ((acme, ("vpc/aws", "vpn/aws", "dns/aws")), (pantry, ("network/aws",))):
        for name in names:
            add_module(namespace, name, "1.0.0")


@pytest.mark.both
def test_a_misspelled_module_or_an_unknown_version_leads_to_the_two_nearest(near, bob, shelf):
    assert near(bob, "/modules/acme/vpx/aws") == ["acme/vpc/aws", "acme/vpn/aws"]
    assert near(bob, "/modules/acme/dns/google/1.0.0/inputs") == ["acme/dns/aws"]
    assert near(bob, "/modules/acme/dns/aws/9.9.9") == ["acme/dns/aws"]
    assert near(bob, "/modules/acme/network/aws") == ["pantry/network/aws"], "in another namespace, by its name"
    assert near(bob, "/modules/acme/firewall/aws") == []


@pytest.mark.both
def test_a_misspelled_namespace_leads_to_the_nearest(near, bob, shelf, browser_of):
    assert near(bob, "/namespaces/acne") == ["acme"]
    assert 'href="/namespaces/acme"' in pages.markup_of(browser_of(bob).get("/namespaces/acne"))


@pytest.mark.both
def test_nobody_learns_of_what_they_may_not_see(near, charlie, shelf):
    Namespace.objects.filter(name="pantry").update(visibility="private")
    assert near(charlie, "/namespaces/acne") == []
    assert near(charlie, "/modules/acme/vpx/aws") == []
    assert near(charlie, "/modules/acme/network/aws") == []


@for_each_row("count", [3, 15])
def test_it_costs_the_same_at_any_size(browser_of, bob, acme, count, django_assert_max_num_queries):
    for number in range(count):
        add_module(acme, f"vpc{number}/aws", "1.0.0")
    browser = browser_of(bob)
    with django_assert_max_num_queries(10):
        assert browser.get("/modules/acme/vpx/aws").status_code == 404
