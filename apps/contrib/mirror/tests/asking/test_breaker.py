"""A registry that fails again and again is left alone by all processes; one request finds out when it is well again."""

import time
from dataclasses import replace
from datetime import timedelta
from threading import Barrier, Lock

import pytest
from django.utils import timezone

from apps.contrib.mirror.asking import breaker, registry_calls
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream
from tests.builders import faults, misbehaving
from tests.rows import for_each_row
from tests.threads import at_once


@pytest.fixture
def listed(registry):
    return registry.url + registry.add_provider().list_path


def ask(upstream, url):
    """Return "" or the code of the failure."""
    try:
        registry_calls.get_json(upstream, url, max_bytes=100_000)
    except FetchFailed as failure:
        return failure.code
    return ""


def broken(upstream, registry, listed):
    registry.misbehave("*/versions", faults.says(501))
    codes = [ask(upstream, listed) for _ in range(breaker.THRESHOLD)]
    assert codes == ["server_error"] * breaker.THRESHOLD


def pause_is_over():
    assert Upstream.objects.filter(open_until__gt=timezone.now()).update(open_until=timezone.now())


@pytest.mark.both
def test_after_some_failures_in_succession_nothing_is_asked(registry, upstream, listed):
    broken(upstream, registry, listed)
    assert breaker.is_open(upstream)
    before = len(registry.requests)
    with pytest.raises(FetchFailed, match="nothing is asked for 30 s, because the host failed before") as refused:
        registry_calls.get_json(upstream, listed, max_bytes=1000)
    assert (refused.value.code, refused.value.rule, refused.value.url) == ("breaker_open", "breaker", listed)
    assert 25 < refused.value.retry_after <= 30
    assert len(registry.requests) == before
    upstream.refresh_from_db()
    assert (upstream.failures, upstream.failure["code"]) == (breaker.THRESHOLD, "server_error")


def test_a_success_between_failures_begins_the_count_again(registry, upstream, listed):
    registry.misbehave("*/versions", faults.says(501), times=4)
    codes = [ask(upstream, listed) for _ in range(5)]
    registry.misbehave("*/versions", faults.says(501), times=4)
    codes += [ask(upstream, listed) for _ in range(5)]
    assert codes == (["server_error"] * 4 + [""]) * 2
    assert not breaker.is_open(upstream)


@for_each_row("fault", [faults.says(403), faults.says(404), faults.wrong_shape(), faults.loops()])
def test_what_says_nothing_of_its_health_does_not_count(fault, registry, upstream, listed):
    registry.misbehave("*/versions", fault)
    for _ in range(breaker.THRESHOLD + 1):
        assert ask(upstream, listed) not in ("", "breaker_open")
    assert not breaker.is_open(upstream)


@for_each_row(("fault", "code"), [(None, ""), (faults.says(404), "not_found")])
def test_after_the_pause_one_good_answer_or_a_404_closes_it(fault, code, registry, upstream, listed):
    broken(upstream, registry, listed)
    pause_is_over()
    registry.behave()
    if fault:
        registry.misbehave("*/versions", fault)
    assert [ask(upstream, listed), ask(upstream, listed)] == [code, code]
    upstream.refresh_from_db()
    assert (upstream.failures, upstream.open_until) == (0, None)


def test_after_the_pause_another_failure_doubles_it_up_to_ten_minutes(registry, upstream, listed):
    broken(upstream, registry, listed)
    waits = []
    for _ in range(7):
        pause_is_over()
        assert ask(upstream, listed) == "server_error"
        assert ask(upstream, listed) == "breaker_open"
        waits.append(round(breaker.wait_of(upstream)))
    assert waits == [60, 120, 240, 480, 600, 600, 600]


def test_discovery_and_the_list_of_one_thread_are_one_try(registry, upstream, listed):
    broken(upstream, registry, listed)
    pause_is_over()
    registry.behave()
    assert registry_calls.discover(upstream)
    assert registry.count(misbehaving.DISCOVERY) == 1
    assert ask(upstream, listed) == ""
    assert not breaker.is_open(upstream)


