"""Slow, endless, truncated and large bodies, and servers that hang: each ends soon, and says at which limit."""

import time
from dataclasses import replace

import pytest

from apps.lib.net import fetching
from apps.lib.net.addresses import ANYWHERE
from apps.lib.net.outgoing import NotAnswered
from tests.builders import faults
from tests.lib.net.conftest import LIMITS
from tests.rows import for_each_row


@pytest.fixture
def zipped(registry):
    """The URL of a package of half a megabyte."""
    tool = registry.add_provider(size=500_000)
    tool.zip("1.0.0")
    return registry.url + tool.zip_path("1.0.0")


@for_each_row(
    ("fault", "rule", "text"),
    [
        (faults.hangs(), "first_byte_seconds", "no answer within 0.4 s"),
        (faults.hangs_in_headers(), "first_byte_seconds", "no answer within 0.4 s"),
        (faults.hangs_after_headers(), "min_bytes_per_second", "less than 2000 bytes a second for 0.4 s"),
        (faults.slow(500), "min_bytes_per_second", "less than 2000 bytes a second for 0.4 s"),
    ],
    ids=["before the headers", "within the headers", "after the headers", "slowly"],
)
def test_a_server_that_hangs_or_drips_is_cut_off(fault, rule, text, zipped, get, registry):
    registry.misbehave("*.zip", fault)
    began = time.monotonic()
    with pytest.raises(NotAnswered, match=text) as refused:
        get(zipped)
    assert time.monotonic() - began < 2
    assert (refused.value.code, refused.value.rule, refused.value.url) == ("too_slow", rule, zipped)


def test_chunks_that_drip_are_cut_off_by_the_throughput(zipped, get, registry):
    """http.client reads the line before a chunk whole, however slowly it comes: only the watch ends that."""

    def drip(exchange, _):
        exchange.begin(200, {"Transfer-Encoding": "chunked"})
        while not exchange.over.wait(0.05):
            exchange.write(b"0")

    registry.misbehave("*.zip", drip)
    with pytest.raises(NotAnswered, match="bytes a second"):
        get(zipped)


def test_a_body_that_is_fast_enough_ends_at_the_total_deadline(zipped, get, registry):
    registry.misbehave("*.zip", faults.slow(100_000))
    with pytest.raises(NotAnswered, match=r"not finished within 0\.5 s") as refused:
        get(zipped, limits=replace(LIMITS, total_seconds=0.5))
    assert refused.value.rule == "total_seconds"


@pytest.mark.slow
def test_a_body_at_the_least_rate_comes_whole(registry, get):
    tool = registry.add_provider(size=5_000)
    registry.misbehave("*.zip", faults.slow(4_000))
    body = get(registry.url + tool.zip_path("1.0.0"))[1]
    assert body == tool.zip("1.0.0")


def test_a_body_comes_whole_in_pieces_and_the_time_that_the_reader_takes_is_not_the_servers(zipped, registry, trusted):
    route = fetching.Route(trusted, allowed=ANYWHERE)
    with fetching.opened("GET", zipped, headers={}, route=route, limits=LIMITS) as said:
        seen = 0
        for piece in said.chunks(10_000_000):
            if seen == 0:
                time.sleep(LIMITS.window_seconds * 2)
            seen += len(piece)
    assert (said.status, seen, said.url) == (200, 500_324, zipped)


def test_an_endless_body_is_read_to_the_limit_and_no_further(zipped, registry, trusted):
    registry.misbehave("*.zip", faults.endless())
    route = fetching.Route(trusted, allowed=ANYWHERE)
    seen: list[int] = []

    def read():
        with fetching.opened("GET", zipped, headers={}, route=route, limits=LIMITS) as said:
            seen.extend(map(len, said.chunks(100_000)))

    with pytest.raises(NotAnswered, match="the body has more, expected at most 100,000 bytes") as refused:
        read()
    assert sum(seen) <= 100_000
    assert (refused.value.code, refused.value.rule) == ("too_large", "max_bytes")


def half_a_chunk(exchange, _):
    exchange.begin(200, {"Transfer-Encoding": "chunked"})
    exchange.write(b"5\r\nhello\r\n5\r\nhe")


@for_each_row(
    ("fault", "text"),
    [
        (faults.truncated(), "the body ended after 250,162 of 500,324 bytes"),
        (half_a_chunk, "the body ended after a part"),
    ],
    ids=["with a length", "in chunks"],
)
def test_a_truncated_body_is_never_a_whole_one(zipped, get, registry, fault, text):
    registry.misbehave("*.zip", fault)
    with pytest.raises(NotAnswered, match=text) as refused:
        get(zipped)
    assert refused.value.code == "truncated"


CHUNKS = faults.endless(b"5\r\nhello\r\n", Transfer_Encoding="chunked")


def mail(exchange, _):
    exchange.write(b"220 mail.acme.example ESMTP\r\n")


@for_each_row(
    ("fault", "text", "code", "rule"),
    [
        (faults.says(200, b"x" * 1001), "has 1,001 bytes, expected at most 1,000 bytes", "too_large", "max_bytes"),
        (CHUNKS, "expected at most 1,000 bytes", "too_large", "max_bytes"),
        (faults.says(200, b"x", Content_Encoding="gzip"), "encoded with 'gzip'", "bad_encoding", "content_encoding"),
        (mail, "the connection failed: BadStatusLine", "connection_failed", ""),
    ],
    ids=["promises too much", "endless chunks", "encoded", "mail"],
)
def test_what_is_no_plain_answer_of_the_size_is_refused(zipped, get, registry, fault, text, code, rule):
    registry.misbehave("*.zip", fault)
    with pytest.raises(NotAnswered, match=text) as refused:
        get(zipped, max_bytes=1000)
    assert (refused.value.code, refused.value.rule) == (code, rule)


def test_a_closed_port_and_an_unknown_name(get, registry, names):
    registry.stop()
    with pytest.raises(NotAnswered, match="no connection to the host") as refused:
        get(registry.url)
    assert refused.value.code == "unreachable"
    names()
    with pytest.raises(NotAnswered, match="the name of the host cannot be resolved") as refused:
        get("https://registry.acme.example/")
    assert refused.value.code == "unresolved"


def test_a_host_that_does_not_take_the_connection_is_left_at_the_limit(get, monkeypatch):
    def connect(sock, _):
        time.sleep(sock.gettimeout())
        raise TimeoutError

    monkeypatch.setattr("socket.socket.connect", connect)
    with pytest.raises(NotAnswered, match=r"no connection to the host within 0\.2 s") as refused:
        get("http://127.0.0.1:1/", limits=replace(LIMITS, connect_seconds=0.2))
    assert refused.value.rule == "connect_seconds"


@for_each_row("length", ["9" * 5000, "\xb2", "-1", "1e3", "0x10"])
def test_a_length_that_is_no_number_is_none(registry, get, length):
    """The body is read to its end, and to the limit."""

    def answer(exchange, _):
        exchange.write(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\npears".encode("latin-1"))

    registry.misbehave("/x", answer)

    assert get(f"{registry.url}/x")[1] == b"pears"
    with pytest.raises(NotAnswered, match="expected at most 4 bytes"):
        get(f"{registry.url}/x", max_bytes=4)
