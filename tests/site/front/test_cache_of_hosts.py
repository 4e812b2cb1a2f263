"""The cache in which hosts share answers may be away, slow, full or in the wrong hands: then Django is asked."""

import asyncio
import time

import pytest
from redis import Redis

from apps.http.ready import LONGEST
from registry_site.backends import other_hosts
from registry_site.backends.other_hosts import ASK_AGAIN_SECONDS, MOST_BYTES, PATIENCE, OtherHosts
from tests.postgres import free_port
from tests.site.front.hosts import Server

VERSIONS = "/v1/modules/acme/vpc/aws/versions"
OTHER = "/v1/modules/acme/dns/aws/versions"
# Of Django's answer, on a machine that runs other tests.
DJANGO = 2.0


@pytest.fixture
def reads(published, tofu, bob):
    published("acme/vpc/aws"), published("acme/dns/aws")
    return tofu(bob)


class Clock:
    """What the hosts' processes take for the time module."""

    time = staticmethod(time.time)

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(other_hosts, "time", found)
    return found


@pytest.fixture
def looks(monkeypatch):
    """How many names each look was about."""
    counts = []
    look = OtherHosts._look

    def counted(hosts, names):
        counts.append(len(names))
        return look(hosts, names)

    monkeypatch.setattr(OtherHosts, "_look", counted)
    return counts


# --- Away ------------------------------------------------------------------------------------------------------------


def test_a_dead_cache_is_asked_once_in_five_seconds(host, server, reads, looks, clock):
    one = host()
    one.hosts._redis = Redis.from_url(f"redis://127.0.0.1:{free_port()}/0")
    assert [one.ask(reads, url).status for url in (VERSIONS, OTHER, VERSIONS + "?a", VERSIONS + "?b")] == [200] * 4
    assert len(looks) == 1
    clock.ahead = ASK_AGAIN_SECONDS + 1
    assert one.ask(reads, VERSIONS + "?c").status == 200
    assert len(looks) == 2


def test_a_cache_that_hangs_costs_one_request_a_moment(host, running, server, reads, looks):
    one = host()
    one.ask(reads, OTHER)
    server.freeze()
    try:
        began = time.monotonic()
        said = one.ask(reads, VERSIONS)
        took = time.monotonic() - began
        assert [one.ask(reads, f"{VERSIONS}?{number}").status for number in range(5)] == [200] * 5
    finally:
        server.thaw()
    assert (said.status, said.was_ready) == (200, False)
    assert took < PATIENCE + DJANGO
    assert len(looks) == 2, "one for each question until it hung, and none since"


def test_who_comes_while_a_look_hangs_does_not_wait_at_all(host, server, reads, monkeypatch):
    one = host()

    def hang(*_):
        time.sleep(1)
        return {}

    monkeypatch.setattr(OtherHosts, "_look", hang)

    async def look(name: bytes) -> float:
        began = time.monotonic()
        assert await one.hosts.find([name]) == {}
        return time.monotonic() - began

    assert one.run(look(b"a")) >= PATIENCE
    assert one.run(look(b"b")) < PATIENCE / 2


def test_a_cache_that_comes_back_is_used_again(host, patient, reads, clock):
    server = Server()
    one, other = host(), host()
    for each in (one, other):
        each.hosts._redis = Redis.from_url(server.url)
    server.end()
    one.ask(reads, VERSIONS)
    clock.ahead = ASK_AGAIN_SECONDS + 1
    server.start()
    one.ask(reads, OTHER)
    assert other.ask(reads, OTHER).was_ready
    server.end()


def test_a_connection_that_redis_has_closed_is_opened_again_at_once(both, server, reads):
    one, other = both
    other.ask(reads, OTHER)
    one.ask(reads, VERSIONS)
    server.redis.client_kill_filter(_type="normal", skipme=True)
    assert other.ask(reads, VERSIONS).was_ready


def test_a_full_cache_takes_nothing_and_django_answers(both, server, reads):
    one, other = both
    server.redis.config_set("maxmemory", 1)
    try:
        assert not one.ask(reads, VERSIONS).was_ready
        assert one.ask(reads, VERSIONS).was_ready, "its own table"
        assert (other.ask(reads, VERSIONS).status, server.redis.dbsize()) == (200, 0)
    finally:
        server.redis.config_set("maxmemory", 0)


# --- In the wrong hands ----------------------------------------------------------------------------------------------


def entries(server):
    return {name: server.redis.get(name) for name in server.redis.scan_iter()}


