"""Rate limits: exact with several threads and processes, in each cache; by address, account and both."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import time_machine
from django.core.cache import cache
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone
from structlog.testing import capture_logs

from apps.accounts.access import throttling
from apps.lib.errors import Invalid, TooManyAttempts
from apps.lib.net.forwarding import network_of
from apps.lib.settings_values.rates import Rate, span
from registry_site.backends.cache import DatabaseCounters
from tests.live import CHECKOUT
from tests.postgres import free_port
from tests.rows import for_each_row
from tests.site.backends.test_cache import redis
from tests.threads import at_once

BATCH = throttling.Limit("publish", "account 1")
# Three processes attempt as often as they can; what is printed is how many attempts were allowed. They are forks, since
# loading an application takes long. The window does not end meanwhile.
FORKS = """
import os, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "registry_site.settings"
django.setup()
from django.core.management import call_command
from django.db import connections
from apps.accounts.access import throttling
from apps.lib.errors import TooManyAttempts
call_command("createcachetable", verbosity=0)
connections.close_all()
start, go = os.pipe()
found, tell = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        os.close(go)
        os.read(start, 1)
        for _ in range(25):
            try:
                throttling.count(throttling.Limit("publish", "account 1"))
                os.write(tell, b"x")
            except TooManyAttempts:
                pass
        os._exit(0)
os.close(go)
for _ in range(3):
    os.wait()
print(len(os.read(found, 1000)))
"""


def allowed(attempts, limit=BATCH):
    found: list[throttling.Attempt | TooManyAttempts] = []
    for _ in range(attempts):
        try:
            found.append(throttling.count(limit))
        except TooManyAttempts as refusal:
            found.append(refusal)
    return found


@pytest.fixture
def clock():
    cache.clear()
    moment = timezone.now().replace(minute=0, second=0, microsecond=0)
    with time_machine.travel(moment, tick=False) as stopped:
        yield stopped
    cache.clear()


@pytest.fixture
def ten(settings, clock):
    settings.RATES = settings.RATES | {"publish": Rate(10, 60)}
    return clock


@pytest.fixture
def in_database(settings, db):
    """The cache of several processes without Redis. Its table is made as `manage.py migrate` makes it."""
    settings.CACHES = {
        "default": {"BACKEND": "registry_site.backends.cache.DatabaseCounters", "LOCATION": "larder_cache"}
    }
    call_command("createcachetable", verbosity=0)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE larder_cache")


def test_so_many_and_no_more_until_the_next_window(ten):
    found = allowed(12)
    assert [type(one) for one in found] == [throttling.Attempt] * 10 + [TooManyAttempts] * 2
    assert str(found[-1]) == "More than 10 uploads with this account within 1 minute."
    assert (found[-1].hint, found[-1].retry_after) == ("Try again in 1 minute.", 5)
    ten.shift(57)
    [refused] = allowed(1)
    assert (refused.hint, refused.retry_after) == ("Try again in 3 seconds.", 3)
    ten.shift(3)
    assert isinstance(allowed(1)[0], throttling.Attempt), "a refused attempt does not begin the time again"


def test_what_was_right_is_given_back(ten):
    for _ in range(30):
        throttling.count(BATCH).give_back()
    assert len([one for one in allowed(11) if isinstance(one, throttling.Attempt)]) == 10


def test_what_a_second_limit_refuses_does_not_count_against_the_first(ten, settings):
    settings.RATES = settings.RATES | {"search": Rate(1, 60)}
    narrow = throttling.Limit("search", "x")
    throttling.count(BATCH, narrow)
    for _ in range(20):
        with pytest.raises(TooManyAttempts):
            throttling.count(BATCH, narrow)
    assert isinstance(allowed(1)[0], throttling.Attempt)


def test_subjects_and_groups_are_counted_apart(ten, settings):
    settings.RATES = settings.RATES | {"search": Rate(1, 60)}
    allowed(10)
    throttling.count(throttling.Limit("publish", "account 2"), throttling.Limit("search", "account 1"))
    with pytest.raises(TooManyAttempts):
        throttling.count(throttling.Limit("search", "account 1"))


@for_each_row(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
    ],
)
def test_an_ipv6_subscriber_is_one_address(address, network):
    assert network_of(address) == network


@for_each_row("text", ["", "5", "0/m", "5/5", "5/d", "5/0s", "-1/m", "5/5m ", "\u0665/m", "5 / m"])
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(Invalid, match="not a rate"):
        Rate.parse(text)


def test_rates_in_words():
    assert [Rate.parse(text) for text in ("30/m", "5/5m", "off")] == [Rate(30, 60), Rate(5, 300), None]
    assert [span(seconds) for seconds in (0.2, 1, 59.1, 60, 61, 7200)] == [
        "1 second",
        "1 second",
        "60 seconds",
        "1 minute",
        "2 minutes",
        "2 hours",
    ]


# --- Exact, wherever it is counted ------------------------------------------------------------------------------------


def test_threads_of_one_process_count_exactly(ten):
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: allowed(5), range(16)))
    assert sum(isinstance(one, throttling.Attempt) for batch in found for one in batch) == 10


def allowed_to_processes(tmp_path, **variables):
    variables |= {"LARDER_DATA_DIR": str(tmp_path), "LARDER_RATES": "publish=30/1000h", "LARDER_LOG_LEVEL": "ERROR"}
    command = [sys.executable, "-c", FORKS]
    done = subprocess.run(command, cwd=CHECKOUT, env=variables, capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout)


@pytest.mark.slow
def test_processes_count_together_in_redis(tmp_path):
    port = free_port()
    with redis(port, tmp_path):
        assert allowed_to_processes(tmp_path, LARDER_CACHE_URL=f"redis://127.0.0.1:{port}/0") == 30


@pytest.mark.slow
def test_processes_count_together_in_the_database(tmp_path):
    assert allowed_to_processes(tmp_path, LARDER_WEB_PROCESSES="3") == 30


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_threads_count_exactly_in_the_database(in_database, ten):
    found = at_once(*[lambda: allowed(5)] * 4)
    assert sum(isinstance(one, throttling.Attempt) for batch in found for one in batch) == 10


@pytest.mark.django_db
def test_a_database_that_counts_nothing_refuses_nobody(in_database, ten, monkeypatch):
    def broken(*_, **__):
        raise OperationalError("database is locked")

    monkeypatch.setattr(DatabaseCounters, "incr", broken)
    with capture_logs() as lines:
        assert all(isinstance(one, throttling.Attempt) for one in allowed(30))
    assert {line["event"] for line in lines} == {"rate_limit_not_counted"}


def test_other_counts_do_not_push_one_out(ten):
    """Django's cache of memory has 300 entries."""
    allowed(10)
    for number in range(400):
        throttling.count(throttling.Limit("publish", f"account {number + 100}"))
    with pytest.raises(TooManyAttempts):
        throttling.count(BATCH)
