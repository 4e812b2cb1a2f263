"""Archives become pages: layouts, front matter, links, callouts."""

import re
import tempfile

import pytest

from apps.lib.addresses import ProviderAddress
from apps.lib.archives.sandboxed import Refusal
from apps.lib.digests import Tally
from apps.providers.docs import sources
from apps.releases.docs import layouts, reading, rendering
from apps.releases.docs.layouts import Place
from apps.releases.docs.models import DocsKind
from tests.builders import docs
from tests.modules.test_readme import HOSTILE
from tests.rows import for_each_row

DNS = ProviderAddress("acme", "dns")
AT = "/providers/acme/dns/1.2.0/docs"


def pages_of(files, version="1.2.0"):
    return {(page.kind, page.slug): page for page in docs.pages(files, DNS, version)}


def page_with(text, path="docs/resources/record.md", **more):
    return pages_of({path: text, **more})["resources", "record"]


def read(data):
    tally = Tally()
    tally.update(data)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return sources.archive_texts(file, digest=tally.hexdigest)


def test_todays_layout_gives_a_page_of_every_kind_and_none_of_other_languages():
    assert sorted(pages_of(docs.TODAY)) == [
        ("data-sources", "a_record_set"),
        ("ephemeral-resources", "key"),
        ("functions", "reverse"),
        ("guides", "getting-started"),
        ("overview", "index"),
        ("resources", "record"),
        ("resources", "zone"),
    ]


@for_each_row("suffix", [".md", ".markdown", ".html.md", ".html.markdown"])
def test_every_suffix_of_markdown_is_one(suffix):
    assert list(pages_of({f"docs/resources/zone{suffix}": "x"})) == [("resources", "zone")]


@for_each_row(("top", "cut"), [("", ""), ("terraform-provider-dns-1.2.0/", ""), ("", "docs/"), ("docs-1.2/", "docs/")])
def test_an_archive_may_have_a_folder_around_it_or_none(top, cut):
    files = {f"{top}{name.removeprefix(cut)}": text for name, text in docs.TODAY.items()}
    assert len(pages_of(files)) == 7


def test_packages_are_looked_into_only_below_docs():
    assert not layouts.pages_in(["index.md", "resources/a.md", "x/docs/index.md"], is_archive=False)
    assert layouts.pages_in(["docs/index.md", "LICENSE"], is_archive=False)


@for_each_row(
    "name",
    [
        "docs/resources/../../../etc/passwd.md",
        "docs/resources/a/b.md",
        "docs/resources/.md",
        "docs/resources/<b>.md",
        "docs/resources/a b.md",
        "docs/resources/" + "a" * 101 + ".md",
        "docs/secrets/a.md",
        "DOCS/index.md",
    ],
    ids=["up", "deeper", "nameless", "markup", "space", "long", "unknown", "shouted"],
)
def test_what_cannot_be_an_address_is_no_page(name):
    assert not layouts.pages_in([name], is_archive=False)


FRONT_MATTER = {
    "double": ('page_title: "A: \\"quoted\\" title"', "page_title", 'A: "quoted" title'),
    "single": ("page_title: 'It''s'", "page_title", "It's"),
    "comment": ("page_title: plain # a comment", "page_title", "plain"),
    "empty": ("page_title:", "page_title", ""),
    "plain": ("subcategory: EC2 (Elastic)\nlayout: aws", "subcategory", "EC2 (Elastic)"),
    "literal": ("description: |-\n  One\n\n  two\nlayout: x", "description", "One two"),
    "folded": ("description: >\n  One\n  two", "description", "One two"),
    "goes-on": ("description: One\n  two", "description", "One two"),
    "quoted-on": ('description: "One\n  two"', "description", "One two"),
    "tag": ("page_title: !!python/object:os.system x", "page_title", "!!python/object:os.system x"),
    "anchor": ("page_title: &a [1, 2]", "page_title", "&a [1, 2]"),
    "control": ("page_title: a\x07b", "page_title", "a\ufffdb"),
    "long": ("page_title: " + "x" * 999, "page_title", "x" * 299 + "…"),
    "twice": ("page_title: a\npage_title: b", "page_title", "b"),
    "odd": ("- a list\n? odd\n: lines\npage_title: a", "page_title", "a"),
}


@for_each_row("case", FRONT_MATTER)
def test_front_matter_is_lines_with_values(case):
    lines, field, value = FRONT_MATTER[case]
    said, body = rendering.split(f"---\n{lines}\n---\n# Text\n")
    assert (getattr(said, field), body) == (value, "# Text\n")


@for_each_row("text", ["no front matter\n---\n", "---\nnever: ends\n", "---\n" + "a: b\n" * 9000 + "---\n", "", "---"])
def test_a_text_without_an_end_of_its_front_matter_is_all_text(text):
    assert rendering.split(text) == (rendering.FrontMatter(), text)


def test_pages_are_called_as_configurations_call_them():
    names = {key: page.name for key, page in pages_of(docs.TODAY).items()}
    assert names["resources", "record"] == "dns_record"
    assert names["data-sources", "a_record_set"] == "dns_a_record_set"
    assert names["functions", "reverse"] == "reverse"
    assert names["guides", "getting-started"] == "Getting started"
    assert page_with("# Something else").name == "dns_record"
    assert page_with("# google_record").name == "google_record"
    assert pages_of({"docs/data-sources/dns.md": "# x"})["data-sources", "dns"].name == "dns"


