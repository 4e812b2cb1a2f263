"""A provider that does not answer: those who wait for it keep few threads, and not one after the other."""

import time

import pytest
import requests

from apps.accounts.identity.sign_on import fetching
from apps.accounts.identity.sign_on import openid as sign_on_openid
from tests.accounts.identity.openid.test_bad_providers import PATHS
from tests.threads import at_once


@pytest.mark.slow
def test_a_provider_that_hangs_is_asked_once_for_many_who_wait(acme_id, monkeypatch, settings):
    """Each of them would keep a thread until the time is over, one after the other."""
    monkeypatch.setattr(fetching, "MAX_SECONDS", 1.0)
    settings.WEB_THREADS = 8
    acme_id.slow.add(PATHS[0])
    provider, began, refused = settings.OIDC_PROVIDERS[0], time.monotonic(), []

    def ask():
        try:
            sign_on_openid.discovery(provider)
        except requests.RequestException as error:
            refused.append(str(error))

    at_once(*[ask] * 8)
    ask()

    assert time.monotonic() - began < 1.9
    assert acme_id.asked.count(PATHS[0]) <= 1
    assert len(refused) == 9
    assert sum("4 requests wait for documents" in text for text in refused) == 4
