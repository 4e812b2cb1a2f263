"""Sign-in and the token service while the Redis of the cache is away: they answer, and each process counts limits."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from apps.lib.settings_values.rates import Rate
from registry_site.backends import redis_cache as ours
from registry_site.backends.cache import MemoryCounters
from registry_site.server import probes
from tests.postgres import free_port
from tests.site.commands import manage
from tests.site.processes import eventually

MOST_WRONG = 5
# Far more than one second for the first question, and far less than for ever, which a hung server takes.
PATIENCE = 30.0
# Two tries of a second each. redis-py's own time-outs, of five seconds, would take ten.
FIRST_QUESTION = 8.0
TRIES = 2


@pytest.fixture(autouse=True)
def fresh(monkeypatch, settings):
    """A process that has not asked its Redis yet, with the limits of every real Larder."""
    monkeypatch.setattr(ours, "_availability", ours.Availability())
    settings.RATES = settings.RATES | {"sign_in": Rate(MOST_WRONG, 3600), "tokens": Rate(MOST_WRONG, 3600)}
    MemoryCounters("larder-while-redis-is-away", {}).clear()


def use(settings, port: int) -> None:
    location = f"redis://127.0.0.1:{port}/0"
    settings.CACHES = {
        "default": {"BACKEND": "registry_site.backends.redis_cache.RedisOrMemoryCache", "LOCATION": location}
    }


@pytest.fixture
def refusing(settings) -> None:
    use(settings, free_port())


@pytest.fixture
def hanging(settings) -> Iterator[socket.socket]:
    """It takes connections and never answers, as a stopped process does."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        use(settings, silent.getsockname()[1])
        yield silent


def sign_in(name: str, password: str):
    return Client().post(reverse("account_login"), {"login": name, "password": password})


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("state", ["refusing", "hanging"])
def test_people_sign_in_and_who_guesses_is_slowed_down(request, settings, bob, state):
    """On the page, and at the token service."""
    request.getfixturevalue(state)
    began = time.monotonic()

    assert sign_in("bob", "bob likes pears").status_code == 302
    assert [sign_in("bob", "wrong").status_code for _ in range(MOST_WRONG)] == [200] * MOST_WRONG
    answer = sign_in("bob", "bob likes pears")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "5")

    said = [Client().get("/v2/token", headers={"Authorization": "Basic eDp5"}) for _ in range(MOST_WRONG + 1)]
    assert [answer.status_code for answer in said] == [401] * MOST_WRONG + [429]
    assert said[-1].json()["errors"][0]["code"] == "TOOMANYREQUESTS"
    assert time.monotonic() - began < PATIENCE

    found = probes.state_of(partial(ours.require, settings.CACHES["default"]["LOCATION"]))
    assert found in ("ConnectionError", "TimeoutError"), "the part that is down"


@pytest.mark.slow
def test_a_hung_redis_is_asked_by_one_request_and_not_by_each(hanging):
    """The others use memory at once. Otherwise each would wait for its own time-out."""
    began = time.monotonic()
    cache.get("warm")  # the first question, which waits
    assert time.monotonic() - began < FIRST_QUESTION
    assert connections_to(hanging) == TRIES

    threads = [threading.Thread(target=cache.get, args=("key",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert connections_to(hanging) <= TRIES, "one may have been the next to try"


def connections_to(silent: socket.socket) -> int:
    """Return how many were made since it was asked last."""
    silent.setblocking(False)
    found = 0
    with suppress(BlockingIOError):
        while True:
            silent.accept()[0].close()
            found += 1
    return found


@pytest.mark.needs("redis-server")
def test_it_counts_together_again_once_redis_is_back(settings, monkeypatch, tmp_path):
    monkeypatch.setattr(ours, "ASK_AGAIN_SECONDS", 0.1)
    port = free_port()
    use(settings, port)
    cache.set("wrong", 3)
    assert cache.get("wrong") == 3, "in memory"

    with redis(port, tmp_path):
        eventually(lambda: cache.get("wrong") is None, PATIENCE)
        ours.require(f"redis://127.0.0.1:{port}/0")
        cache.set("wrong", 7)
        assert cache.incr("wrong") == 8
        assert cache.add("wrong", 1) is False
        assert cache.has_key("wrong")

    assert cache.get("wrong") == 3, "in memory again, with what was counted there"


@contextmanager
def redis(port: int, folder: Path) -> Iterator[None]:
    words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.mark.slow
def test_the_variable_leads_to_this_cache(tmp_path):
    code = "from django.core.cache import cache; cache.set('pears', 3); print(cache.get('pears'))"
    key = tmp_path / "key"
    key.write_text("pears" * 10)
    url = f"redis://127.0.0.1:{free_port()}/0"
    done = manage(tmp_path, "shell", "-v", "0", "-c", code, LARDER_CACHE_URL=url, LARDER_SECRET_KEY_FILE=str(key))
    assert done.stdout.split() == ["3"], done.stderr
