"""What a README may do on our pages: say things, and nothing else."""

import pytest

from apps.modules import readme

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


@pytest.mark.parametrize("source", HOSTILE)
def test_nothing_hostile_survives_as_a_tag(source):
    html = readme.render(source.encode())

    lowered = html.lower()
    assert not [tag for tag in ACTING if tag in lowered]
    assert 'href="javascript' not in lowered
    assert 'href="data:' not in lowered
    assert 'href="vbscript' not in lowered
    assert 'src="http' not in lowered
    assert 'src="//' not in lowered


def test_what_authors_use_is_rendered():
    html = readme.render(
        b"# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n\n"
        b"> [!WARNING]\n> careful\n\n~~gone~~ `code` **bold**\n"
    )

    for expected in ("<h2", "<table>", 'type="checkbox"', "markdown-alert-warning", "<s>", "<code>"):
        assert expected in html


def test_ids_cannot_clash_with_those_of_the_page():
    html = readme.render(b"text[^1]\n\n[^1]: note\n")

    assert 'id="user-content-' in html
    assert '<p id="main"' not in readme.render(b'<p id="main">x</p>')


@pytest.mark.parametrize(
    "source", [b"", b"\xff\xfe\x00broken", b"\xef\xbb\xbf# bom", b"[" * 20_000, b"> " * 5_000, b"`" * 30_000]
)
def test_odd_bytes_and_bombs_are_rendered_without_an_error(source):
    assert isinstance(readme.render(source), str)
