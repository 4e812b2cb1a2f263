"""Files that are not parsed: too large, too deep, too many, cut, not text."""

import json
import unicodedata

import pytest

from apps.modules.inspection import units
from apps.modules.inspection.blocks import MAX_DOCUMENT_BYTES
from tests.modules.inspection.inspections import messages, of_default, unit_of
from tests.rows import for_each_row

MIB = 1024 * 1024


def module_of(texts, sizes=None):
    lengths = {path: len(text) for path, text in texts.items()}
    return units.read_module(texts, lengths | (sizes or {}))["units"]


@for_each_row(
    ("text", "message", "place"),
    [
        (b"a = 1\nb = \0\n", "not read: it contains a NUL byte, so it is not text", (2, 5)),
        (b'a = "\xc3\xa4\xff"\n', "not read: it is not UTF-8", (1, 7)),
        (b"a = 1\n\xff\xfea", "not read: it is not UTF-8", (2, 1)),
    ],
)
def test_a_file_that_is_no_text_is_left_out_with_a_warning(text, message, place):
    unit = unit_of("variable y {}", bad_tf=text)
    assert [entry["name"] for entry in unit.parts["variables"]] == ["y"]
    assert [(note.file, note.message, (note.line, note.column)) for note in unit.diagnostics] == [
        ("bad.tf", message, place)
    ]


