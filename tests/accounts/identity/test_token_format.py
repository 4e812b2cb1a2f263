"""The token's form (D13): what secret scanners find, and what is refused without asking the database."""

import random
import re
import string
from typing import Any

import pytest

from apps.accounts.identity import tokens
from tests.house import sources
from tests.rows import for_each_row

BASE62 = string.ascii_letters + string.digits


def found_in(text: str) -> list[str]:
    return [secret for secret in re.findall(tokens.TOKEN_PATTERN, text) if tokens.is_well_formed(secret)]


def test_it_finds_every_planted_token_and_no_decoy():
    """A decoy has the shape and a wrong check value, as text that only looks like a token has."""
    noise = random.Random(3)
    planted, parts = [], []
    for _ in range(10_000):
        planted.append(tokens.new_secret())
        decoy = "lrd_u_" + "".join(noise.choices(BASE62, k=42))
        parts += ["".join(noise.choices(BASE62 + " \n_-=", k=60)), f' token = "{planted[-1]}"\n', decoy, " "]

    assert found_in("".join(parts)) == planted


@pytest.mark.slow
def test_it_finds_nothing_in_ten_megabytes_of_noise():
    noise = random.Random(4)
    text = "".join(noise.choices(BASE62, k=10_000_000))

    assert found_in(text) == []


def test_it_has_210_random_bits_and_selects_by_double_click():
    secret = tokens.new_secret()

    assert re.fullmatch(r"lrd_u_[0-9A-Za-z]{42}", secret)
    assert re.fullmatch(r"\w+", secret)
    assert len({tokens.new_secret() for _ in range(1000)}) == 1000


def with_one_changed_character(secret: str) -> str:
    return secret[:20] + ("b" if secret[20] == "a" else "a") + secret[21:]


@for_each_row(
    "mangle",
    [with_one_changed_character, str.swapcase, lambda secret: secret[:-1], lambda secret: secret + "a", lambda _: ""],
)
def test_it_refuses_a_mangled_token_without_a_query(mangle, db, django_assert_num_queries):
    secret = mangle(tokens.new_secret())

    with django_assert_num_queries(0), pytest.raises(tokens.TokenRefused):
        tokens.identify(secret)


def test_the_check_value_is_frozen():
    """Published: scanners elsewhere compute it by themselves."""
    assert tokens.check_value("lrd_u_" + "0" * 36) == "2in7oy"


def test_the_published_check_finds_what_larder_makes():
    text = (sources.CHECKOUT / "docs/tokens.md").read_text()
    published: dict[str, Any] = {}
    exec(text.partition("```python\n")[2].partition("```")[0], published)  # noqa: S102
    secret = tokens.new_secret("s")

    assert tokens.TOKEN_PATTERN in text
    assert published["is_token"](secret)
    assert not published["is_token"](secret[:-1] + ("0" if secret[-1] != "0" else "1"))
