"""The main navigation and the account menu: one table, two groups, and what each person may open."""

import re

import pytest
from django.urls import reverse

from apps.accounts.access.gate import NOBODY, Viewer
from apps.portal.frame import menu
from tests import pages
from tests.cast import person
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
GROUP = re.compile(r'role="group" aria-labelledby="menu-(\w+)">(.*?)</div>', re.DOTALL)
LINK = re.compile(r'href="([^"]+)"')


def groups_of(page: str) -> dict[str, list[str]]:
    return {name: LINK.findall(entries) for name, entries in GROUP.findall(page)}


def test_what_is_ones_own_is_apart_from_what_staff_operate(browser_of, alice, olga):
    own = ["/releases", "/tokens", "/namespaces", "/teams", "/account/"]

    assert groups_of(pages.markup_of(browser_of(alice).get("/"))) == {"you": own}
    theirs = groups_of(pages.markup_of(browser_of(olga).get("/")))
    assert theirs["you"] == own
    assert theirs["operate"][0] == "/admin/"
    assert {"/invitations", "/admin/storage/", "/status"} <= set(theirs["operate"])


def test_staff_see_only_what_they_may_open(browser_of, olga):
    sam = person("sam", is_staff=True)

    assert groups_of(pages.markup_of(browser_of(sam).get("/")))["operate"] == ["/admin/", "/status"]


def test_each_entry_opens_for_those_who_see_it(browser_of, bob, olga):
    for user, entries in [
        (bob, [*menu.main(Viewer(bob)), *menu.YOU, *menu.for_readers()]),
        (olga, menu.operate(Viewer(olga))),
        (None, [*menu.main(NOBODY), *menu.for_readers()]),
    ]:
        browser = browser_of(user)
        for entry in entries:
            assert browser.get(reverse(entry.route)).status_code == 200, entry.route


@for_each_row(
    ("url", "label"),
    [
        ("/modules", "Modules"),
        ("/providers", "Providers"),
        ("/publish/provider", "Publish"),
        *(
            (url, "Docs")
            for url in ("/how-to-use", "/help", "/help/using", "/help?q=token", "/api/docs", "/api/docs/teams")
        ),
    ],
)
def test_the_navigation_marks_where_one_is(browser_of, alice, url, label):
    main = pages.markup_of(browser_of(alice).get(url)).partition('aria-label="Main"')[2].partition("<details")[0]

    assert [words.strip() for words in re.findall(r'aria-current="page">([^<]+)</a>', main)] == [label]


def test_the_footer_leads_to_the_docs_and_the_api_and_for_staff_to_the_status(client, browser_of, olga):
    def footer(browser):
        return LINK.findall(pages.markup_of(browser.get("/")).partition("<footer")[2].partition("</footer>")[0])

    assert footer(client) == ["/how-to-use", "/api/docs"]
    assert footer(browser_of(olga)) == ["/how-to-use", "/api/docs", "/status"]
