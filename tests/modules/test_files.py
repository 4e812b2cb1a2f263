"""apps.modules.contents.files: one file out of the stored archive; apps.lib.text.highlighting: its colours"""

import re

import pytest
from django.utils.html import strip_tags

from apps.blobs import store
from apps.lib.errors import NotFound, Unavailable
from apps.lib.text import highlighting
from apps.modules.contents import files
from tests.builders.archives import MODULE, module_zip
from tests.builders.modules import picture
from tests.rows import for_each_row

LARGE = "".join(f"# line {number} of a large file\n" for number in range(40_000))
CONTENTS: dict[str, str | bytes] = {
    **MODULE,
    "modules/subnets/main.tf": "# subnets\n",
    "empty.tf": "",
    "large.tf": LARGE,
    "docs/logo.png": picture(),
}


@pytest.fixture
def version(published):
    return published("acme/vpc/aws", "1.0.0", data=module_zip(CONTENTS)).module_version


def test_it_reads_each_file_as_it_was_packed_and_no_more_than_it_is_asked_for(version):
    for name, text in CONTENTS.items():
        data = text.encode() if isinstance(text, str) else text
        assert files.read_file(version, name, most=10_000_000) == data, name
    assert files.read_file(version, "large.tf", most=100) == LARGE.encode()[:100]
    assert len(files.read_file(version, "large.tf")) == files.MAX_FILE_BYTES


def test_it_asks_storage_for_one_range(version, monkeypatch):
    ranges = []

    def read(digest, *, start, stop):
        ranges.append((start, stop))
        return real(digest, start=start, stop=stop)

    real = store.read
    monkeypatch.setattr(store, "read", read)

    files.read_file(version, "main.tf")

    entry = files.entry_at(version, "main.tf")
    assert entry is not None
    assert entry.at is not None
    assert ranges == [(entry.at, entry.at + entry.packed)]


def test_what_is_no_file_is_not_found_and_a_row_of_an_older_larder_says_what_to_do(version):
    for path in ("missing.tf", "", "modules", "modules/", "../main.tf", "/main.tf", "main.tf\0"):
        with pytest.raises(NotFound):
            files.read_file(version, path)
    version.files = [{"name": "main.tf", "size": 5}]
    with pytest.raises(NotFound) as caught:
        files.read_file(version, "main.tf")
    assert "inspect the version again" in caught.value.hint


def test_bytes_that_are_lost_or_at_another_place_are_an_outage_and_no_crash(version):
    version.files = [{"name": "main.tf", "size": 50, "at": 0, "packed": 20, "method": 8}]
    with pytest.raises(Unavailable):
        files.read_file(version, "main.tf")

    version.refresh_from_db()
    version.release.digest = "0" * 64
    with pytest.raises(Unavailable):
        files.read_file(version, "main.tf")


def test_a_folder_knows_what_lies_in_it(version):
    entries = files.entries_of(version)

    def parts(path):
        folder = files.folder_of(entries, path)
        return folder and (folder.folders, [entry.last for entry in folder.files])

    assert parts("") == ([("docs", 1), ("modules", 1)], sorted(name for name in CONTENTS if "/" not in name))
    assert parts("modules") == ([("subnets", 1)], [])
    assert parts("modules/subnets") == ([], ["main.tf"])
    assert parts("mod") is None
    assert files.folder_of([], "") == files.Folder("", [], [])


@for_each_row(
    ("data", "kind"),
    [
        (picture(), "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", ""),
        (b"<html>", ""),
        (b"", ""),
    ],
)
def test_images_are_known_by_their_first_bytes(data, kind):
    assert files.image_type(data) == kind


@for_each_row(
    ("data", "is_cut", "text"),
    [
        ("größe".encode(), False, "größe"),
        ("größe".encode()[:-3], False, "grö"),
        ("grö".encode()[:-1], True, "gr"),
        ("grö".encode()[:-1], False, None),
        (b"\xef\xbb\xbfbom", False, "bom"),
        (b"a\0b", False, None),
        (b"\xff\xfe and more", True, None),
        (b"", False, ""),
    ],
)
def test_text_is_utf_8_without_nul(data, is_cut, text):
    assert files.text_of(data, is_cut=is_cut) == text


SOURCES = {
    "main.tf": '# c\nresource "x" "y" {\n  a = <<-EOT\n  ${b}\n  EOT\n  b = "x ${var.c}" /* d\n e */\n}\n',
    "a.tf.json": '{"a": [1, true, "x"]}\n',
    "README.md": "# Title\n\n- a `b` [c](d)\n\n```hcl\nx\n```\n<!-- e\nf -->\n",
    "a.yaml": "a:\n  - b: c # d\n",
    "a.sh": '#!/bin/sh\nfor a in "$@"; do echo "$a"; done\n',
    "a.go": 'package a\n\nfunc b() string { return "c" }\n',
    "notes.txt": "a <b> & c\n",
    "LICENSE": "words",
}


@for_each_row("name", SOURCES)
def test_each_line_keeps_its_text(name):
    lines = highlighting.highlighted(SOURCES[name], highlighting.language_of(name))

    unescaped = [re.sub(r"</?span[^>]*>", "", line) for line in lines]
    plain = highlighting.highlighted(SOURCES[name], "")
    assert unescaped == list(plain)
    assert all(line.count("<span") == line.count("</span>") for line in lines)


@for_each_row("language", ["hcl", "json", "markdown", "yaml", "bash", "go", ""])
@for_each_row("text", ["<script>alert(1)</script>", '"</span><img src=x onerror=1>"', "`<b>`\r\n", "<!--<i>"])
def test_hostile_text_stays_text(language, text):
    for line in highlighting.highlighted(text, language):
        assert "<" not in strip_tags(line)
        assert set(re.findall(r"<[^>]*>", line)) <= {"</span>", *re.findall(r'<span class="hl-[a-z]+">', line)}


@pytest.mark.slow
@for_each_row("language", ["hcl", "json", "markdown", "yaml", "bash", "go"])
def test_pathological_text_is_shown_all_the_same(language):
    """Pygments' own lexer for HCL takes six minutes for 64 kB of one letter: pytest-timeout would stop this."""
    for pattern in ("a", "\n", "*", '"', "<<EOF\n", "${", '\\"', "- [", "```\n", "/*", "\r", "'\n"):
        assert highlighting.highlighted(pattern * (50_000 // len(pattern)), language)
