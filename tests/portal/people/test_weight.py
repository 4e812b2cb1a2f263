"""The pages of signing in stay within the budgets of every page: bytes for the browser, queries for the server."""

import gzip
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

# Compressed, of the page and all that it links to.
MOST_BYTES = {"html": 60_000, "css": 15_000, "js": 26_000}
MOST_QUERIES = 12
PAGES = {"/account/login/": None, "/account/reauthenticate/": "bob", "/account/logout/": "bob"}


def weight_of(*contents: bytes) -> int:
    return sum(len(gzip.compress(content, 9)) for content in contents)


def linked(html: str, kind: str) -> list[bytes]:
    """The files that the page links to, as they are in static/; tests give them no digest in their names."""
    names = re.findall(rf'(?:href|src)="/static/([^"]+\.{kind})"', html)
    found = [finders.find(name) for name in names]
    assert names
    assert all(found), names
    return [Path(str(path)).read_bytes() for path in found]


@pytest.mark.parametrize("url", PAGES)
def test_it_is_light(url, browser_of, client, db, request, django_assert_max_num_queries):
    person = PAGES[url]
    visitor = browser_of(request.getfixturevalue(person)) if person else client
    with django_assert_max_num_queries(MOST_QUERIES):
        answer = visitor.get(url)

    assert answer.status_code == 200
    html = answer.content.decode()
    weights = {kind: weight_of(*linked(html, kind)) for kind in ("css", "js")} | {"html": weight_of(answer.content)}
    assert {kind: weight for kind, weight in weights.items() if weight > MOST_BYTES[kind]} == {}
