"""/modules/<address>/<version>/files and /raw: the source browser"""

import re

import pytest
from django.utils import timezone

from apps.modules.models import ModuleVersion
from apps.portal.modules.files import MAX_RAW_BYTES
from apps.releases.models import Release
from tests import pages
from tests.builders.archives import MODULE, module_zip
from tests.builders.modules import picture
from tests.rows import for_each_row

AT = "/modules/acme/vpc/aws/1.0.0"
LARGE = "# a line of a large file\n" * 30_000
FILES: dict[str, str | bytes] = {
    **MODULE,
    "modules/subnets/main.tf": 'variable "x" {\n  default = "<b>" # a & b\n}\n',
    "docs/logo.png": picture(),
    "docs/fake.png": "<script>alert(1)</script>",
    "docs/logo.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "docs/page.html": "<script>alert(1)</script>",
    "docs/blob.bin": b"\x00\x01\x02",
    "docs/größe und maß.md": "# ü\n",
    "empty.tf": "",
    "large.tf": LARGE,
    "notes": "plain words\n",
}


@pytest.fixture
def vpc(published):
    return published("acme/vpc/aws", "1.0.0", data=module_zip(FILES))


@pytest.fixture
def ask(browser_of, bob, vpc):
    browser = browser_of(bob)
    return lambda path: browser.get(f"{AT}{path}")


def test_folders_list_what_lies_in_them_folders_first_with_sizes(ask):
    root = pages.shown(ask("/files"))

    assert root.index(f'{AT}/files/docs">docs/</a>') < root.index(f'{AT}/files/main.tf">main.tf</a>')
    assert re.search(r"docs/</a></th><td[^>]*>6 files", root)
    assert re.search(r"empty.tf</a></th><td[^>]*>0 bytes", root)
    assert "These are the first" not in root, "there are few"
    for path in ("/files/modules/subnets", "/files/modules/subnets/"):
        inner = pages.shown(ask(path))
        assert f'href="{AT}/files/modules/subnets/main.tf"' in inner
        assert f'href="{AT}/files/modules">modules</a>' in inner
    [odd] = re.findall(r'href="([^"]*gr[^"]*)"', pages.shown(ask("/files/docs")))
    assert "# ü" in pages.shown(ask(odd.removeprefix(AT)))


def test_each_line_of_a_file_has_an_anchor_and_its_colours(ask):
    page = pages.markup_of(ask("/files/modules/subnets/main.tf"))

    assert '<span class="source__line" id="L2">' in page
    assert 'href="#L2"' in page
    assert '<span class="hl-string">&quot;&lt;b&gt;&quot;</span>' in page
    assert '<span class="hl-comment"># a &amp; b</span>' in page
    assert "3 lines" in page


def test_an_image_is_shown_and_what_only_says_so_is_text(ask):
    assert f'src="{AT}/raw/docs/logo.png"' in pages.shown(ask("/files/docs/logo.png"))

    fake = pages.markup_of(ask("/files/docs/fake.png"))
    assert "&lt;script&gt;" in fake
    assert "/raw/docs/fake.png" in fake
    assert "<img" not in fake.partition("<main")[2]


def test_what_cannot_be_shown_is_said_and_a_large_file_is_cut(ask):
    for path, says in (
        ("docs/blob.bin", "This file is not text"),
        ("empty.tf", "This file is empty"),
        ("large.tf", "Showing the first"),
    ):
        assert says in pages.shown(ask(f"/files/{path}"))
    large = ask("/files/large.tf")
    assert large.content.count(b'class="source__line"') < LARGE.count("\n")
    assert len(large.content) < 5_000_000


@for_each_row("path", ["/files/nothing.tf", "/files/modul", "/files/../main.tf", "/raw/nothing", "/raw/docs"])
def test_what_is_not_there_is_not_found(ask, path):
    assert ask(path).status_code == 404


@for_each_row(
    ("path", "content_type", "disposition"),
    [
        ("main.tf", "text/plain; charset=utf-8", "inline"),
        ("notes", "text/plain; charset=utf-8", "inline"),
        ("empty.tf", "text/plain; charset=utf-8", "inline"),
        ("docs/logo.png", "image/png", "inline"),
        ("docs/fake.png", "text/plain; charset=utf-8", "inline"),
        ("docs/logo.svg", "application/octet-stream", "attachment"),
        ("docs/page.html", "application/octet-stream", "attachment"),
        ("docs/blob.bin", "application/octet-stream", "attachment"),
    ],
)
def test_raw_is_taken_for_nothing_but_what_it_is(ask, path, content_type, disposition):
    response = ask(f"/raw/{path}")

    packed = FILES[path]
    assert response.content == (packed.encode() if isinstance(packed, str) else packed)
    assert response["Content-Type"] == content_type
    assert response["Content-Disposition"].partition(";")[0] == disposition
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert response["Cache-Control"] == "private, no-cache"


def test_a_file_beyond_the_limit_is_not_sent(ask, monkeypatch):
    monkeypatch.setattr("apps.portal.modules.files.MAX_RAW_BYTES", 100)

    response = ask("/raw/large.tf")

    assert MAX_RAW_BYTES > 1_000_000
    assert response.status_code == 413
    assert "archive, which contains the whole file" in pages.markup_of(response)


def test_rows_of_an_older_larder_say_what_to_do(ask):
    ModuleVersion.objects.update(files=[{"name": "main.tf", "size": 10}])

    assert "Ask an operator to inspect the version again" in pages.shown(ask("/files/main.tf"))
    assert ask("/raw/main.tf").status_code == 404
    assert "main.tf" in pages.shown(ask("/files"))


@for_each_row("path", ["", "/files", "/files/main.tf", "/raw/main.tf"])
def test_what_is_yanked_can_be_read_and_nothing_in_quarantine_even_by_staff(browser_of, olga, bob, vpc, path):
    Release.objects.update(lifecycle="yanked", lifecycle_reason="It leaks.")
    assert browser_of(bob).get(f"{AT}{path}").status_code == 200
    Release.objects.update(quarantined_at=timezone.now(), quarantine_reason="A key.")
    assert browser_of(bob).get(f"{AT}{path}").status_code == 404
    # Staff see the page that says so, and no bytes.
    assert browser_of(olga).get(f"{AT}{path}").status_code == (404 if path else 200)


@for_each_row("path", ["/files", "/files/main.tf", "/raw/main.tf"])
def test_nor_are_the_same_bytes_of_another_module(browser_of, bob, vpc, published, path):
    twin = published("pantry/copy/aws", "3.0.0")
    Release.objects.filter(pk=twin.pk).update(
        digest=vpc.digest, quarantined_at=timezone.now(), quarantine_reason="A key."
    )
    browser = browser_of(bob)

    assert browser.get(AT).status_code == 200
    response = browser.get(f"{AT}{path}")
    assert response.status_code == 404
    assert "the same bytes are in quarantine" in pages.text_of(response)
