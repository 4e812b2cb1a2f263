"""Every page type: a quiet console, no CSP report, no axe finding, no overflow. By day those whose turn it is, in two
widths and one theme; at night all in both themes and three widths.
"""

from collections.abc import Iterable
from typing import Any, Literal

import pytest
from django.urls import get_resolver, reverse
from django.urls.resolvers import URLPattern, URLResolver
from playwright.sync_api import Browser, Page

from tests.browser.catalogue import SPACE, Shelf
from tests.browser.conftest import Watch, browsing, serious_findings, sign_in
from tests.browser.page_types import NO_PAGES, PAGES, READER_PAGES, Keywords
from tests.turns import TODAY

pytestmark = pytest.mark.live
Theme = Literal["light", "dark"]
Look = tuple[int, tuple[Theme, ...]]  # a width, and the themes in which axe sees the page in it
# The widest first: it shows the most.
THEMES: tuple[Theme, ...] = ("dark", "light")
AT_NIGHT: tuple[Look, ...] = ((1440, ("dark", "light")), (768, ()), (320, ("light", "dark")))


def by_day(number: int) -> tuple[Look, ...]:
    return (1440, (THEMES[number % 2],)), (320, ())


def portal_routes(patterns: Any = None) -> set[str]:
    resolvers = [one for one in get_resolver().url_patterns if isinstance(one, URLResolver)]
    resolver = next(one for one in resolvers if one.namespace == "portal")
    found: set[str] = set()
    for pattern in resolver.url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            found |= portal_routes(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and pattern.name:
            found.add(pattern.name)
    return found


def test_every_route_of_the_portal_is_a_page_here_or_known_to_be_none():
    assert portal_routes() == PAGES.keys() | READER_PAGES.keys() | NO_PAGES


def check(page: Page, url: str, looks: Iterable[Look]) -> list[str]:
    """The page's faults: loaded once, then resized."""
    answer = page.goto(url)
    assert answer is not None
    wrong = [] if answer.status == 200 else [f"{url}: {answer.status}"]
    again = False
    for width, themes in looks:
        page.set_viewport_size({"width": width, "height": 900})
        beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if beyond > 0:
            wrong.append(f"{url}: {beyond} px to scroll sideways at {width}")
        for theme in themes:
            # Without motion: a colour on its way from one theme to the other has no contrast of its own.
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            wrong += [f"{url} {theme} {width}: {finding}" for finding in serious_findings(page, again=again)]
            again = True
    return wrong


def check_all(
    page: Page, shelf: Shelf, route: str, shown: list[tuple[Keywords, str]], looks: Iterable[Look]
) -> list[str]:
    wrong = []
    for keywords, query in shown:
        filled = {key: value(shelf) if callable(value) else value for key, value in keywords.items()}
        wrong += check(page, reverse(f"portal:{route}", kwargs=filled) + query, looks)
    return wrong


@pytest.mark.parametrize(
    ("route", "looks"),
    [
        *(pytest.param(route, by_day(number), id=route) for number, route in enumerate(sorted(PAGES))),
        *(pytest.param(route, AT_NIGHT, id=f"{route}-at-night", marks=pytest.mark.nightly) for route in sorted(PAGES)),
    ],
)
def test_page(route: str, looks: Iterable[Look], full_shelf: Shelf, shelf_page: Page) -> None:
    assert check_all(shelf_page, full_shelf, route, PAGES[route], looks) == []


@pytest.mark.parametrize(
    "looks", [by_day(TODAY), pytest.param(AT_NIGHT, marks=pytest.mark.nightly)], ids=["day", "night"]
)
def test_pages_of_a_reader(chromium: Browser, full_shelf: Shelf, watch: Watch, looks: Iterable[Look]) -> None:
    state = sign_in(chromium, full_shelf.live, "bob", "bob likes pears")
    with browsing(chromium, full_shelf.live, state, watch) as open_:
        page = open_().new_page()
        wrong = [
            fault for route in READER_PAGES for fault in check_all(page, full_shelf, route, READER_PAGES[route], looks)
        ]
        page.goto("/")
        assert page.get_by_role("link", name=f"Request access to {SPACE}").count()
    assert wrong == []


FAULTY = """<!doctype html><html lang="en"><title>Faulty</title><style>
  main { color: #222; background: #fff; } b { color: #eee; }
  @media (prefers-color-scheme: dark) { main { background: #111; } p { color: #eee; } u { color: #333; } }
  @media (min-width: 600px) { button { display: none; } }
</style><main><h1>Faulty</h1><p>fine <b>pale</b> <b>pale</b></p><p><u>underlined</u></p><button></button></main>"""


def test_a_second_look_finds_what_theme_and_size_change(shelf_page: Page) -> None:
    """And of elements that look alike, one is named."""
    shelf_page.goto("about:blank")  # the content of another page would have its policy
    shelf_page.set_content(FAULTY)
    shelf_page.set_viewport_size({"width": 1440, "height": 900})
    shelf_page.emulate_media(color_scheme="light", reduced_motion="reduce")
    assert serious_findings(shelf_page) == ["color-contrast: [['b:nth-child(1)']]"]
    shelf_page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert serious_findings(shelf_page, again=True) == ["color-contrast: [['h1'], ['u']]"]
    shelf_page.set_viewport_size({"width": 320, "height": 900})
    assert serious_findings(shelf_page, again=True) == ["button-name: [['button']]", "color-contrast: [['h1'], ['u']]"]
