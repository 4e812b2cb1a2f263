"""Last used: at most once a minute a token, never by the request itself."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.identity.token_usage import UsageBuffer
from apps.accounts.models import ApiToken, Scope

pytestmark = pytest.mark.both


@pytest.fixture
def token(alice):
    return tokens.issue(user=alice, label="CI", scope=Scope.READ, actor=Viewer(alice))[0]


@pytest.fixture
def notes():
    return UsageBuffer()


def test_noting_asks_the_database_nothing(notes, token, django_assert_num_queries):
    with django_assert_num_queries(0):
        notes.record_use(token)


def test_it_writes_many_in_one_statement(notes, alice, django_assert_num_queries):
    for number in range(50):
        notes.record_use(tokens.issue(user=alice, label=f"t{number}", scope=Scope.READ, actor=Viewer(alice))[0])

    with django_assert_num_queries(1):
        assert notes.flush() == 50
    assert not ApiToken.objects.filter(last_used_at=None).exists()


def test_it_writes_a_token_at_most_once_a_minute(notes, token):
    notes.record_use(token)
    assert notes.flush() == 1
    first = ApiToken.objects.get(pk=token.pk).last_used_at

    notes.record_use(token)  # another process, which read the row before
    assert notes.flush() == 0
    token.refresh_from_db()
    notes.record_use(token)
    assert notes.flush() == 0
    assert ApiToken.objects.get(pk=token.pk).last_used_at == first

    ApiToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now() - timedelta(minutes=2))
    token.refresh_from_db()
    notes.record_use(token)
    assert notes.flush() == 1


def test_a_token_that_is_gone_disturbs_nobody(notes, token):
    notes.record_use(token)
    token.delete()

    assert notes.flush() == 0


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_written_is_kept_for_the_next_time(notes, token, database_away):
    notes.record_use(token)
    with database_away():
        assert notes.flush() == 0

    assert notes.flush() == 1
