"""A provider that hangs: what is known counts meanwhile, it is asked once for many who wait, and then left alone."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from apps.accounts.identity.sign_on import openid as sign_on_openid
from apps.accounts.identity.sign_on import provider_requests
from apps.lib.process import outside
from tests.accounts.identity.openid.test_bad_providers import PATHS
from tests.threads import at_once


@pytest.mark.slow
def test_a_provider_that_hangs_is_asked_once_for_many_who_wait(acme_id, monkeypatch, settings):
    """Each of them would keep a thread until the time is over, one after the other."""
    monkeypatch.setattr(provider_requests, "MAX_SECONDS", 1.0)
    acme_id.slow.add(PATHS[0])
    provider, began, refused = settings.IDENTITY_PROVIDERS[0], time.monotonic(), []
    places = outside.Places(4)

    def ask():
        outside.limit_thread(places)
        try:
            sign_on_openid.discovery(provider)
        except requests.RequestException as error:
            refused.append(str(error))

    at_once(*[ask] * 8)
    ask()

    assert time.monotonic() - began < 1.9
    assert acme_id.asked.count(PATHS[0]) <= 1
    assert len(refused) == 9


def test_known_keys_count_while_another_request_asks_for_newer_ones(sign_on, acme_id, monkeypatch):
    sign_on()
    monkeypatch.setattr(provider_requests, "MAX_AGE_SECONDS", -1.0)
    provider = acme_id.provider()
    answers = iter(["first", "second"])
    known: provider_requests.Remembered[Any, str] = provider_requests.Remembered(lambda _: next(answers), outage="away")
    known.of(provider)
    with ThreadPoolExecutor(1) as pool, known._entries[provider].lock:
        assert pool.submit(known.of, provider).result(timeout=5) == "first"
    assert known.of(provider) == "second"


def test_a_provider_that_hangs_again_and_again_is_left_alone(acme_id, monkeypatch):
    monkeypatch.setattr(provider_requests, "MAX_SECONDS", 0.2)
    acme_id.slow.add("/keys")
    url = f"{acme_id.provider().issuer}/keys"
    for _ in range(outside.MAX_FAILURES):
        with pytest.raises(requests.ReadTimeout):
            provider_requests.json_object(url)
    with pytest.raises(requests.ConnectionError, match="it has not answered lately"):
        provider_requests.json_object(url)
