"""One style sheet a page: its sources in order, written again only when one of them has changed."""

import re
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders

from registry_site.server.bundles import BUNDLES, Bundles
from tests.house import sources
from tests.rows import for_each_row

CSS = settings.BASE_DIR / "static" / "css"
OF_OPERATE = {"operate.css"}


def links(response):
    return re.findall(r'<link rel="stylesheet" href="/static/([^"]+)"', response.content.decode())


@for_each_row(("url", "bundle"), [("/", "css/site.css"), ("/account/login/", "css/entrance.css")])
def test_a_page_fetches_one_style_sheet(client, db, url, bundle):
    assert links(client.get(url)) == [bundle]


@for_each_row("name", BUNDLES)
def test_it_is_the_rules_of_its_sources_in_order(name):
    found = Path(str(finders.find(name))).read_text()

    rules = (re.sub(r"/\*.*?\*/", "", (CSS / source).read_text(), flags=re.DOTALL) for source in BUNDLES[name])
    assert found.split() == " ".join(rules).split()
    assert "/*" not in found
    assert found.index("@layer tokens, base,") < found.index("{"), "the order of the layers comes first"


def test_no_source_is_left_out():
    """Scripts that a single page adds are linked by its own template."""
    every = {path.relative_to(CSS).as_posix() for path in CSS.rglob("*.css")}
    pages = (path.read_text() for path in sources.templates() if "/templates/portal/" in str(path))
    of_one_page = {name for page in pages for name in re.findall(r"{% static 'css/(components/[^']+)' %}", page)}

    assert set(BUNDLES["css/site.css"]) | of_one_page == every - OF_OPERATE
    assert not of_one_page & set(BUNDLES["css/site.css"])
    assert set(BUNDLES["css/entrance.css"]) < every


def test_only_a_changed_source_writes_it_again(tmp_path, settings):
    """Its date is part of the digest that decides whether static files are collected again."""
    css = tmp_path / "static" / "css"
    for source in BUNDLES["css/site.css"]:
        (css / source).parent.mkdir(parents=True, exist_ok=True)
        (css / source).write_text(f".of {{ content: '{source}'; }} /* a comment */\n")
    settings.BASE_DIR, settings.DATA_DIR = tmp_path, tmp_path / "data"
    bundles = Bundles()

    def written():
        (target,) = (storage.path(name) for name, storage in bundles.list([]) if name == "css/site.css")
        return Path(target).stat().st_ino, Path(target).read_text()

    first = written()
    assert written() == first
    (css / "pages.css").write_text(".changed { }\n")
    assert written()[0] != first[0]
    assert written()[1].endswith(".changed { }\n")
