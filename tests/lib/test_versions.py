"""Versions: what is refused and how, and that bytes order as SemVer does."""

import random
from functools import cmp_to_key

import pytest
import semver
from hypothesis import given
from hypothesis import strategies as st

from apps.lib import versions
from apps.lib.errors import Invalid
from tests.rows import for_each_row

# The chain of https://semver.org/#spec-item-11, and what it leaves out.
CHAIN = (
    "0.0.0-0", "0.0.0", "0.0.1", "0.1.0", "1.0.0-0", "1.0.0--", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
    "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.9.0", "1.10.0", "2.0.0", "10.0.0",
    "999999999999999999.0.0",
)  # fmt: skip
REFUSED = (
    ("v1.2.0", "Use 1.2.0."), ("V1.2.0", "Use 1.2.0."), ("1.2", "Use 1.2.0."), ("1", "Use 1.0.0."),
    ("v1", "Use 1.0.0."),
    ("01.2.3", "Use 1.2.3."), ("1.02.3", "Use 1.2.3."), (" 1.2.3", "Use 1.2.3."), ("1.2.3\n", "Use 1.2.3."),
    ("=1.2.3", "Use 1.2.3."), ("v1.2.0-rc.1", "Use 1.2.0-rc.1."), ("1.2-beta", "Use 1.2.0-beta."),
    ("", "three numbers"),
    ("latest", "three numbers"), ("1.2.3.4", "three numbers"), ("1.2.x", "three numbers"), ("1.2.3-", "three numbers"),
    ("1.2.3-01", "three numbers"), ("1.2.3-a..b", "three numbers"), ("1.2.3+", "three numbers"),
    ("-1.2.3", "three numbers"), ("1.2.3-rc_1", "three numbers"), ("\u0661.2.3", "three numbers"),
    ("1.2.3\x00", "three numbers"), ("1.2.3-\u00e9", "three numbers"), ("~>1.2.0", "three numbers"),
    ("1.0.0-" + "a" * 123, "Shorten"), ("1234567890123456789.0.0", "smaller numbers"),
    ("1.0.0-1234567890123456789", "smaller numbers"),
)  # fmt: skip

number = st.integers(0, 10**18 - 1).map(str)
word = st.from_regex(r"[0-9]{0,5}[A-Za-z-][0-9A-Za-z-]{0,10}", fullmatch=True)
identifiers = st.lists(st.one_of(number, word), max_size=4)
prerelease = identifiers.map(lambda parts: "-" + ".".join(parts) if parts else "")
version = st.builds("{}.{}.{}{}".format, number, number, number, prerelease).filter(
    lambda text: len(text) <= versions.MAX_CHARACTERS and semver.Version.is_valid(text)
)


def compared(one: str, two: str) -> int:
    """The oracle: -1, 0 or 1 by SemVer precedence."""
    return semver.Version.parse(one).compare(two)


def test_500_versions_order_by_bytes_as_semver_orders_them():
    rng = random.Random(20261121)
    words = ("0", "1", "2", "10", "alpha", "beta", "rc", "rc1", "RC", "a-b", "-", "0a", "x" * 30)
    found: set[str] = set()
    while len(found) < 500:
        core = ".".join(str(rng.choice((0, 1, 2, 9, 10, 99, 100, 10**17))) for _ in range(3))
        parts = [rng.choice(words) for _ in range(rng.randrange(4))]
        found.add(core + ("-" + ".".join(parts) if parts else ""))
    texts = sorted(found)
    by_semver = sorted(texts, key=cmp_to_key(compared))

    assert sorted(texts, key=versions.sort_key) == by_semver


def test_the_chain_of_the_specification_ascends():
    keys = [versions.sort_key(text) for text in CHAIN]

    assert keys == sorted(set(keys))


@given(version, version)
def test_any_two_keys_compare_as_the_versions_do(one: str, two: str):
    first, second = versions.sort_key(one), versions.sort_key(two)

    assert (first > second) - (first < second) == compared(one, two)
    assert max(len(first), len(second)) <= 400


def test_build_metadata_makes_no_other_version_and_no_prerelease():
    plain, built = versions.parse("1.0.0-rc.1"), versions.parse("1.0.0-rc.1+linux.5")

    assert built.sort_key == plain.sort_key
    assert built.precedence == plain.precedence == "1.0.0-rc.1"
    assert str(built) == "1.0.0-rc.1+linux.5"
    assert not versions.parse("1.0.0+a-b").is_prerelease
    assert versions.parse("1.0.0-a+b").is_prerelease


@for_each_row(("text", "hint"), REFUSED)
def test_it_refuses_what_is_no_version_and_suggests_one(text: str, hint: str):
    with pytest.raises(Invalid) as refusal:
        versions.parse(text)

    assert hint in refusal.value.hint
    assert "expected" in str(refusal.value)
    assert repr(text) in str(refusal.value) or len(text) > versions.MAX_CHARACTERS


@for_each_row("text", ["1.0.0-" + "a" * 122, "999999999999999999.0.0", "1.0.0-999999999999999999"])
def test_it_accepts_what_is_just_within_the_caps(text: str):
    assert versions.parse(text).text == text


@for_each_row(
    ("filename", "guessed"),
    [
        ("vpc-1.2.0.zip", "1.2.0"),
        ("terraform-aws-vpc_v1.2.0.tar.gz", "1.2.0"),
        ("vpc-1.2.0-rc.1.zip", "1.2.0-rc.1"),
        ("vpc_1.2.0+build.5.zip", "1.2.0+build.5"),
        ("1.2.0.tgz", "1.2.0"),
        ("v1.2.0.ZIP", "1.2.0"),
        ("C:\\Users\\alice\\vpc-1.2.0.zip", "1.2.0"),
        ("acme.vpc@2.10.3.zip", "2.10.3"),
        ("ipv4-vpc-1.2.0.zip", "1.2.0"),
        ("vpc.zip", None),
        ("vpc-1.2.zip", None),
        ("vpc-01.2.0.zip", None),
        ("vpc-1.2.0.txt", None),
        ("vpc-1.2.3.4.zip", None),
        ("vpc-1234567890123456789.0.0.zip", None),
        ("", None),
    ],
)
def test_it_guesses_the_version_in_a_file_name(filename: str, guessed: str | None):
    assert versions.guess(filename) == guessed
