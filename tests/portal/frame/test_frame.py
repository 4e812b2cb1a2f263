"""The frame of every page: templates/base.html and its partials"""

from datetime import timedelta

import pytest
from django.template import engines
from django.utils import timezone

from apps.portal.templatetags.numbers import bytes_text
from apps.portal.templatetags.times import relative_time
from tests.rows import for_each_row

PAGES = ["/", "/modules", "/namespaces/acme", "/tokens", "/publish", "/account/password/change/", "/no/such/page"]


@for_each_row("url", PAGES)
def test_every_page_has_the_frame(browser_of, alice, url):
    page = browser_of(alice).get(url).content.decode()

    assert page.count("<h1") == 1
    assert page.count("<main id") == 1
    assert 'href="#main"' in page
    assert " - Larder</title>" in page
    assert 'action="/account/logout/"' in page


@pytest.mark.parametrize(("who", "sees"), [("olga", True), ("alice", False)])
def test_only_staff_see_invitations_and_the_admin(request, browser_of, who, sees):
    page = browser_of(request.getfixturevalue(who)).get("/").content.decode()

    assert ('href="/invitations"' in page) is sees
    assert ('href="/admin/"' in page) is sees


def test_signing_in_leads_back_to_the_page(client, pantry):
    assert "/account/login/?next=%2Fnamespaces%2Fpantry%3Fpage%3D2" in (
        client.get("/namespaces/pantry?page=2").content.decode()
    )


def test_the_sign_in_page_is_in_the_frame(client, db):
    page = client.get("/account/login/").content.decode()

    assert page.count("<h1>") == 1
    assert "<main id" in page


# --- The theme -------------------------------------------------------------------------------------------------------


@for_each_row("theme", ["system", "light", "dark"])
def test_a_theme_is_kept_without_javascript(client, db, theme):
    response = client.post("/theme", {"theme": theme, "next": "/modules?q=vpc"})

    assert (response.status_code, response["Location"]) == (302, "/modules?q=vpc")
    assert f'data-theme="{theme}"' in client.get("/").content.decode()


def test_a_theme_that_does_not_exist_changes_nothing(client, db):
    client.cookies["larder-theme"] = '"><script>'

    response = client.post("/theme", {"theme": "neon"})

    assert "larder-theme" not in response.cookies
    assert 'data-theme="system"' in client.get("/").content.decode()


# --- Words -----------------------------------------------------------------------------------------------------------


@for_each_row(
    ("passed", "words"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(minutes=1, seconds=5), "1 minute ago"),
        (timedelta(hours=5, minutes=1), "5 hours ago"),
        (timedelta(days=1, minutes=1), "yesterday"),
        (timedelta(days=9), "last week"),
        (timedelta(days=800), "2 years ago"),
        (-timedelta(days=90, seconds=-9), "in 3 months"),
        (-timedelta(days=45), "in 6 weeks"),
        (-timedelta(days=14, seconds=-9), "in 2 weeks"),
        (-timedelta(days=1), "in 24 hours"),
        (-timedelta(hours=12, seconds=-9), "in 12 hours"),
        (-timedelta(seconds=70), "in 1 minute"),
        (-timedelta(seconds=20), "just now"),
    ],
)
def test_times_are_relative(passed, words):
    assert relative_time(timezone.now() - passed) == words


@for_each_row(
    ("size", "words"),
    [(None, "unknown size"), (1, "1 byte"), (999, "999 bytes"), (1500, "1.5 kB"), (128_000_000, "128 MB")],
)
def test_sizes_are_short(size, words):
    assert bytes_text(size) == words


def test_an_icon_is_hidden_from_screen_readers_unless_it_means_something():
    compiled = engines["django"].from_string
    silent = compiled('{% load icons %}{% icon "copy" %}').render()
    speaking = compiled('{% load icons %}{% icon "copy" label=words %}').render({"words": "A & B"})

    assert 'aria-hidden="true"' in silent
    assert 'role="img" aria-label="A &amp; B"' in speaking
