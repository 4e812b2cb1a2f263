"""Requests to identity providers: bounded, never redirected; what is known counts while a provider hangs."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
import requests

from apps.accounts.identity.sign_on import provider_requests
from apps.lib.process import outside
from apps.lib.settings_values.identity_providers import IdentityProvider
from tests.builders.serving import Quiet, serving
from tests.threads import at_once

CORP = IdentityProvider(
    id="corp", issuer="https://id.acme.example", name="Acme", groups_claim="", new_accounts="nobody"
)
DROPS = 50


@pytest.fixture
def asked():
    """What was asked for: /slow comes in drops, /large after a mebibyte, /elsewhere leads to /right."""
    found: list[str] = []

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.append(self.path)
            self.send_response(302 if self.path == "/elsewhere" else 200)
            self.send_header("Location", "/right")
            blanks = {"/slow": DROPS, "/large": 1024 * 1024}.get(self.path, 0)
            self.send_header("Content-Length", str(blanks + 2))
            self.end_headers()
            with contextlib.suppress(OSError):  # the client has had enough
                for _ in range(blanks if self.path == "/slow" else 0):
                    self.wfile.write(b" ")
                    time.sleep(0.02)
                self.wfile.write(b" " * (blanks if self.path == "/large" else 0) + b"{}")

    with serving(Handler) as url:
        found.append(url)
        yield found


@pytest.mark.parametrize("path", ["/slow", "/large", "/elsewhere"])
def test_an_answer_that_is_slow_large_or_elsewhere_is_given_up(asked, monkeypatch, path):
    monkeypatch.setattr(provider_requests, "MAX_SECONDS", 0.3)
    assert provider_requests.json_object(f"{asked[0]}/right") == {}
    with pytest.raises(requests.RequestException):
        provider_requests.json_object(asked[0] + path)
    assert asked[2:] == [path]


@pytest.mark.slow
def test_a_provider_that_hangs_is_asked_once_for_many_who_wait(asked, monkeypatch):
    """Each of them would keep a thread until the time is over, one after the other."""
    monkeypatch.setattr(provider_requests, "MAX_SECONDS", 1.0)
    published: provider_requests.Remembered[Any, Any] = provider_requests.Remembered(
        lambda _: provider_requests.json_object(f"{asked[0]}/slow"), outage="away"
    )
    began, refused = time.monotonic(), []
    places = outside.Places(4)

    def ask():
        outside.limit_thread(places)
        try:
            published.of(CORP)
        except requests.RequestException as error:
            refused.append(str(error))

    at_once(*[ask] * 8)
    ask()

    assert time.monotonic() - began < 1.9
    assert asked.count("/slow") <= 1
    assert len(refused) == 9


def test_what_is_known_counts_while_another_request_asks_again(monkeypatch):
    answers = iter(["first", "second"])
    known: provider_requests.Remembered[Any, str] = provider_requests.Remembered(lambda _: next(answers), outage="away")
    monkeypatch.setattr(provider_requests, "MAX_AGE_SECONDS", -1.0)
    known.of(CORP)
    with ThreadPoolExecutor(1) as pool, known._entries[CORP].lock:
        assert pool.submit(known.of, CORP).result(timeout=5) == "first"
    assert known.of(CORP) == "second"


def test_a_provider_that_hangs_again_and_again_is_left_alone(asked, monkeypatch):
    monkeypatch.setattr(provider_requests, "MAX_SECONDS", 0.2)
    for _ in range(outside.MAX_FAILURES):
        with pytest.raises(requests.ReadTimeout):
            provider_requests.json_object(f"{asked[0]}/slow")
    with pytest.raises(requests.ConnectionError, match="it has not answered lately"):
        provider_requests.json_object(f"{asked[0]}/slow")
