"""Last used: at most once a minute a token, never by the request itself."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.identity.token_usage import PRECISION, UsageBuffer, client_of
from apps.accounts.models import ApiToken, Scope
from apps.http import ready
from tests.rows import for_each_row


@pytest.fixture
def token(alice):
    return tokens.issue(user=alice, label="CI", scope=Scope.READ, actor=Viewer(alice))[0]


@pytest.fixture
def notes():
    return UsageBuffer()


def used(notes, token):
    notes.record_use(token, agent="OpenTofu/1.12.6", address="10.0.0.9")


def test_noting_asks_the_database_nothing(notes, token, django_assert_num_queries):
    with django_assert_num_queries(0):
        used(notes, token)


@pytest.mark.both
def test_it_writes_many_in_one_statement(notes, alice, django_assert_num_queries):
    for number in range(50):
        used(notes, tokens.issue(user=alice, label=f"t{number}", scope=Scope.READ, actor=Viewer(alice))[0])

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
