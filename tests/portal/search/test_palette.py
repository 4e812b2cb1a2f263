"""The options of the command palette: what the search finds, and what a person may do."""

import re

import pytest

from apps.accounts.models import Grant, Role
from tests import pages
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
    assert options(browser_of(alice), "")[:3] == ["/publish", "/publish/provider", "/tokens"]
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
        ("acme settings", "/namespaces/acme/members"),
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


@pytest.mark.slow
def test_each_offered_page_opens(browser_of, dora, olga, acme):
    for who in (dora, olga):
        browser = browser_of(who)
        for word in ("a", "p", "n", "t", "m", "s", "acme"):
            for url in options(browser, word):
                assert browser.get(url, follow=True).status_code == 200, url