def test_a_file_of_five_megabytes_is_left_out_whether_its_text_was_cut_or_not():
    for text in (b"# x\n" * (5 * MIB // 4), b"# x\n"):
        (unit,) = module_of({"main.tf": b"variable y {}", "big.tf": text}, {"big.tf": 5 * MIB})
        assert [entry["name"] for entry in unit["variables"]] == ["y"]
        assert [note["message"] for note in unit["warnings"]] == [
            "not read: it has 5242880 bytes, at most 1048576 are read"
        ]


def test_a_text_that_was_cut_or_not_handed_over_is_left_out():
    (unit,) = module_of({"main.tf": b"variable y {}"}, {"main.tf": 500, "other.tf": 7})
    assert unit["variables"] == []
    assert [note["message"] for note in unit["warnings"]] == [
        "not read: only 13 of its 500 bytes were available",
        "not read: only 0 of its 7 bytes were available",
    ]


@for_each_row("bracket", ["[]", "()", "{}"])
def test_a_hundred_thousand_brackets_are_left_out_and_as_many_as_anybody_writes_are_read(bracket):
    text = f'variable "x" {{\n  default = {bracket[0] * 100_000}{bracket[1] * 100_000}\n}}\n'
    unit = unit_of("variable y {}", deep_tf=text)
    assert [entry["name"] for entry in unit.parts["variables"]] == ["y"]
    assert [(note.line, note.message) for note in unit.diagnostics] == [(2, "not read: more than 200 nested brackets")]
    in_templates = messages(unit_of('x = "' + '${"' * 100_000))
    assert in_templates == ["not read: more than 200 nested brackets"]
    assert json.dumps(of_default("[" * 199 + "]" * 199)["value"]) == "[" * 199 + "]" * 199


def test_so_many_files_are_read_and_an_override_beyond_them_makes_defaults_unknown(monkeypatch):
    monkeypatch.setattr(units, "MAX_FILES", 40)
    texts = {f"f{number:04}.tf": f"variable v{number} {{}}\n".encode() for number in range(41)}
    texts["modules/a/main.tf"] = b"variable x {}\n"
    root, submodule = module_of(texts)
    assert len(root["variables"]) == 40
    assert [(note["file"], note["message"]) for note in root["warnings"]] == [
        ("f0040.tf", "not read, and 0 more of this folder: at most 40 module files of an archive are")
    ]
    assert (submodule["variables"], len(submodule["warnings"])) == ([], 1)

    texts = {f"f{number:04}.tf": f"variable v{number} {{\n  default = 1\n}}\n".encode() for number in range(40)}
    texts["z_override.tf"] = b"variable v1 {\n  sensitive = true\n}\n"
    (root,) = module_of(texts)
    assert {entry["default"] for entry in root["variables"]} == {"(unknown)"}


def test_a_value_that_fills_pages_is_not_shown():
    unit = unit_of('variable "x" {\n  default = "%s"\n}\n' % ("y" * 70_000))
    assert unit.parts["variables"][0]["default"] == "(unknown)"
    assert messages(unit) == ["not shown: this value is longer than 65536 bytes"]


def test_a_unit_has_at_most_a_hundred_warnings():
    (root,) = module_of({"main.tf": b"x {\n  a = 1 b = 2\n}\n" * 500})
    assert len(root["warnings"]) == 100
    assert root["warnings"][-1]["message"] == "and more warnings"


@pytest.mark.slow
def test_a_document_that_no_page_could_hold_is_cut():
    units = module_of({"main.tf": b"".join(b"output o%d {}\n" % number for number in range(40_000))})
    assert MAX_DOCUMENT_BYTES * 0.99 < len(json.dumps(units)) < MAX_DOCUMENT_BYTES + 1_000


# What a publisher could send to the judge of the language: each file is at its limit. Ten seconds of the child would
# be a minute on a busy machine, so only the answer is asserted; the child's own limits are tested with it.
HOSTILE = {
    "nested blocks": b"a {\n" * 250_000,
    "a deep type": b'variable "x" {\n  type = ' + b"list(" * 10_000 + b"any" + b")" * 10_000 + b"\n}\n",
    "a long default": b'variable "x" {\n  type    = string\n  default = [' + b'"a", ' * 150_000 + b"]\n}\n",
    "wrong arguments": b'variable "x" {\n' + b"".join(b"a%d = 1\n" % at for at in range(50_000)) + b"}\n",
    "elements on a line": b"locals {\n  a = {" + b" b = {}" * 50_000 + b"}\n}\n",
    "carriage returns": b"# \r\r\r\r\r\r\r\n" * 80_000,
    "loops beside each other": b"locals {\n  a = [" + b"[for a in var.b : a.c], " * 40_000 + b"]\n}\n",
    "loops in a template": b'x {\n  a = "' + b"%{for a in b}" * 30_000 + b"%{endfor}" * 30_000 + b'"\n}\n',
    "branches in each other": b"locals {\n  a = " + b"var.b ? f(1) : " * 60_000 + b"1\n}\n",
    "a chain of local values": b"locals {\n"
    + b"".join(b"  a%d = local.a%d\n" % (i, i + 1) for i in range(40_000))
    + b"}\n",
    "bytes that are no text": b'variable "x" {\n  default = "' + b"\xff" * 500_000 + b'"\n}\n',
}


@pytest.mark.slow
@for_each_row("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_costs_a_few_findings_and_no_other_file(text):
    unit = unit_of("variable y {}", bad_tf=text)
    assert "y" in [entry["name"] for entry in unit.parts["variables"]]
    assert len(unit.faults) <= 50_000 // 2_000
    assert all(len(one.message) < 1_000 for one in unit.faults)


@for_each_row(
    ("text", "is_fault"),
    [
        (b'variable "x" {\n  default = "\xff"\n}\n', True),
        (b"caf\xe9 {}\n", True),
        (b'variable "x" {}\n\0\n', True),
        (b"# caf\xe9\n", False),
        (b'variable "x" {} // \xff\n', False),
        (b"/* \0 */\n", False),
        (b'variable "x" {\n  default = "\0"\n}\n', False),
        (b"\xef\xbb\xbfvariable x {}\n", False),  # the byte order mark
    ],
)
def test_bytes_that_stop_every_client_are_a_fault_and_those_that_clients_read_over_are_none(text, is_fault):
    found = [one.message for one in unit_of(text).faults]
    assert found == ["found a byte that is not text, expected UTF-8"] * is_fault


def test_names_of_every_kind_of_character_are_judged():
    kinds = {unicodedata.category(chr(code)): chr(code) for code in range(1, 0x1_10000) if not 0xD800 <= code < 0xE000}
    refused = {kind for kind, letter in kinds.items() if unit_of(f'variable "a{letter}" {{}}\n').faults}
    assert {"Zs", "Po", "Sm", "So", "Cc"} <= refused
    assert not refused & {"Lu", "Ll", "Lo", "Nd", "Mn"}
