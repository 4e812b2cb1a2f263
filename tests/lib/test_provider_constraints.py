"""Constraints of providers, compared with what OpenTofu's own code makes of the same texts.

tests/golden/lock_files/constraints.json has random texts with their normal form and the versions that they allow, or
null where OpenTofu 1.12.6 refuses them: written by a program of its packages getproviders and go-versions.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.lib import versions
from apps.lib.errors import Invalid
from apps.lib.provider_constraints import MAX_TERMS, Constraints
from tests.rows import for_each_row

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "lock_files" / "constraints.json").read_text())
numbers = st.integers(0, 30)
terms = st.builds(
    "{} {}.{}.{}{}".format,
    st.sampled_from(["=", "!=", ">", ">=", "<", "<=", "~>"]),
    numbers,
    numbers,
    numbers,
    st.sampled_from(["", "", "-rc1", "-beta.2", "+b1"]),
)


@for_each_row(("text", "canonical", "allowed"), GOLDEN["cases"])
def test_it_reads_and_writes_as_opentofu_does(text, canonical, allowed):
    if canonical is None:
        if text.strip():  # who calls refuses an empty one
            with pytest.raises(Invalid):
                Constraints.parse(text)
        return
    constraints = Constraints.parse(text)
    assert str(constraints) == canonical
    assert [one for one in GOLDEN["versions"] if constraints.allows(versions.parse(one))] == allowed


def test_the_golden_file_has_both_kinds():
    kinds = [canonical is None for _, canonical, _ in GOLDEN["cases"]]
    assert kinds.count(True) >= 50
    assert kinds.count(False) >= 200


@given(st.lists(terms, max_size=6))
def test_the_normal_form_is_its_own_normal_form(texts):
    once = Constraints.parse(",".join(texts))
    again = Constraints.parse(str(once))
    assert str(again) == str(once)
    for version in GOLDEN["versions"]:
        assert once.allows(versions.parse(version)) is again.allows(versions.parse(version))


def test_the_highest_version_is_chosen():
    assert Constraints.parse("~> 2").highest(["1.9.0", "2.10.0", "2.9.0", "3.0.0"]) == "2.10.0"
    assert Constraints.parse("").highest(["1.0.0", "2.0.0-rc.1"]) == "1.0.0"
    assert Constraints.parse("> 5").highest(["1.0.0"]) is None


@for_each_row("text", ["1" * 30, ",".join(["1.0.0"] * (MAX_TERMS + 1)), "1.0.0-\0", ">= ٣.0", "~> 1\n.0"])
def test_it_refuses_hostile_texts(text):
    with pytest.raises(Invalid):
        Constraints.parse(text)
