"""READMEs are shown on our pages, but cannot act there."""

import re

import pytest

from apps.lib.markdown import rendering
from apps.modules.contents import readme
from tests.rows import for_each_row

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](https://tracker.example/pixel.png)",
    "![x](//tracker.example/pixel.png)",
    "<svg onload=alert(1)>",
    "<math><annotation-xml encoding='text/html'><script>alert(1)</script></annotation-xml></math>",
    "<iframe src=https://evil.example></iframe>",
    "<form action=https://evil.example><button>x</button></form>",
    '<div hx-get="/tokens" hx-trigger="load">x</div>',
    "<style>body{display:none}</style>",
    "<base href=https://evil.example>",
    '<a href="x" onclick="alert(1)">x</a>',
    '<a href="javascript:alert(1)">x</a>',
    '<img src="https://tracker.example/pixel.png" alt="x">',
    "[x](vbscript:alert(1))",
    '<p style="position:fixed">x</p>',
    "<object data=x></object><embed src=x>",
    "[a]: javascript:alert(1)\n\n[click][a]",
    "<details open ontoggle=alert(1)>x</details>",
]
ACTING = [
    "<script",
    "<img",
    "<svg",
    "<math",
    "<iframe",
    "<form",
    "<style",
    "<base",
    "<object",
    "<embed",
    "<details open ontoggle",
]
AT = "/modules/acme/vpc/aws/1.0.0"
FILES = ["README.md", "main.tf", "docs/a b.md", "docs/logo.png", "docs/logo.svg", "modules/subnets/main.tf"]


def rendered(text, base=""):
    return readme.render(text.encode(), prefix=AT, base=base, files=FILES)


@for_each_row("source", HOSTILE)
def test_nothing_hostile_survives_as_a_tag(source):
    html = readme.render(source.encode())

    lowered = html.lower()
    assert not [tag for tag in ACTING if tag in lowered]
    assert 'href="javascript' not in lowered
    assert 'href="data:' not in lowered
    assert 'href="vbscript' not in lowered
    assert 'src="http' not in lowered
    assert 'src="//' not in lowered


@for_each_row("source", [one for one in HOSTILE if one.startswith("<")])
def test_the_sanitiser_alone_lets_none_of_it_through(source):
    """The parser writes none of these tags. If it ever did, the sanitiser would be all that is left."""
    html = rendering._cleaner((), ()).clean(source).lower()

    assert not [tag for tag in ACTING if tag in html and tag != "<img"]
    assert not re.findall(r"\b(?:href|src|style|on\w+|hx-[\w-]+)=", html)


def test_what_authors_use_is_rendered():
    html = readme.render(
        b"# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n\n"
        b"> [!WARNING]\n> careful\n\n~~gone~~ `code` **bold**\n"
    )

    for expected in ("<h2", "<table>", 'type="checkbox"', "markdown-alert-warning", "<s>", "<code>"):
        assert expected in html


def test_what_terraform_docs_writes_is_rendered():
    html = rendered(
        "<!-- BEGIN_TF_DOCS -->\n| Name | Type |\n|---|---|\n"
        '| <a name="input_azs"></a> [azs](#input\\_azs) | <pre>list(object({<br/>  a = string<br/>}))</pre> |\n'
        "<!-- a comment\n\nover blank lines -->\n\n<details><summary>More</summary>\n\nhidden **text**\n\n</details>\n"
    )

    assert 'id="user-content-input_azs"' in html
    assert 'href="#user-content-input_azs"' in html
    assert '<pre tabindex="0">list(object({<br>  a = string<br>}))</pre>' in html
    assert "<details><summary>More</summary>" in html
    assert "<strong>text</strong>" in html
    assert "TF_DOCS" not in html
    assert "blank" not in html


def test_headings_have_the_anchors_of_github_and_none_can_clash_with_an_id_of_the_page():
    html = readme.render("# The `vpc` Module, explained!\n## Use_it\n## Use_it\n## Über uns\n".encode())
    noted = readme.render(b"text[^1]\n\n[^1]: note\n")

    ids = re.findall(r'id="user-content-([^"]*)"', html)
    assert ids == ["the-vpc-module-explained", "use_it", "use_it-1", "über-uns"]
    assert 'id="user-content-fn1"' in noted
    assert 'href="#user-content-fn1"' in noted
    assert '<p id="main"' not in readme.render(b'<p id="main">x</p>')


