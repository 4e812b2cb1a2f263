"""The frame of every page: templates/base.html and its partials"""

import gzip
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.template import engines
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.modules.models import Module, ModuleVersion
from apps.portal.templatetags.marks import DRAWN
from apps.portal.templatetags.numbers import bytes_text
from apps.portal.templatetags.times import relative_time
from apps.releases.models import Release
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
    [(None, "unknown size"), (1, "1 byte"), (999, "999 bytes"), (1500, "1.5 kB"), (128e6, "128 MB"), (34e11, "3.4 TB")],
)
def test_sizes_are_short(size, words):
    assert bytes_text(size) == words


def test_an_icon_is_hidden_from_screen_readers_unless_it_means_something():
    compiled = engines["django"].from_string
    silent = compiled('{% load icons %}{% icon "copy" %}').render()
    speaking = compiled('{% load icons %}{% icon "copy" label=words %}').render({"words": "A & B"})

    assert 'aria-hidden="true"' in silent
    assert 'role="img" aria-label="A &amp; B"' in speaking


def test_a_known_system_has_its_drawing_and_every_other_name_a_letter():
    compiled = engines["django"].from_string
    drawn = compiled('{% load marks %}{% mark "aws" size="large" %}').render()
    letters = compiled('{% load marks %}{% mark "<x" %}{% jar "acme" %}{% initials owners %}')
    text = letters.render({"owners": ["bob", "the team cooks"]})

    tile = '<span class="mark mark--large hue-1" aria-hidden="true"><svg><use href="/static/img/marks.svg#aws"></use>'
    assert drawn == f"{tile}</svg></span>"
    assert re.findall(r'class="([\w -]+) hue-[1-5]" aria-hidden="true">(.)</span>', text) == [
        ("mark", "X"),
        ("mark mark--jar", "A"),
        ("initial", "B"),
        ("initial", "C"),
    ]


def test_every_drawing_is_in_the_sprite():
    sprite = Path(str(finders.find("img/marks.svg"))).read_text()
    assert {drawing for drawing, _ in DRAWN.values()} == set(re.findall(r'<symbol id="(\w+)"', sprite))


# --- Budgets of each page: bytes for the browser, queries for the server ---------------------------------------------


# Compressed, of the page and all that it links to.
MOST_BYTES = {"html": 60_000, "css": 15_000, "js": 26_000}
MOST_QUERIES = 12
SIGNING_IN = {"/account/login/": None, "/account/reauthenticate/": "bob", "/account/logout/": "bob"}


def weight_of(*contents: bytes) -> int:
    return sum(len(gzip.compress(content, 9)) for content in contents)


def linked(html: str, kind: str) -> list[bytes]:
    """The files that the page links to, as they are in static/; tests give them no digest in their names."""
    names = re.findall(rf'(?:href|src)="/static/([^"]+\.{kind})"', html)
    found = [finders.find(name) for name in names]
    assert names
    assert all(found), names
    return [Path(str(path)).read_bytes() for path in found]


@pytest.mark.parametrize("url", SIGNING_IN)
def test_a_page_of_signing_in_is_light(url, browser_of, client, db, request, django_assert_max_num_queries):
    person = SIGNING_IN[url]
    visitor = browser_of(request.getfixturevalue(person)) if person else client
    with django_assert_max_num_queries(MOST_QUERIES):
        answer = visitor.get(url)

    assert answer.status_code == 200
    html = answer.content.decode()
    weights = {kind: weight_of(*linked(html, kind)) for kind in ("css", "js")} | {"html": weight_of(answer.content)}
    assert {kind: weight for kind, weight in weights.items() if weight > MOST_BYTES[kind]} == {}


# --- From the page of a thing to the admin's, for staff alone, and back ----------------------------------------------


VERSION = ["acme", "vpc", "aws", "1.2.0"]


@pytest.fixture
def pages(published):
    """Pages of the portal with the page of the admin that each leads to."""
    release = published("acme/vpc/aws", "1.2.0")
    admin = {
        model: reverse(
            f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[model._default_manager.get(**of).pk]
        )
        for model, of in [(Release, {}), (Module, {}), (ModuleVersion, {}), (Namespace, {"name": "acme"})]
    }
    return {
        reverse("portal:release", args=[release.public_id]): admin[Release],
        reverse("portal:module-versions", args=VERSION[:3]): admin[Module],
        reverse("portal:module-version", args=VERSION): admin[ModuleVersion],
        reverse("portal:namespace", args=["acme"]): admin[Namespace],
    }


def test_staff_find_the_way_there_and_back(browser_of, olga, pages):
    for page, admin in pages.items():
        assert f'href="{admin}"' in browser_of(olga).get(page).text, page
        there = browser_of(olga).get(admin)
        assert there.status_code == 200
        assert "Open in the portal" in there.text


def test_nobody_else_sees_such_a_link(browser_of, alice, pages):
    for page in pages:
        text = browser_of(alice).get(page)
        assert text.status_code == 200
        assert "/admin/" not in text.text, page
