"""A provider that hangs: what is known counts meanwhile, and after some failures nobody waits for it."""

from typing import Any

import pytest
import requests

from apps.accounts.identity.sign_on import fetching
from apps.lib.process import outside


def test_known_keys_count_while_another_request_asks_for_newer_ones(sign_on, acme_id, monkeypatch):
    sign_on()
    monkeypatch.setattr(fetching, "MAX_AGE_SECONDS", -1.0)
    provider = acme_id.provider()
    answers = iter(["first", "second"])
    known: fetching.Remembered[Any, str] = fetching.Remembered(lambda _: next(answers), outage="away")
    known.of(provider)
    with known._entries[provider].lock:
        assert known.of(provider) == "first"
    assert known.of(provider) == "second"


def test_a_provider_that_hangs_again_and_again_is_left_alone(acme_id, monkeypatch):
    monkeypatch.setattr(fetching, "MAX_SECONDS", 0.2)
    acme_id.slow.add("/keys")
    url = f"{acme_id.provider().issuer}/keys"
    for _ in range(outside.MAX_FAILURES):
        with pytest.raises(requests.ReadTimeout):
            fetching.json_object(url)
    with pytest.raises(requests.ConnectionError, match="it has not answered lately"):
        fetching.json_object(url)
