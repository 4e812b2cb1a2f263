"""Tokens as rows: found in one query, dead at once when they should be, their secret nowhere."""

import logging
from datetime import timedelta

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Scope
from apps.lib.errors import Invalid
from tests.rows import for_each_row


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


def test_the_secret_is_in_no_log_line(issue, alice, caplog):
    with caplog.at_level(logging.DEBUG):
        token, secret = issue()
        tokens.identify(secret)
        tokens.revoke(token=token, actor=Viewer(alice))

    assert secret[10:-6] not in caplog.text
