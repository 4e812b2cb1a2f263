"""Visitors share one account, and none of them uses up what another one may ask"""

import pytest
from django.core.cache import cache
from django.test import Client

from apps.lib.settings_values.rates import Rate

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("url", ["/search?q=vpc", "/publish?suggest=vpc", "/modules?q=vpc"])
def test_searches_are_counted_by_address(filled: None, demonstration, url: str) -> None:
    demonstration.RATES = {**demonstration.RATES, "search": Rate(1, 60)}
    cache.clear()
    visitor = Client()

    answers = [
        visitor.get(url, REMOTE_ADDR=address).status_code for address in ("192.0.2.1", "192.0.2.1", "198.51.100.7")
    ]

    assert answers == [200, 429, 200]