def test_links_between_pages_lead_to_pages():
    found = pages_of(docs.TODAY)
    overview, record = found["overview", "index"].html, found["resources", "record"].html
    assert f'href="{AT}/resources/record"' in overview
    assert f'href="{AT}/data-sources/a_record_set#user-content-attributes"' in overview
    assert 'id="user-content-attributes"' in found["data-sources", "a_record_set"].html
    assert f'href="{AT}/guides/getting-started"' in overview
    assert f'href="{AT}"' in record
    assert "absent" not in record
    assert "nothing" in record


def test_the_old_layout_gives_the_same_kinds_and_its_links_lead_to_pages():
    found = pages_of(docs.BEFORE)
    assert sorted(found) == [
        ("data-sources", "a_record_set"),
        ("guides", "upgrade"),
        ("overview", "index"),
        ("resources", "record"),
    ]
    assert f'href="{AT}/resources/record"' in found["overview", "index"].html
    assert f'href="{AT}/data-sources/a_record_set"' in found["overview", "index"].html
    assert f'href="{AT}"' in found["resources", "record"].html


@for_each_row(
    "href",
    [
        "/providers/acme/cloud/latest/docs",
        "/modules/acme/vpc/aws",
        "/account/logout/",
        "../../../../etc",
        "absent.md",
        "//evil.example",
        "file:///etc/passwd",
        "/admin/",
        "../guides/record.md",
    ],
)
def test_what_is_no_page_here_is_no_link(href):
    assert "<a" not in page_with(f"[x]({href})").html


def test_links_to_the_web_stay_and_are_marked():
    html = page_with("[x](https://example.com/a)").html
    assert 'href="https://example.com/a"' in html
    assert "nofollow" in html


def test_callouts_are_boxes_with_their_words():
    html = pages_of(docs.TODAY)["resources", "record"].html
    boxes = re.findall(r'<div class="markdown-alert markdown-alert-(\w+)">\s*<p[^>]*>(\w+)</p>\s*<p>([^<]*)</p>', html)
    assert boxes == [
        ("note", "Note", "Names are lower case."),
        ("warning", "Warning", "Deleting deletes."),
        ("caution", "Caution", "It is gone."),
    ]


@for_each_row("text", ["- -> in a list\n", "> ~> quoted\n", "-> \n", "->", "a -> b\n", "    -> code\n"])
def test_odd_callouts_leave_the_page_whole(text):
    html = page_with(f"{text}\n\nafter\n").html
    assert html.count("<div") == html.count("</div>")
    assert "<p>after</p>" in html


@for_each_row("source", HOSTILE)
def test_nothing_hostile_survives(source):
    page = page_with(f"---\npage_title: {source!r}\nsubcategory: {source!r}\n---\n-> {source}\n\n{source}\n")
    lowered = page.html.lower()
    for word in ("<script", "<svg", "<iframe", "<object", "<form", "<style", "<math"):
        assert word not in lowered
    assert not re.search(r"<[^>]+\son\w+\s*=", page.html)
    assert not re.search(r'href="(?!https?:|mailto:|#|/providers/acme/dns/1.2.0/docs)', page.html)
    assert not re.search(r'src="(?!data:image/)', page.html)


@for_each_row(
    ("files", "codes", "said"),
    [
        ({"README.md": "# x"}, ["docs_none"], "docs/index.md"),
        ({"docs/index.md": "x" * (reading.MAX_TEXT_BYTES + 1)}, ["docs_too_long"], "docs/index.md"),
        (
            {"docs/index.md": "x" * 400_000, "docs/resources/a.md": "y" * 400_000},
            ["docs_too_many", "docs_too_much"],
            "1",
        ),
    ],
    ids=["no page", "a long page", "many pages"],
)
def test_an_archive_without_pages_or_with_more_than_a_version_may_have_is_refused(files, codes, said, monkeypatch):
    monkeypatch.setattr(sources, "MAX_TOTAL_TEXT_BYTES", reading.MAX_TEXT_BYTES + 10)
    monkeypatch.setattr(layouts, "MAX_PAGES", 1)
    monkeypatch.setattr(sources, "MAX_PAGES", 1)
    with pytest.raises(Refusal) as refused:
        read(docs.archive(files))
    assert [reason.code for reason in refused.value.reasons] == codes
    assert said in str(refused.value)


@for_each_row(
    "data",
    [b"", b"no zip", docs.archive({"../docs/index.md": "x"}), docs.archive()[:-30]],
    ids=["empty", "text", "escaping", "cut"],
)
def test_what_is_no_sound_zip_is_refused(data):
    with pytest.raises(Refusal):
        read(data)


def test_every_page_is_read_in_the_child():
    texts = read(docs.archive())
    assert texts[Place(DocsKind.RESOURCE, "zone")] == docs.TODAY["docs/resources/zone.md"].encode()
    assert len(texts) == 7
