"""The attack of a stranger who shares an address with CI: bad id tokens, as many as they like, and what they cost."""

import time

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import ApiToken
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.trusted import keys
from apps.lib.settings_values.rates import Rate
from tests.rows import for_each_row

BAD = {
    "no id token": lambda _: "a.b.c",
    "another signature": lambda id_token: f"{id_token()[:-8]}AAAAAAAA",
    "another repository": lambda id_token: id_token(claims={"repository": "evil/vpc"}),
    "another issuer": lambda id_token: id_token(claims={"iss": "https://ci.evil.example"}),
    "an unknown key": lambda id_token: id_token(kid="whatever"),
}


@pytest.fixture
def thirty(issuer, settings):
    """The default limit, in a time that does not end meanwhile."""
    settings.RATES = settings.RATES | {"tokens": Rate(30, 1000 * 3600)}
    cache.clear()
    yield
    cache.clear()


def records():
    return AuditEvent.objects.filter(kind__in=[Kind.ID_TOKEN_REFUSED, Kind.TRUSTED_EXCHANGE_REFUSED]).count()


@pytest.mark.both
@for_each_row("bad", BAD)
def test_31_bad_id_tokens_stop_no_good_one_from_the_same_address(bad, add, id_token, exchange, thirty):
    cache.clear()  # of the rows before
    add()
    answers = [exchange(BAD[bad](id_token)) for _ in range(40)]

    statuses = [answer.status_code for answer in answers]
    assert set(statuses[:30]) in ({403}, {422})
    assert statuses[30:] == [429] * 10
    assert answers[-1].json()["error"]["code"] == "too_many_attempts"
    assert int(answers[-1].headers["Retry-After"]) in range(1, 6)
    assert records() == 30, "what is limited fills no audit"
    for _ in range(3):
        good = exchange(id_token())
        assert good.status_code == 200, good.content
    assert ApiToken.objects.count() == 3


def test_an_issuer_that_is_away_is_answered_503_however_often_and_recorded_thirty_times(
    issuer, add, id_token, exchange, thirty
):
    """A good run must learn that trying again helps, whatever its neighbours have sent."""
    add()
    issuer.at_keys = lambda: (500, b"", {})

    assert {exchange(id_token()).status_code for _ in range(40)} == {503}
    assert records() == 30


@pytest.fixture
def entry(add, id_token, exchange):
    """The entry of this process for the issuer, whose keys it knows; a rule of acme names it."""
    add()
    assert exchange(id_token()).status_code == 200
    return next(iter(keys._entries.values()))


def test_a_known_key_waits_for_nobody_who_asks_the_issuer(entry, id_token, exchange):
    """Strangers name unknown keys, so that one request after the other asks a slow issuer again."""
    with entry.lock:
        began = time.monotonic()
        assert exchange(id_token()).status_code == 200
        assert time.monotonic() - began < 2 * keys.MAX_SECONDS


def test_few_threads_wait_for_one_issuer_and_the_rest_is_told_to_come_again(issuer, entry, id_token, exchange):
    for _ in range(keys.MAX_WAITING):
        assert entry.places.acquire(blocking=False)
    answer = exchange(id_token(kid="whatever"))
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "others wait" in answer.json()["error"]["message"]
    assert exchange(id_token()).status_code == 200
    entry.places.release()
    assert exchange(id_token(kid="whatever")).status_code == 403


def test_before_the_signature_one_rule_is_read_and_no_more(entry, id_token, exchange):
    """Thousands of rules name the issuer of a public forge, and any stranger may name it."""
    with CaptureQueriesContext(connection) as queries:
        assert exchange(BAD["another signature"](id_token)).status_code == 403
    asked = [query["sql"] for query in queries if 'FROM "accounts_trustedpublisher"' in query["sql"]]
    assert len(asked) == 1
    assert "LIMIT 1" in asked[0]