FORGERIES = {
    "no value of ours": lambda _: b"no value of ours",
    "empty": lambda _: b"",
    "a changed byte": lambda sealed: sealed[:60] + bytes([sealed[60] ^ 1]) + sealed[61:],
    "cut": lambda sealed: sealed[:-8],
}


@pytest.mark.parametrize("kind", sorted(FORGERIES))
def test_a_forged_answer_is_not_repeated(both, server, reads, kind):
    one, other = both
    first = one.ask(reads, VERSIONS)
    for name, sealed in entries(server).items():
        server.redis.set(name, FORGERIES[kind](sealed), px=30_000)
    said = other.ask(reads, VERSIONS)
    assert (said.was_ready, said.status, said.body) == (False, 200, first.body)


def test_the_answer_to_another_question_is_not_repeated(host, patient, server, reads):
    one = host()
    one.ask(reads, VERSIONS)
    before = entries(server)
    expected = one.ask(reads, OTHER).body
    (document,) = [name for name in entries(server) if name not in before]
    for sealed in before.values():
        server.redis.set(document, sealed, px=30_000)
        said = host().ask(reads, OTHER)
        assert (said.was_ready, said.body) == (False, expected)


def test_nobody_reads_an_answer_in_the_cache(both, server, reads, bob):
    one, _ = both
    body = one.ask(reads, VERSIONS).body
    token = reads.defaults["HTTP_AUTHORIZATION"].partition(" ")[2]
    assert entries(server)
    for name, sealed in entries(server).items():
        assert not {word for word in (b"acme", b"vpc", token.encode(), body) if word in name + sealed}


# --- For how long ----------------------------------------------------------------------------------------------------


def rest(host):
    """For how many seconds the newest answer in the table holds."""
    return next(reversed(host.front.table._entries.values())).until - time.monotonic()


def test_an_answer_does_not_live_longer_by_travelling(both, server, reads):
    one, other = both
    one.ask(reads, VERSIONS)
    for name in server.redis.scan_iter():
        assert LONGEST - DJANGO - 3 < server.redis.pttl(name) / 1000 <= LONGEST
        server.redis.pexpire(name, 7_000)
    assert other.ask(reads, VERSIONS).was_ready
    assert rest(other) <= 7
    assert max(server.redis.pttl(name) for name in server.redis.scan_iter()) <= 7_000, "what was taken is not written"


@pytest.mark.parametrize("seconds", [LONGEST + 1, -LONGEST - 1])
def test_clocks_of_hosts_that_differ_make_no_answer_live_longer(both, reads, monkeypatch, seconds):
    one, other = both
    one.ask(reads, VERSIONS)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + seconds)
    said = other.ask(reads, VERSIONS)
    assert said.was_ready == (seconds < 0)
    assert rest(other) <= LONGEST


def test_an_answer_that_somebody_put_back_later_or_gave_no_end_is_not_repeated(
    host, patient, server, reads, monkeypatch
):
    host().ask(reads, VERSIONS)
    kept, real = entries(server), time.time
    for name in kept:
        server.redis.persist(name)
    assert not host().ask(reads, VERSIONS).was_ready
    for name, sealed in kept.items():
        server.redis.set(name, sealed, px=60_000)
    monkeypatch.setattr(time, "time", lambda: real() + LONGEST)
    assert not host().ask(reads, VERSIONS).was_ready


# --- How much --------------------------------------------------------------------------------------------------------


def test_a_large_answer_and_too_many_are_not_written(host, patient, server, clock):
    one = host(most_bytes=1000)

    async def write(name: bytes, size: int) -> None:
        one.hosts.add(name, b"x" * size, clock.monotonic() + 30)
        if one.hosts._serving is not None:
            await one.hosts._serving

    for number in range(5):
        one.run(write(b"%032d" % number, 300))
    assert server.redis.dbsize() == 3, "a thousand bytes in a minute"
    clock.ahead = LONGEST + 1
    one.run(write(b"%032d" % 9, 300))
    assert server.redis.dbsize() == 4

    large = host(most_bytes=2 * MOST_BYTES)
    large.run(write(b"%032d" % 10, 300))
    large.hosts.add(b"%032d" % 11, b"x" * (MOST_BYTES + 1), time.monotonic() + 30)
    assert large.hosts._unwritten == {}


def test_looks_that_come_together_are_one_command(host, patient, server, looks):
    one = host()

    async def come() -> None:
        await asyncio.gather(*(one.hosts.find([b"%032d" % number]) for number in range(40)))

    one.run(come())
    assert sorted(looks) in ([40], [1, 39])