@for_each_row(
    ("target", "base", "expected"),
    [
        ("main.tf", "", f"{AT}/files/main.tf"),
        ("./main.tf#L10-L20", "", f"{AT}/files/main.tf#L10-L20"),
        ("docs/a%20b.md", "", f"{AT}/files/docs/a%20b.md"),
        ("modules/subnets", "", f"{AT}/files/modules/subnets"),
        ("modules/subnets/", "", f"{AT}/files/modules/subnets"),
        ("/main.tf?plain=1", "modules/subnets", f"{AT}/files/main.tf"),
        ("main.tf", "modules/subnets", f"{AT}/files/modules/subnets/main.tf"),
        ("../../main.tf", "modules/subnets", f"{AT}/files/main.tf"),
        ("..", "modules/subnets", f"{AT}/files/modules"),
        ("/", "modules/subnets", f"{AT}/files"),
        ("#Anchor", "", "#user-content-Anchor"),
        ("https://opentofu.org/docs", "", "https://opentofu.org/docs"),
        ("mailto:a@example.com", "", "mailto:a@example.com"),
        ("missing.md", "", None),
        ("../issues", "", None),
        ("../../../main.tf", "modules/subnets", None),
        ("docs/%2e%2e/%2e%2e/x", "", None),
        ("//evil.example/x", "", None),
        ("ftp://example.com", "", None),
        ("https:main.tf", "", None),
        ("x" * 3000, "", None),
    ],
)
def test_a_link_leads_to_a_file_of_this_version_or_to_the_web_or_is_text(target, base, expected):
    html = rendered(f"[words]({target})", base)

    assert re.findall(r'href="([^"]*)"', html) == ([expected] if expected else [])
    assert "words" in html


@for_each_row(
    ("source", "expected"),
    [
        ("![logo](docs/logo.png)", f"{AT}/raw/docs/logo.png"),
        ('<img src="/docs/logo.png?raw=true" width="20">', f"{AT}/raw/docs/logo.png"),
        ("![logo](docs/logo.svg)", None),
        ("![logo](docs/other.png)", None),
        ("![logo](https://example.com/logo.png)", None),
        ("![logo](main.tf)", None),
        ("[![](https://ci.example/badge.png)](https://ci.example) logo", None),
    ],
)
def test_an_image_of_the_archive_is_shown_and_any_other_is_its_words(source, expected):
    html = rendered(source)

    assert re.findall(r'src="([^"]*)"', html) == ([expected] if expected else [])
    assert expected or "logo" in html
    assert "<a" not in html, "a badge without words leaves no empty link"


def test_a_reference_that_is_used_often_cannot_blow_up_the_page():
    image = "[i]: data:image/png;base64," + "A" * 100_000
    html = rendered(f"{image}\n\n" + "![x][i] " * 1000)

    assert len(html) < 2_000_000


@for_each_row(
    ("source", "expected"),
    [
        ("# VPC\n\nA *small* module for `aws`\nand more.\n\nSecond.", "A small module for aws and more."),
        (
            "<!-- x -->\n[![b](https://b/b.png)](https://b)\n\n[Docs](a.md) | [Web](https://x)\n\nSays [it](b).",
            "Says it.",
        ),
        ('<h1 align="center">VPC</h1>\n\n> a quote\n\n- a list\n\nText.', "Text."),
        ("![Logo](logo.png)\n\nText.", "Text."),
        ("# Only a heading", ""),
        ("", ""),
        ("word " * 100, ("word " * 59).strip() + "…"),
        ("<details><summary>More</summary>\n\nInside.\n\n- a list\n\n</details>\n\nText.", "Text."),
        ("<details>\n<summary>More</summary>Inside.</details> Text.\n\nSecond.", "Text."),
        ("<details><details><summary>More</details>\n\nInside.\n\n</details></details>\n\nText.", "Text."),
        ("- <details>\n\n  Inside.\n\n> </details>\n\nText.", "Text."),
        ("</details>`<details>`\n\nSecond.", "<details>"),
        ("<details><summary>More</summary>\n\nNever closed.", ""),
        ("<b>bold</b> & <script>x</script>", "bold & <script>x</script>"),
        (f"[![Head][h]][l]\n\nText.\n\n{'More. ' * 4000}\n\n[h]: https://h/h.png\n[l]: https://l", "Text."),
        ("[![Head][nowhere]][gone] ![x][y]\n\nText.", "Text."),
        ("<picture>\n<source srcset='a.png'>\n<img src='b.png' alt='Logo'>\n</picture>\n\nText.", "Text."),
    ],
)
def test_the_summary_is_the_first_paragraph_as_text(source, expected):
    assert readme.summary(source.encode()) == expected


def test_a_description_is_markdown_without_headings_images_and_html():
    html = readme.describe("# no heading\n\n- a **list**\n\n![x](https://t.example/x.png) <b>x</b> [y](main.tf)")

    assert "<strong>list</strong>" in html
    assert "# no heading" in html
    assert "&lt;b&gt;" in html
    assert not re.search(r"<h\d|<img|<b>|href", html)


@pytest.mark.slow
@for_each_row(
    "source",
    [
        b"",
        b"\xff\xfe\x00broken",
        b"\xef\xbb\xbf# bom",
        *(
            pattern * (rendering.MAX_CHARACTERS // len(pattern))
            for pattern in (b"[", b"![", b"[a ", b"^[", b"<a:", b"<!--\n\n", b"> ", b"- ", b"`", b"*a_", b"<a ")
        ),
        b"|a|b|\n|-|-|\n" + b"|1|2|\n" * 80_000,
        b"[a]: " + b"x" * 200_000 + b"\n\n" + b"[a] " * 20_000,
    ],
    ids=lambda source: repr(source[:8]),
)
def test_odd_bytes_and_bombs_are_rendered_without_an_error(source):
    assert len(readme.render(source)) <= 8 * max(len(source), 1)
