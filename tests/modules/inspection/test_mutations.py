"""Thousands of damaged files, and whatever Hypothesis thinks of: a document comes out, and says nothing untrue."""

import json
import random
import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from apps.modules.inspection import units
from apps.modules.inspection.units import INTERNAL_ERROR
from tests.builders import modules
from tests.rows import for_each_row

SECRET = b"hunter2"
GUARDED = b'variable "guarded" {\n  default   = "hunter2"\n  sensitive = true\n}\n'
NATIVE = [
    data
    for module in (modules.network, modules.kubernetes)
    for path, data in module("2.0.0").items()
    if path.endswith(".tf")
]
DOCUMENT = json.dumps(
    {
        "variable": {"a": {"type": "any", "default": ["x", {"y": 1}]}, "s": {"sensitive": True, "default": "hunter2"}},
        "resource": [{"a_b": {"c": {"provider": "d.e"}}}],
        "terraform": {"required_providers": {"a": {"source": "b/a", "configuration_aliases": ["a.b"]}}},
    },
    indent=1,
).encode()
PIECES = (
    *(b'"', b"{", b"}", b"[", b"]", b"(", b")", b"${", b"%{", b"\\", b"$", b",", b"=", b"\n", b"\r", b"?", b"..."),
    *(b"<<EOT\n", b"<<-EOT\n", b"EOT\n", b"/*", b"*/", b"#", b"1e+3", b"\0", b"\xff", b"\xef\xbb\xbf", b"null"),
    *(b'variable "q" {\n', b"  default = 1\n", b"\n}\n", b"\xf0\x9f\x98\x80", b"'", b"//"),
)


def mutated(rng: random.Random, source: bytes) -> bytes:
    data = bytearray(source)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at, length, how = rng.randrange(len(data) + 1), rng.randrange(1, 40), rng.randrange(4)
        if how == 0:
            data[at:at] = rng.choice(PIECES)
        elif how == 1:
            del data[at : at + length]
        elif how == 2:
            data[at:at] = data[(start := rng.randrange(len(data) + 1)) : start + length]
        elif at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def checked(files):
    document = units.read_module(files, {path: len(data) for path, data in files.items()})
    text = json.dumps(document)
    assert INTERNAL_ERROR not in text  # the net under the readers: nothing may have fallen into it
    assert "\\u0000" not in text
    text.encode()
    return document, text


@pytest.mark.slow
@for_each_row("seed", range(10))
def test_a_damaged_file_is_read_as_far_as_it_goes(seed):
    rng = random.Random(seed)
    for _ in range(150):
        native = rng.choice(NATIVE)
        checked(
            {"main.tf": mutated(rng, native), "main_override.tf": mutated(rng, native) if rng.random() < 0.2 else b""}
        )
        checked({"main.tf.json": mutated(rng, DOCUMENT)})


@pytest.mark.slow
@for_each_row("seed", range(5))
def test_damage_elsewhere_lets_no_secret_out(seed):
    """The block of the secret is whole; everything around it is not."""
    rng = random.Random(1000 + seed)
    for _ in range(100):
        before, after = rng.choice(NATIVE), rng.choice(NATIVE)
        document, text = checked({"main.tf": mutated(rng, before) + b"\n" + GUARDED + mutated(rng, after)})
        # Without a warning the file is sound: a heredoc that lost its end found another, and OpenTofu reads it so too.
        assert SECRET.decode() not in text or not document["units"][0]["warnings"]


@for_each_row("seed", range(2))
def test_a_default_that_is_shown_stands_in_the_file(seed):
    rng = random.Random(2000 + seed)
    for _ in range(100):
        data = mutated(rng, rng.choice(NATIVE))
        document, _ = checked({"main.tf": data})
        text = b"".join(data.split()).decode("utf-8", "replace")
        for entry in document["units"][0]["variables"]:
            if entry["default"] not in (None, "(unknown)", "(sensitive)"):
                assert "".join(entry["default"].split()) in text


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=300), st.lists(st.sampled_from(PIECES), max_size=40))
def test_no_bytes_at_all_raise(data, pieces):
    text = b"".join(pieces)
    checked(
        {"a.tf": data, "b.tf": text, "override.tofu": data + text, "c.tf.json": data, "modules/m/d.tofu.json": text}
    )


NOT_IN_HCL = {"b": "\\u0008", "f": "\\u000c"}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcxyz ", min_size=1), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(VALUES)
@example("\\b")
@example("\b \f")
def test_a_literal_comes_back_as_the_value_that_was_written(value):
    """JSON is HCL except for the start of a template, so a JSON writer checks our decoder."""
    source = json.dumps(value, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
    # HCL has no \b and \f. A backslash before a b is a pair of its own.
    source = re.sub(r"\\(.)", lambda escape: NOT_IN_HCL.get(escape[1], escape[0]), source)
    document, _ = checked({"main.tf": f'variable "x" {{\n  default = {source}\n}}\n'.encode()})
    assert document["units"][0]["variables"][0]["value"] == value
