"""Tokens as rows: found in one query, dead at once when they should be, their secret nowhere."""

import random
import re
import string
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.identity.token_usage import PRECISION, UsageBuffer, client_of
from apps.accounts.models import ApiToken, Scope
from apps.http import ready
from apps.lib.errors import Invalid
from tests.house import sources
from tests.rows import for_each_row

BASE62 = string.ascii_letters + string.digits


@pytest.fixture
def issue(alice):
    def issued(**more):
        return tokens.issue(**{"user": alice, "label": "CI", "scope": Scope.READ, "actor": Viewer(alice), **more})

    return issued


def test_it_finds_the_token_and_its_user_in_one_query(issue, alice, django_assert_num_queries):
    token, secret = issue()

    with django_assert_num_queries(1):
        found = tokens.identify(secret)
        assert found == token
        assert found.user == alice


def test_a_revoked_token_is_dead_at_once_and_revoking_twice_records_once(issue, alice, event_kinds):
    token, secret = issue()

    tokens.revoke(token=token, actor=Viewer(alice))
    tokens.revoke(token=token, actor=Viewer(alice))

    assert event_kinds() == ["account:token:issued", "account:token:revoked"]
    with pytest.raises(tokens.TokenRefused, match="revoked"):
        tokens.identify(secret)


def test_the_tokens_of_an_account_that_is_switched_off_stop_at_once(issue, alice):
    _, secret = issue()
    alice.is_active = False
    alice.save()

    with pytest.raises(tokens.TokenRefused):
        tokens.identify(secret)


def test_it_lives_for_90_days_unless_told(issue):
    token, _ = issue()

    assert token.expires_at - token.created_at == pytest.approx(timedelta(days=90), abs=timedelta(seconds=5))


@for_each_row(
    "wrong",
    [
        {"label": "  "},
        {"label": "x" * 81},
        {"scope": "root"},
        {"lifetime": timedelta(0)},
        {"lifetime": timedelta(days=366)},
        {"only_name": "vpc/AWS"},
        {"only_name": "vpc/aws/x"},
    ],
)
def test_it_refuses_what_makes_no_sense(issue, wrong):
    with pytest.raises(Invalid):
        issue(**wrong)

    assert not ApiToken.objects.exists()


# --- The form (D13): what secret scanners find, and what is refused without asking the database ----------------------


def found_in(text: str) -> list[str]:
    return [secret for secret in re.findall(tokens.TOKEN_PATTERN, text) if tokens.is_well_formed(secret)]


def test_it_finds_every_planted_token_and_no_decoy():
    """A decoy has the shape and a wrong check value, as text that only looks like a token has."""
    noise = random.Random(3)
    planted, parts = [], []
    for _ in range(500):
        planted.append(tokens.new_secret())
        decoy = "lrd_u_" + "".join(noise.choices(BASE62, k=42))
        parts += ["".join(noise.choices(BASE62 + " \n_-=", k=60)), f' token = "{planted[-1]}"\n', decoy, " "]

    assert found_in("".join(parts)) == planted


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


# --- Last used: at most once a minute a token, never by the request itself -------------------------------------------


@pytest.fixture
def token(issue):
    return issue()[0]


@pytest.fixture
def notes():
    return UsageBuffer()


def used(notes, token):
    notes.record_use(token, agent="OpenTofu/1.12.6", address="10.0.0.9")


def test_noting_asks_the_database_nothing(notes, token, django_assert_num_queries):
    with django_assert_num_queries(0):
        used(notes, token)


@pytest.mark.both
def test_it_writes_many_in_one_statement(notes, issue, django_assert_num_queries):
    for number in range(50):
        used(notes, issue(label=f"t{number}")[0])

    with django_assert_num_queries(1):
        assert notes.flush() == 50
    assert not ApiToken.objects.filter(last_used_at=None).exists()
    assert set(ApiToken.objects.values_list("last_used_by", "last_used_from")) == {("OpenTofu/1.12.6", "10.0.0.9")}


@pytest.mark.both
def test_it_writes_a_token_at_most_once_a_minute(notes, token):
    used(notes, token)
    assert notes.flush() == 1
    first = ApiToken.objects.get(pk=token.pk).last_used_at

    used(notes, token)  # another process, which read the row before
    assert notes.flush() == 0
    token.refresh_from_db()
    used(notes, token)
    assert notes.flush() == 0
    assert ApiToken.objects.get(pk=token.pk).last_used_at == first

    ApiToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now() - timedelta(minutes=2))
    token.refresh_from_db()
    used(notes, token)
    assert notes.flush() == 1


def test_a_token_that_is_gone_disturbs_nobody(notes, token):
    used(notes, token)
    token.delete()

    assert notes.flush() == 0


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_written_is_kept_for_the_next_time(notes, token, database_away):
    used(notes, token)
    with database_away():
        assert notes.flush() == 0

    assert notes.flush() == 1


def test_what_the_front_repeats_it_repeats_no_longer_than_a_use_may_go_unnoticed():
    assert timedelta(seconds=ready.LONGEST) <= PRECISION


@for_each_row(
    ("agent", "client"),
    [
        ("HashiCorp Terraform/1.11.4 (+https://www.terraform.io)", "Terraform/1.11.4"),
        ("OpenTofu/1.12.6", "OpenTofu/1.12.6"),
        ("containers/5.36 (github.com/containers/image)", "containers/5.36"),
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/156", "Mozilla/5.0"),
        ("", ""),
        ("x" * 300, "x" * 60),
    ],
)
def test_the_client_is_the_first_product_of_the_user_agent(agent, client):
    assert client_of(agent) == client


def test_a_secret_in_the_user_agent_is_not_stored():
    assert "[redacted]" in client_of(tokens.new_secret())
    assert "[redacted]" in client_of(f"x/{tokens.new_secret()}")
