"""The default of a sensitive variable is on no page about the module; its files are shown as they were published."""

import html
import re

import pytest

from tests.builders.archives import MODULE, module_zip
from tests.modules.inspection.inspections import path_of
from tests.modules.inspection.test_secrets import CASES, DECLARED, SECRET, SENSITIVE

AT = "/modules/acme/vault/aws/1.0.0"
PLAIN = DECLARED % SENSITIVE


def files():
    """Every case in a submodule of its own."""
    found: dict[str, str | bytes] = {**MODULE, "secret.tf": PLAIN}
    for number, case in enumerate(CASES.values()):
        found |= {f"modules/c{number:02}/{path_of(name)}": text for name, text in case.items()}
    return found


@pytest.fixture
def ask(browser_of, bob, published):
    published("acme/vault/aws", "1.0.0", data=module_zip(files()))
    return browser_of(bob).get


@pytest.mark.slow
def test_no_page_about_the_module_shows_it_and_nothing_that_programs_read(ask):
    waiting, seen = {AT, "/modules?q=hunter", "/modules?q=vault", "/", "/namespaces/acme"}, set()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        response = ask(path)
        assert response.status_code == 200, path
        page = response.content.decode()
        assert SECRET not in page, path
        links = {html.unescape(link).partition("#")[0] for link in re.findall(r'href="([^"]+)"', page)}
        waiting |= {link for link in links if link.startswith(AT) and not re.search(r"/raw/|/files/|/archive$", link)}
        waiting -= seen

    assert {f"{AT}/inputs", f"{AT}/submodules/c00"} <= seen
    assert "hidden, because it is sensitive" in ask(f"{AT}/inputs").content.decode()
    for path in ("/v1/modules/acme/vault/aws/1.0.0", "/v1/modules/acme/vault/aws", "/v1/modules/search?q=hunter"):
        assert SECRET not in ask(path).content.decode(), path


def test_the_source_browser_shows_the_file_as_its_author_published_it(ask):
    page = ask(f"{AT}/files/secret.tf").content.decode()

    shown = re.sub(r"<[^>]+>", "", page.partition("<code data-copy-text>")[2].partition("</code>")[0])
    assert html.unescape(shown) == PLAIN

    raw = ask(f"{AT}/raw/secret.tf")

    assert raw.content.decode() == PLAIN
    assert raw["Content-Disposition"].startswith("inline")
    assert raw["Content-Type"] == "text/plain; charset=utf-8"
