"""The options of the command palette: what the search finds, and what a person may do."""

import re

from django.urls import reverse

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Role
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.portal.frame import menu, namespace_tabs
from apps.portal.frame.page_urls import Address, url_of
from apps.portal.versions import tabs
from apps.providers import catalogue
from apps.releases.models import Kind
from tests import pages
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module
from tests.rows import for_each_row

PALETTE = {"HX-Request": "true"}


def options(client, query):
    answer = client.get("/search", {"q": query, "palette": "1"}, headers=PALETTE)
    assert "HX-Request" in answer.headers["Vary"]
    markup = pages.markup_of(answer)
    assert "<html" not in markup
    ids = re.findall(r'id="(palette-[\w-]+)"', markup)
    assert len(ids) == len(set(ids))
    found = re.findall(r'role="option"[^>]*href="([^"]*)"', markup)
    assert len(found) == markup.count('role="option"')
    return found


def test_an_empty_box_offers_what_a_person_does_often_and_words_lead_to_modules_and_all_results(
    client, browser_of, alice, pantry
):
    add_module(pantry, "label/null", "0.1.0")

    assert options(client, "")[0] == "/account/login/"
    assert options(browser_of(alice), "")[:2] == ["/publish", "/publish/provider"]
    assert options(client, "label") == ["/modules/pantry/label/null", "/search?q=label"]
    assert options(client, "zz & <b>") == ["/search?q=zz%20%26%20%3Cb%3E"]


@for_each_row(
    ("query", "url"),
    [
        ("new token", "/tokens"),
        ("token", "/tokens"),
        ("publish", "/publish"),
        ("publish provider", "/publish/provider"),
        ("2fa", "/account/second-factor"),
        ("teams", "/teams"),
        ("openapi", "/api/docs"),
        ("members of acme", "/namespaces/acme/members"),
        ("acme keys", "/namespaces/acme/keys"),
        ("acme settings", "/namespaces/acme/change"),
        ("acme cool-down", "/namespaces/acme/rules"),
    ],
)
def test_actions_are_found_by_what_people_call_them(browser_of, dora, acme, query, url):
    assert url in options(browser_of(dora), query)


def test_nobody_is_offered_what_they_may_not_do(client, browser_of, alice, bob, charlie, olga, acme):
    for browser in (client, browser_of(charlie), browser_of(alice), browser_of(bob)):
        assert [url for url in options(browser, "acme members") if url.endswith("/members")] == []
        found = options(browser, "invitations") + options(browser, "admin")
        assert [url for url in found if not url.startswith(("/search", "/help/"))] == []
    assert [url for url in options(client, "token") if url == "/tokens"] == []
    assert options(browser_of(olga), "admin")[0] == "/admin/"
    assert options(browser_of(olga), "disk usage")[0] == "/admin/storage/"
    Grant.objects.create(namespace=acme, user=charlie, role=Role.OWNER)
    assert "/namespaces/acme/members" in options(browser_of(charlie), "acme members")


def test_each_entry_of_a_menu_is_found(browser_of, dora, olga):
    """tests/portal/frame/test_menu.py opens them."""
    hers, operating = [*menu.main(Viewer(dora)), *menu.YOU, *menu.for_readers()], menu.operate(Viewer(olga))
    for browser, entries in ((browser_of(dora), hers), (browser_of(olga), operating)):
        for entry in entries:
            found = options(browser, f"{entry.label} {entry.words.partition(' ')[0]}")
            assert reverse(entry.route) in found, entry.label


def test_each_section_of_a_namespace_is_found_by_those_who_may_open_it(browser_of, client, dora, alice, bob, acme):
    every = {section.key for tab in namespace_tabs.tabs() for section in tab.sections}
    seen: dict[str, set[str]] = {}
    for who in (dora, alice, bob):
        browser = browser_of(who)
        for tab in namespace_tabs.tabs():
            for one in tab.sections:
                url = reverse(one.route, args=["acme"])
                if url in options(browser, f"acme {tab.label} {one.label}"):
                    seen.setdefault(who.username, set()).add(one.key)
                    assert browser.get(url).status_code == 200, url

    assert seen["dora"] == every
    assert {"contents", "ci", "keys", "storage"} <= seen["alice"] < every
    assert seen["bob"] == {"contents", "keys", "storage"}
    assert [url for url in options(client, "acme people") if "acme" in url.partition("?")[0]] == []


@for_each_row("kind", list(Kind))
def test_each_tab_of_a_module_and_of_a_provider_is_found_and_opens(kind, browser_of, bob, acme):
    address: Address = ModuleAddress("acme", "vpc", "aws")
    if kind == Kind.MODULE:
        add_module(acme, "vpc/aws", "1.0.0")
    else:
        address = ProviderAddress("acme", "vpc")
        catalogue.refresh(provider_version(acme, "vpc", "1.0.0", key=row_of_key(acme, 1)).provider)
    browser = browser_of(bob)
    for tab in tabs.table(kind):
        url = url_of(address, tab.page, *([] if tab.of_all else ["1.0.0"]))
        assert url in options(browser, f"vpc {tab.label}"), tab.label
        assert browser.get(url).status_code == 200, url


def test_people_are_found_by_those_who_know_them_and_by_staff(client, browser_of, alice, bob, charlie, olga, acme):
    here = "/people/alice"
    assert [here in options(browser_of(who), "alice") for who in (bob, olga, charlie)] == [True, True, False]
    assert here not in options(client, "alice")
    assert (browser_of(bob).get(here).status_code, browser_of(charlie).get(here).status_code) == (200, 404)
    alice.is_active = False
    alice.save()
    assert here not in options(browser_of(bob), "alice")
