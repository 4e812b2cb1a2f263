"""Docs: the documentation of this version, its links, its index, and how it is found."""

import re
from html import unescape

import pytest
from django.urls import reverse

from apps.portal.frame import menu
from apps.portal.help import manual
from tests import pages
from tests.documents import CHECKOUT
from tests.house import sources
from tests.rows import for_each_row

TOPIC = re.compile(r'{% help "([^"]+)"')


def anchors_of(html: str) -> set[str]:
    return set(re.findall(r'id="([^"]+)"', html))


def links_of(html: str) -> list[str]:
    return [unescape(link) for link in re.findall(r'href="(/help[^"]*|#[^"]*)"', html)]


@pytest.fixture
def read(client):
    return lambda url: pages.markup_of(client.get(url))


@pytest.mark.django_db
def test_the_first_page_lists_all_others_by_reader_and_pages_lead_there(read, browser_of, alice):
    page, beside = read("/help"), read("/help/using").partition("<article")[0]

    assert '<a href="/help/configuration/address"' in page
    for chapter in ("Use", "Publish", "Operate", "Integrate"):
        assert f">{chapter}</h2>" in page
        assert f">{chapter}</h2>" in beside
    assert "Develop" not in page + beside
    assert 'href="/help/tokens" data-help="tokens"' in pages.markup_of(browser_of(alice).get("/tokens"))


@pytest.mark.slow
@pytest.mark.django_db
def test_each_page_opens_and_its_links_lead_to_a_heading_that_is_there(client):
    opened = {url: pages.markup_of(client.get(url)) for url in map(manual.url_of, (manual.INDEX, *manual.names()))}
    broken = []
    for url, page in opened.items():
        for link in links_of(page.partition("<main")[2]):
            path, _, anchor = link.partition("#")
            target = opened.get(path or url)
            if target is None or (anchor and anchor not in anchors_of(target)):
                broken.append((url, link))
    assert broken == []


def test_each_page_of_the_docs_for_users_and_operators_is_in_the_index():
    folders = ("", "configuration/", "operations/", "recipes/")
    files = {f"{folder}{path.stem}" for folder in folders for path in (CHECKOUT / "docs" / folder).glob("*.md")}
    assert set(manual.names()) == files - {"README", "ARCHITECTURE"}


def test_each_topic_is_used_and_leads_as_each_section_does_to_a_heading_that_is_there():
    texts = [path.read_text() for path in sources.templates() if path.suffix == ".html"]
    setup = re.findall(r'^        "([\w-]+)",$', (CHECKOUT / "registry_site/admin/setup.py").read_text(), re.MULTILINE)
    used = {topic for text in texts for topic in TOPIC.findall(text)} | (set(setup) & manual.topics().keys())
    assert used == manual.topics().keys()
    for topic in manual.topics():
        name, _, anchor = manual.topics()[topic].partition("#")
        assert not anchor or f'id="user-content-{anchor}"' in manual.page_of(name).html, topic
    for section in manual.sections():  # which the search finds
        assert not section.anchor or f'id="user-content-{section.anchor}"' in manual.page_of(section.page).html, section


@pytest.mark.django_db
@for_each_row("name", ["no-such", "maintain/rules", "ARCHITECTURE", "../README", "README.md", "%2e%2e/README"])
def test_other_files_are_no_pages(client, name):
    assert client.get(f"/help/{name}").status_code == 404


@pytest.mark.django_db
@for_each_row(
    ("query", "url"),
    [
        ("secret key rotate", "/help/operations/keys#user-content-rotate-the-secret-key"),
        ("roll back", "/help/runbooks#user-content-a-release-is-broken-roll-back"),
        ("disk usage", "/help/operations/storage#user-content-disk-usage"),
    ],
)
def test_the_search_finds_sections_by_the_words_that_people_search_for_and_counts_them(client, read, query, url):
    page = " ".join(read(f"/search?q={query.replace(' ', '+')}").split())

    assert f'href="{url}"' in page
    assert re.search(r'id="result-count" role="status">Nothing in the registry; [1-9] in Docs', page)
    palette = client.get("/search", {"q": query, "palette": 1}, headers={"HX-Request": "true"})
    assert 'id="palette-help-1"' in pages.markup_of(palette)


@pytest.mark.django_db
def test_a_page_about_the_api_that_is_not_there_is_a_page_that_was_not_found(client):
    answer = client.get("/api/docs/nowhere")

    assert (answer.status_code, answer["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "The API has no group called nowhere." in answer.content.decode()
    assert client.get("/api/docsx").headers["Content-Type"] == "application/json"


@pytest.mark.django_db
@for_each_row("url", ["/how-to-use", "/help", "/help/using", "/api/docs", "/api/docs/teams", "/help?q=token"])
def test_all_of_docs_has_one_index_and_one_search(read, url):
    page = read(url)
    side = page.partition('class="docs__side')[2].partition("</details>")[0]

    assert 'action="/help" method="get"' in side
    for entry in ("/how-to-use", "/help", "/help/using", "/help/operations/keys", "/api/docs"):
        assert f'href="{entry}"' in side
    path = url.partition("?")[0]
    assert (f'href="{path}" aria-current="page"' in side) == ("?" not in url)


@pytest.mark.django_db
@for_each_row(
    ("query", "urls"),
    [
        ("netrc", ["/how-to-use#token"]),
        ("rotate secret key", ["/help/operations/keys#user-content-rotate-the-secret-key"]),
        ("key revoke", ["/api/docs/namespaces#post_key_revoke"]),
        ("x-no-such-word", []),
    ],
)
def test_the_search_of_docs_finds_sections_how_to_use_and_the_api(read, query, urls):
    main = read(f"/help?q={query.replace(' ', '+')}").partition('class="docs__page')[2]

    for url in urls:
        assert f'href="{url}"' in main
    assert ("Nothing in the docs matches" in main) is (not urls)


@pytest.mark.django_db
def test_readers_find_the_mirror_and_the_lock_file_on_how_to_use_and_beside_providers(read):
    for entry in menu.for_readers():
        for url in ("/how-to-use", "/providers"):
            assert f'href="{reverse(entry.route)}"' in read(url), url


@pytest.mark.django_db
@for_each_row(
    ("host", "variable"),
    [("modules.acme.example", "TF_TOKEN_modules_acme_example"), ("127.0.0.1:8443", "")],
)
def test_examples_name_this_registry_or_what_to_write_for_a_host_with_a_port(client, settings, host, variable):
    settings.PUBLIC_URL, settings.PUBLIC_HOST = f"https://{host}", host
    manual.page_of.cache_clear()
    try:
        page = pages.markup_of(client.get("/help/using"))
    finally:
        manual.page_of.cache_clear()

    has_port = not variable
    assert (f"replace <code>registry.example.com</code> with <code>{host}</code>." in page) == has_port
    if not has_port:
        assert f"{host}/" in page
        assert variable in page
        assert "registry.example.com" not in page
