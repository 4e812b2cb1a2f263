"""Each way in which a registry fails: a code, the URL without its query, the status and the rule, in log and row."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from apps.contrib.mirror.asking import breaker, registry_calls, requesting
from apps.contrib.mirror.errors import FetchFailed
from tests.builders import faults
from tests.rows import for_each_row


@pytest.fixture
def quick(monkeypatch):
    for name in ("DOCUMENTS", "PACKAGES"):
        limits = replace(getattr(registry_calls, name), first_byte_seconds=0.3, window_seconds=0.3, total_seconds=3.0)
        monkeypatch.setattr(registry_calls, name, limits)


@pytest.fixture
def slept(monkeypatch):
    """Pauses before another try, without their time."""
    found: list[float] = []
    monkeypatch.setattr(requesting, "time", SimpleNamespace(sleep=found.append))
    return found


@pytest.fixture
def listed(registry):
    return registry.url + registry.add_provider().list_path


def failure_of(upstream, url, max_bytes=1_000_000, **more):
    with pytest.raises(FetchFailed) as refused:
        registry_calls.get_json(upstream, url, max_bytes=max_bytes, **more)
    return refused.value


@pytest.mark.parametrize(
    ("status", "code", "requests", "is_final"),
    [
        (401, "unauthorized", 1, True),
        (403, "forbidden", 1, True),
        (404, "not_found", 1, True),
        (410, "not_found", 1, True),
        (418, "unexpected_status", 1, True),
        (429, "too_many_requests", 3, False),
        (500, "server_error", 3, False),
        (501, "server_error", 1, False),
        (503, "server_error", 3, False),
        (204, "unexpected_status", 1, True),
        (300, "unexpected_status", 1, True),
        (799, "unexpected_status", 1, True),
    ],
)
def test_every_status_has_a_code_and_only_what_may_pass_is_tried_again(
    status, code, requests, is_final, registry, upstream, listed
):
    registry.misbehave("*/versions", faults.says(status, b"sorry"))
    with capture_logs() as logs:
        failure = failure_of(upstream, f"{listed}?signature=pears")
    assert failure.as_json() == {
        "code": code,
        "message": failure.message,
        "url": listed,
        "status": status,
        "rule": "",
    }
    assert f"the answer was {status}" in failure.message
    assert failure.is_final is is_final
    assert registry.count("*/versions") == requests
    [line] = [entry for entry in logs if entry["event"] == "upstream_failed"]
    assert {key: line[key] for key in ("upstream", "url", "status", "rule", "code")} == {
        "upstream": upstream.host,
        "url": listed,
        "status": status,
        "rule": "",
        "code": code,
    }
    assert "pears" not in str(logs)


def test_a_failure_is_on_the_row_until_the_next_success_and_an_unknown_provider_is_none(registry, upstream, listed):
    failure_of(upstream, f"{registry.url}/v1/providers/acme/none/versions")
    upstream.refresh_from_db()
    assert (upstream.failed_at, upstream.failure) == (None, {})
    assert upstream.succeeded_at is not None
    registry.misbehave("*/versions", faults.says(500))
    failure_of(upstream, listed)
    upstream.refresh_from_db()
    assert (upstream.failures, upstream.failure["status"], upstream.failure["url"]) == (1, 500, listed)
    assert upstream.failed_at is not None
    registry.behave()
    registry_calls.get_json(upstream, listed, max_bytes=10_000)
    upstream.refresh_from_db()
    assert (upstream.failures, upstream.open_until) == (0, None)
    assert upstream.succeeded_at is not None


def test_what_passes_is_not_noticed_and_the_pauses_differ_so_that_not_all_come_back_at_once(
    registry, upstream, listed, slept, monkeypatch
):
    registry.misbehave("*/versions", faults.says(502), times=2)
    assert registry_calls.get_json(upstream, listed, max_bytes=10_000).body is not None
    assert registry.count("*/versions") == 3
    upstream.refresh_from_db()
    assert upstream.failed_at is None

    slept.clear()
    monkeypatch.setattr(requesting, "PAUSES", (1.0, 1.0))
    registry.misbehave("*/versions", faults.says(500))
    for _ in range(2):
        failure_of(upstream, listed)
    assert all(1 <= pause <= 1.5 for pause in slept)
    assert len(set(slept)) == 4


def test_a_short_retry_after_is_waited_for(registry, upstream, listed, slept):
    registry.misbehave("*/versions", faults.says(429, Retry_After="2"), times=1)
    assert registry_calls.get_json(upstream, listed, max_bytes=10_000).body is not None
    assert len(slept) == 1
    assert 2 <= slept[0] <= 3


@pytest.mark.parametrize(
    ("headers", "expected", "rest"),
    [
        ({"Retry_After": "60"}, 60, 60),
        ({"Retry_After": "Fri, 27 Nov 2026 10:02:00 GMT", "Date": "Fri, 27 Nov 2026 10:00:00 GMT"}, 120, 120),
        ({"Retry_After": "99999999999999999999"}, 3600, 600),
        ({"Retry_After": "Fri, 27 Nov 2099 10:02:00 GMT"}, 3600, 600),
    ],
)
def test_a_long_retry_after_is_left_to_the_caller_and_the_breaker(
    headers, expected, rest, registry, upstream, listed, slept
):
    def dated(exchange, _):  # the server adds a Date of its own before others
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        exchange.write(f"HTTP/1.1 429 Slow Down\r\n{lines}Content-Length: 0\r\n\r\n".encode())

    registry.misbehave("*/versions", dated)
    failure = failure_of(upstream, listed)
    assert (failure.retry_after, slept) == (expected, [])
    assert registry.count("*/versions") == 1
    assert not breaker.is_open(upstream), "one path silences no registry"
    for _ in range(breaker.REST_THRESHOLD - 1):
        failure_of(upstream, listed)
    again = failure_of(upstream, listed)
    assert (again.code, again.rule) == ("breaker_open", "breaker")
    assert rest - 5 < again.retry_after <= rest
    assert registry.count("*/versions") == breaker.REST_THRESHOLD


@pytest.mark.parametrize("text", ["", "soon", "-1", "1.5", "²", "Fri, 99 Nov 2026 10:02:00 GMT"])
def test_a_retry_after_that_is_none_is_ignored(text, registry, upstream, listed):
    registry.misbehave("*/versions", faults.says(429, Retry_After=text))
    assert failure_of(upstream, listed).retry_after == 0
    assert registry.count("*/versions") == 3


@for_each_row(
    ("fault", "code", "rule", "text"),
    [
        (faults.huge_json(), "too_large", "max_bytes", "the body has 209,715,200 bytes, expected at most 1,000,000"),
        (faults.wrong_shape(), "bad_shape", "shape", "found JSON that is a list, expected an object"),
        (faults.wrong_shape(7), "bad_shape", "shape", "found JSON that is a number or a boolean"),
        (faults.says(200, b"null"), "bad_shape", "shape", "found JSON that is null"),
        (faults.deep_json(), "bad_json", "json", "nested too deeply"),
        (faults.says(200, b"<html>", Content_Type="text/html"), "bad_json", "json", "found text/html that is not JSON"),
        (faults.says(200, b""), "bad_json", "json", "that is not JSON"),
        (faults.says(200, b'{"a": "\xff"}'), "bad_json", "json", "that is not JSON"),
        (faults.says(200, b'{"a": "b\\u0000"}'), "bad_json", "json", "a NUL character"),
        (faults.says(200, b'{"a": "\\ud800"}'), "bad_json", "json", "surrogates not allowed"),
        (faults.truncated(), "truncated", "", "the body ended after"),
        (faults.slow(20), "too_slow", "min_bytes_per_second", "bytes a second"),
        (faults.hangs(), "too_slow", "first_byte_seconds", "no answer within 0.3 s"),
        (faults.redirects("https://10.0.0.1/"), "private_address", "private_address", "Larder may not call"),
        (faults.loops(), "redirect_loop", "max_redirects", "the redirects lead in a circle"),
    ],
)
def test_a_document_that_is_not_what_it_must_be_is_refused_with_its_rule(
    fault, code, rule, text, registry, upstream, listed, quick
):
    registry.misbehave("*/versions", fault)
    began = time.monotonic()
    failure = failure_of(upstream, listed)
    assert time.monotonic() - began < 3
    assert (failure.code, failure.rule) == (code, rule)
    assert text in failure.message
    upstream.refresh_from_db()
    assert upstream.failure == failure.as_json()


def test_a_package_that_does_not_come_whole_fails_within_its_chunks(registry, upstream):
    tool = registry.add_provider(size=50_000)
    registry.misbehave("*.zip", faults.truncated())

    def read():
        with registry_calls.stream(upstream, registry.url + tool.zip_path("1.0.0"), max_bytes=10**6) as download:
            return [len(piece) for piece in download.chunks]

    with pytest.raises(FetchFailed, match="ended after"):
        read()
    upstream.refresh_from_db()
    assert upstream.failures == 1


def test_a_registry_that_is_not_allowed_is_not_called_and_one_that_is_down_is_named(
    registry, upstream, settings, listed
):
    allowed, settings.UPSTREAM = settings.UPSTREAM, replace(settings.UPSTREAM, allow=())
    failure = failure_of(upstream, listed)
    assert (failure.code, failure.rule) == ("private_address", "private_address")
    assert registry.requests == []

    settings.UPSTREAM = allowed
    registry.stop()
    failure = failure_of(upstream, listed)
    assert (failure.code, failure.url, failure.status) == ("unreachable", listed, 0)
    assert "no connection to the host" in failure.message


@for_each_row("public", ["{url}", "http://127.0.0.1"])
def test_an_upstream_that_is_larder_itself_is_refused(public, registry, upstream, settings):
    url = public.format(url=registry.url)
    settings.PUBLIC_URL = url
    failure = failure_of(upstream, f"{url}/x")
    assert (failure.code, failure.rule, failure.is_final) == ("own_registry", "own_registry", True)
    assert "127.0.0.1 is this Larder itself" in failure.message
    assert registry.requests == []


def test_a_discovery_document_or_redirect_that_leads_to_larder_itself_is_refused(registry, upstream, settings, listed):
    settings.PUBLIC_URL, settings.HOSTNAMES = "https://larder.acme.example:8443", {"providers.acme.example"}
    registry.discovery = {"providers.v1": "https://providers.acme.example/v1/providers/"}
    with pytest.raises(FetchFailed, match=r"providers\.acme\.example is this Larder itself"):
        registry_calls.discover(upstream)
    registry.misbehave("*/versions", faults.redirects("https://larder.acme.example:8443/v1/"))
    assert failure_of(upstream, listed).code == "own_registry"
    settings.HOSTNAMES = {upstream.host}
    assert "is the address of this Larder's own providers" in failure_of(upstream, listed).message


def test_what_waits_too_long_for_a_connection_fails_and_downloads_leave_one_for_documents(
    registry, upstream, listed, settings, monkeypatch
):
    monkeypatch.setattr(requesting, "MAX_QUEUE_SECONDS", 0.1)
    settings.UPSTREAM = replace(settings.UPSTREAM, connections=1)
    with registry_calls.stream(upstream, listed, max_bytes=10_000):
        failure = failure_of(upstream, listed)
    assert (failure.code, failure.rule) == ("busy", "connections")
    assert "all 1 connections to the host were busy" in failure.message
    assert registry_calls.get_json(upstream, listed, max_bytes=10_000).body is not None
    upstream.refresh_from_db()
    assert upstream.failure == {}

    settings.UPSTREAM = replace(settings.UPSTREAM, connections=3)

    def third():
        with registry_calls.stream(upstream, listed, max_bytes=10_000):
            pytest.fail("a third download began")

    with (
        registry_calls.stream(upstream, listed, max_bytes=10_000),
        registry_calls.stream(upstream, listed, max_bytes=10_000),
    ):
        with pytest.raises(FetchFailed, match="all 2 connections to the host were busy"):
            third()
        assert registry_calls.get_json(upstream, listed, max_bytes=10_000).body is not None
