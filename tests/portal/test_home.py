"""/"""

import pytest

from apps.accounts.models import Grant, Membership, Namespace, Role, Team
from apps.modules.catalogue import entries
from apps.providers import catalogue as provider_catalogue
from apps.releases.models import Release, SearchDoc
from tests import pages
from tests.builders.archives import module_zip
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module, add_modules


def test_it_shows_visitors_public_modules_and_the_way_in(client, pantry, acme):
    add_module(acme, "vpc/aws", "1.0.0")
    assert "No public modules" in pages.markup_of(client.get("/"))
    add_module(pantry, "label/null", "1.0.0")

    page = pages.markup_of(client.get("/"))

    assert 'href="/modules/pantry/label/null"' in page
    assert "vpc" not in page
    assert "/account/login/" in page


@pytest.mark.both
def test_it_shows_members_what_is_new_and_where_they_work(browser_of, alice, acme):
    module = add_module(acme, "vpc/aws", "1.0.0", "1.1.0")
    add_module(acme, "dns/aws", "1.0.0")
    provider_catalogue.refresh(provider_version(acme, "dns", "1.0.0", key=row_of_key(acme, 1)).provider)

    def recent():
        return pages.markup_of(browser_of(alice).get("/")).partition('id="recent-title"')[2]

    page = recent()
    assert page.index('"/modules/acme/vpc/aws"') < page.index('"/modules/acme/dns/aws"')
    assert "1.1.0" in page
    assert "/namespaces/acme" in page
    assert "2 modules, 1 provider, you are publisher" in page
    assert "All 1 provider<" in page

    Release.objects.filter(name="vpc/aws").update(lifecycle="yanked")
    entries.refresh(module)
    assert "/modules/acme/vpc/aws" not in recent(), "what is yanked altogether is no news"


def test_it_shows_readers_what_is_downloaded_most(browser_of, bob, acme):
    add_modules(acme, ["vpc/aws", "dns/aws", "never/aws"])
    for name, count in (("vpc/aws", 7), ("dns/aws", 12_345)):
        SearchDoc.objects.filter(name=name).update(downloads=count)

    popular = pages.markup_of(browser_of(bob).get("/")).partition('id="popular-title"')[2]

    assert popular.index("/modules/acme/dns/aws") < popular.index("/modules/acme/vpc/aws")
    assert "12,345" in popular
    assert "never" not in popular


def test_it_helps_readers_to_begin(browser_of, bob, acme, dora, published, settings):
    published("acme/vpc/aws", data=module_zip({"main.tf": 'variable "zones" {\n  type = list(string)\n}\n'}))

    page = pages.markup_of(browser_of(bob).get("/"))

    assert f"tofu login {settings.PUBLIC_HOST}" in page
    assert "zones = [] # list(string)" in page
    assert 'href="/namespaces/acme/access"' in page
    assert "Owned by dora" in page
    assert 'href="/how-to-use"' in page.partition("</nav>")[0]
    assert "Create a token" not in page
    settings.PUBLIC_URL = "http://larder.example"
    page = pages.markup_of(browser_of(bob).get("/"))
    assert "tofu login" not in page, "nobody is asked to log in without TLS"
    assert 'href="/how-to-use#token"' in page


def test_a_registry_of_providers_alone_is_not_empty(browser_of, alice, acme):
    provider_catalogue.refresh(provider_version(acme, "dns", "1.0.0", key=row_of_key(acme, 1)).provider)
    page = pages.markup_of(browser_of(alice).get("/"))

    assert "still empty" not in page
    assert "All 1 provider<" in page


def test_it_leads_through_the_first_steps_that_somebody_may_take(browser_of, charlie, acme, settings):
    browser = browser_of(charlie)
    page = pages.markup_of(browser.get("/"))
    for link in ("/namespaces/new", "/tokens", "/publish"):
        assert f'href="{link}"' in page

    settings.NAMESPACE_CREATION = "staff"
    page = pages.markup_of(browser.get("/"))
    assert 'href="/namespaces/new"' not in page
    assert "An operator of this registry creates namespaces." in page

    team = Team.objects.create(name="platform")
    Membership.objects.create(team=team, user=charlie)
    Grant.objects.create(namespace=acme, team=team, role=Role.OWNER)
    page = pages.markup_of(browser.get("/"))
    assert "you are owner" in page
    assert "0 modules" not in page


def test_it_costs_readers_the_same_at_any_size(browser_of, bob, acme, django_assert_max_num_queries):
    for position in range(9):
        namespace = Namespace.objects.create(name=f"team-{position}", canonical=f"team-{position}")
        Grant.objects.create(namespace=namespace, user=bob, role=Role.READER)
    add_modules(acme, [f"part-{position}/aws" for position in range(9)], ["1.0.0", "1.1.0"])
    browser = browser_of(bob)

    with django_assert_max_num_queries(12):
        assert browser.get("/").status_code == 200