def test_a_good_discovery_does_not_hide_that_lists_fail(registry, upstream, listed):
    registry.misbehave("*/versions", faults.says(501))
    for _ in range(breaker.THRESHOLD):
        registry_calls.discover(upstream)
        assert ask(upstream, listed) == "server_error"
    assert breaker.is_open(upstream)


@pytest.mark.both
def test_of_many_threads_one_is_let_through(transactional_db, registry, upstream, listed, monkeypatch, settings):
    """Each with its own connection, as processes have, and all see the same row before one of them changes it."""
    broken(upstream, registry, listed)
    pause_is_over()
    settings.UPSTREAM = replace(settings.UPSTREAM, connections=8)
    read, everybody = breaker._open_until, Barrier(8)

    def read_together(row):
        seen = read(row)
        everybody.wait(10)
        return seen

    monkeypatch.setattr(breaker, "_open_until", read_together)
    before = registry.count("*/versions")
    codes = at_once(*[lambda: ask(upstream, listed)] * 8)
    assert sorted(codes) == ["breaker_open"] * 7 + ["server_error"]
    assert registry.count("*/versions") == before + 1


def test_whoever_got_the_try_and_died_stops_the_others_for_a_minute_only(registry, upstream, listed):
    broken(upstream, registry, listed)
    pause_is_over()
    assert breaker.wait_of(upstream) == 0
    breaker._leases().clear()  # that process is dead
    assert 55 < breaker.wait_of(upstream) <= 60
    pause_is_over()
    assert breaker.wait_of(upstream) == 0


def test_a_late_success_does_not_end_a_pause_that_the_registry_asked_for(registry, upstream, listed):
    registry.misbehave("*/versions", faults.says(429, Retry_After="60"))
    assert [ask(upstream, listed) for _ in range(breaker.REST_THRESHOLD)] == ["too_many_requests"] * 3
    breaker.succeeded(upstream, closes=True)  # of a request that began before
    assert breaker.is_open(upstream)


def test_a_host_for_packages_that_fails_does_not_stop_the_registry(registry, upstream, listed):
    with misbehaving.running() as elsewhere:
        url = f"{elsewhere.url}/x.zip"
        elsewhere.misbehave("*", faults.says(501))
        for _ in range(breaker.THRESHOLD):
            assert ask(upstream, url) == "server_error"
        assert ask(upstream, url) == "breaker_open"
        assert elsewhere.count("*") == breaker.THRESHOLD
        assert ask(upstream, listed) == ""
        upstream.refresh_from_db()
        assert (upstream.failures, upstream.failure["url"]) == (0, url)

        elsewhere.behave()
        breaker.hosts._hosts[upstream.pk, url.split("/")[2]].open_until = time.monotonic() - 1
        assert ask(upstream, f"{elsewhere.url}{misbehaving.DISCOVERY}") == ""
        assert ask(upstream, f"{elsewhere.url}{misbehaving.DISCOVERY}") == ""


def test_as_many_connections_to_one_host_as_the_setting_says(transactional_db, registry, upstream, listed, settings):
    settings.UPSTREAM = replace(settings.UPSTREAM, connections=2)
    lock, now, most = Lock(), [0], [0]

    def counted(exchange, answer):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        exchange.over.wait(0.1)
        with lock:
            now[0] -= 1
        exchange.send(answer)

    registry.misbehave("*/versions", counted)
    assert at_once(*[lambda: ask(upstream, listed)] * 6) == [""] * 6
    assert most == [2]


def test_health_is_written_once_a_minute_and_not_for_every_answer(registry, upstream, listed):
    assert ask(upstream, listed) == ""
    first = Upstream.objects.get().succeeded_at
    assert ask(upstream, listed) == ""
    assert Upstream.objects.get().succeeded_at == first
    Upstream.objects.update(succeeded_at=timezone.now() - timedelta(minutes=2))
    assert ask(upstream, listed) == ""
    assert Upstream.objects.filter(succeeded_at__gt=first).exists()
