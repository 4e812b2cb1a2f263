"""The small part of HCL: what it reads, what it passes, what it refuses, and how long it may take."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.lib.errors import Invalid
from apps.lib.formats.plain_hcl import MAX_BYTES, Expression, Number, parse, quoted
from tests.rows import for_each_row


def values_of(text):
    return {name: one.value for name, one in parse(text, what="text").attributes.items()}


def test_it_reads_literals():
    found = values_of('a = "x"\nb=true\nc = null # no\nd = [1, "y",\n  false, // z\n]\ne = { f = 1\n "g" : "h", }')
    assert found == {
        "a": "x",
        "b": True,
        "c": None,
        "d": [Number("1"), "y", False],
        "e": {"f": Number("1"), "g": "h"},
    }


@for_each_row(
    "expression",
    [
        "var.x",
        "f(1, [2])",
        '"${a("}")}"',
        '"a ${"b ${c} }"} d"',
        "1 + 2",
        "[for a in b : a]",
        "{ for a in b : a => a }",
        "a ? b : {\n c = d\n}",
        '<<EOT\n } "\nEOT',
        "<<-EOT\n x\n  EOT",
        "!a",
        "-1",
        "(\n1\n)",
        "a[0].b",
    ],
)
def test_it_passes_what_is_not_literal(expression):
    assert values_of(f'a = {expression}\nb = "x"') == {"a": Expression(), "b": "x"}


def test_it_reads_escapes_and_marks():
    assert values_of(r'a = "\n\t\"\\é\U0001F600 $${x} %%{y} $ % 5%"') == {"a": '\n\t"\\é😀 ${x} %{y} $ % 5%'}
    assert values_of('a = "e\u0301"') == {"a": "\u00e9"}  # as HCL: NFC


def test_it_reads_blocks_with_their_lines():
    body = parse('\ufeffterraform {\r\n  /* a\n  comment */ required_providers { a = "1" }\n}\n', what="text")
    block = body.blocks[0].body.blocks[0]
    assert (block.kind, block.line, block.body.attributes["a"].value) == ("required_providers", 3, "1")


@for_each_row(
    ("text", "part"),
    [
        ('a = "x', "Line 1: found a text without its closing quote"),
        ('a = "x\n"', "Line 1: found a text without its closing quote"),
        ('\n\na = "\\q"', "Line 3: found the escape \\q"),
        ('a = "\\ud800"', "the escape \\u"),
        ("a = 1\na = 2", "Line 2: found a a second time"),
        ("a = 1 b = 2", "expected"),
        ("a {", "expected '}'"),
        ("a = {\n", "expected"),
        ("a = [1 2]", "expected"),
        ("}", "found '}'"),
        ("a = f(", "without its end"),
        ("a = f(]", "brackets in pairs"),
        ("a", "expected = or {"),
        ("a = <<X\n", "expected a line with X"),
        ("/* a", "a comment without its end"),
        ("a {" * 50, "more nested blocks"),
        ("a = " + "[" * 50, "more nested values"),
        ('a = "' + '${"' * 50, "more nested templates"),
        ("a" * (MAX_BYTES + 1), "expected at most"),
        ("a = [" + "1," * 40_000 + "]", "words and marks"),
    ],
)
def test_it_says_what_is_wrong_and_where(text, part):
    with pytest.raises(Invalid) as refused:
        parse(text, what="text")
    assert part in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.slow
@given(st.text(max_size=200))
def test_quoted_texts_are_read_back(text):
    text = unicodedata.normalize("NFC", text)
    if not any(0xD800 <= ord(character) < 0xE000 for character in text):
        assert values_of(f"a = {quoted(text)}") == {"a": text}


@given(st.text(alphabet='ab1"\\${}[](),=:\n#/*<->!? ', max_size=120))
def test_any_text_is_read_or_refused(text):
    message = ""
    try:
        parse(text, what="text")
    except Invalid as refused:
        message = str(refused)
    assert len(message) < 400


@for_each_row("piece", ["{", "[", "(", '"', "${", '"${', "<<A\n", "/*", "#\n}", "a=", "-", 'a="\\u', "a {", "1,"])
def test_half_a_megabyte_takes_no_longer_than_it_should(piece):
    text = ('a = "' if piece == "${" else "a = [" if piece == "1," else "") + piece * (500_000 // len(piece))
    begin = time.process_time()
    with pytest.raises(Invalid):
        parse(text[:MAX_BYTES], what="text")
    assert time.process_time() - begin < 5
