"""The manifest of a provider: it names the protocols, or says what is wrong with it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.lib.archives.sandboxed import Refusal
from apps.lib.formats import registry_manifest
from tests.rows import for_each_row


def of(protocols: object, version: object = 1) -> bytes:
    return json.dumps({"version": version, "metadata": {"protocol_versions": protocols}}).encode()


@for_each_row("protocols", [["5.0"], ["6.0", "5.1"], ["4.0"], ["6.10"], ["0.0"]], ids=", ".join)
def test_it_names_the_protocols_in_their_order(protocols: list[str]):
    assert registry_manifest.parse(of(protocols)) == protocols
    assert registry_manifest.protocols_checked(protocols) == protocols


def test_further_keys_are_left_alone():
    data = b'{"version": 1, "metadata": {"protocol_versions": ["5.0"], "x": 1}, "y": [null]}\r\n'

    assert registry_manifest.parse(data) == ["5.0"]


BROKEN = (
    ("nothing", b"", "manifest_not_json"),
    ("no JSON", b"version: 1\n", "manifest_not_json"),
    ("half a document", of(["5.0"])[:-1], "manifest_not_json"),
    ("two documents", of(["5.0"]) * 2, "manifest_not_json"),
    ("a list", b'["5.0"]', "manifest_not_json"),
    ("null", b"null", "manifest_not_json"),
    ("depth without end", b"[" * 60_000, "manifest_not_json"),
    ("a number without end", b'{"version": ' + b"1" * 60_000 + b"}", "manifest_not_json"),
    ("a byte order mark", b"\xef\xbb\xbf" + of(["5.0"]), "manifest_not_json"),
    ("UTF-16", of(["5.0"]).decode().encode("utf-16"), "manifest_encoding"),
    ("a key twice", b'{"version": 1, "version": 1}', "manifest_duplicate"),
    ("a key twice inside", b'{"version": 1, "metadata": {"x": 1, "x": 2}}', "manifest_duplicate"),
    ("another version", of(["5.0"], 2), "manifest_version"),
    ("a version as text", of(["5.0"], "1"), "manifest_version"),
    ("a version that is true", of(["5.0"], True), "manifest_version"),
    ("a version with a point", of(["5.0"], 1.0), "manifest_version"),
    ("no version", b'{"metadata": {"protocol_versions": ["5.0"]}}', "manifest_version"),
    ("no metadata", b'{"version": 1}', "manifest_metadata"),
    ("metadata as a list", b'{"version": 1, "metadata": ["5.0"]}', "manifest_metadata"),
    ("no protocols", b'{"version": 1, "metadata": {}}', "manifest_protocols"),
    ("one protocol as text", of("5.0"), "manifest_protocols"),
    ("too long", of(["5.0"]) + b" " * registry_manifest.MAX_BYTES, "manifest_too_large"),
)
PROTOCOLS: tuple[tuple[str, list[object]], ...] = (
    ("none", []),
    ("a number", [5.0]),
    ("null", [None]),
    ("a list", [["5.0"]]),
    ("a major number alone", ["5"]),
    ("three numbers", ["5.0.0"]),
    ("a v", ["v5.0"]),
    ("a space", ["5.0 "]),
    ("a line break", ["5.0\n"]),
    ("a leading zero", ["05.0"]),
    ("another script's digit", ["\u0665.0"]),
    ("an endless number", ["5." + "0" * 400]),
    ("one bad one", ["5.0", "six"]),
    ("the same twice", ["5.0", "5.0"]),
    ("too many", [f"5.{number}" for number in range(11)]),
)


@for_each_row(("data", "code"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_it_refuses_each_broken_manifest_by_its_own_code(data: bytes, code: str):
    with pytest.raises(Refusal) as refusal:
        registry_manifest.parse(data, file="x_manifest.json")

    reason = refusal.value.reasons[0]
    assert (reason.code, reason.file) == (code, "x_manifest.json")
    assert reason.hint
    assert str(refusal.value).isprintable()


@for_each_row("protocols", [case[1] for case in PROTOCOLS], ids=[case[0] for case in PROTOCOLS])
def test_it_refuses_protocols_that_no_client_reads(protocols: list[object]):
    for ask in (lambda: registry_manifest.parse(of(protocols)), lambda: registry_manifest.protocols_checked(protocols)):
        with pytest.raises(Refusal) as refusal:
            ask()
        assert {reason.code for reason in refusal.value.reasons} == {"manifest_protocols"}
        assert len(str(refusal.value)) < 700


def test_each_bad_protocol_is_told():
    with pytest.raises(Refusal) as refusal:
        registry_manifest.protocols_checked(["5", "5.0", "six"])
    assert [reason.found for reason in refusal.value.reasons] == ['the protocol "5"', 'the protocol "six"']


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), st.lists))
def test_any_value_is_taken_or_refused(value: object):
    try:
        protocols = registry_manifest.parse(of(value))
    except Refusal:
        return
    assert protocols == value
