"""Lanes of threads: people's, machines', and turns at storage."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from apps.blobs import store
from registry_site.server.lanes import BESIDE_PEOPLE, COMPUTES_SECONDS, Lanes, Turns
from tests.rows import for_each_row


@pytest.fixture
def storage(monkeypatch):
    """Storage is on another host; `storage["away"]` tells whether it has stopped answering."""
    state = {"away": False}
    monkeypatch.setattr(store, "is_on_this_host", lambda: False)
    monkeypatch.setattr(store, "is_away", lambda: state["away"])
    return state


def running(test: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(20):
            await test()

    asyncio.run(within())


@pytest.fixture
def lanes(monkeypatch, settings):
    settings.WEB_THREADS = 8
    monkeypatch.setattr("apps.lib.process.outside.listeners", [])
    monkeypatch.setattr("registry_site.server.threads.pools", {})
    return Lanes()


@pytest.fixture
def turns_at_storage(lanes, settings):
    def of(places: int) -> Turns:
        settings.WEB_THREADS = 2 * places
        return Lanes().storage

    return of


@for_each_row(
    "path, lane",
    [
        ("/", "people"),
        ("/modules/acme/vpc/aws", "people"),
        ("/account/login/", "people"),
        ("/admin/", "people"),
        ("/static/css/site.css", "people"),
        ("/status", "people"),
        ("/metrics", "people"),
        ("/v1/modules/acme/vpc/aws/versions", "machines"),
        ("/api/v1/modules", "machines"),
        ("/v2/acme/vpc/aws/manifests/1.0.0", "machines"),
        ("/archives/a/b.zip", "machines"),
        ("/.well-known/terraform.json", "machines"),
        ("/oauth/token", "machines"),
        ("/mcp", "machines"),
    ],
)
def test_pages_have_threads_of_their_own(lanes, path, lane):
    assert lanes.of(path) is getattr(lanes, lane)


def test_at_most_half_of_the_threads_wait_for_what_is_outside(lanes):
    assert lanes.machines.places.size == lanes.machines.size // 2 == 4
    assert lanes.people.places.size == lanes.people.size // 2 == 2


def test_turns_are_given_in_order_and_no_more_than_there_are(storage, turns_at_storage):
    async def test() -> None:
        turns, order, most = turns_at_storage(2), [], 0
        inside = 0

        async def one(number: int) -> None:
            nonlocal inside, most
            async with turns.turn():
                inside += 1
                most = max(most, inside)
                order.append(number)
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*map(one, range(6)))
        assert (order, most) == ([0, 1, 2, 3, 4, 5], 2)

    running(test)


def test_nobody_waits_for_a_turn_at_storage_that_is_away_or_on_this_host(storage, monkeypatch, turns_at_storage):
    async def test() -> None:
        turns = turns_at_storage(1)
        async with turns.turn():
            storage["away"] = True
            async with turns.turn():
                pass
            storage["away"] = False
            monkeypatch.setattr(store, "is_on_this_host", lambda: True)
            async with turns.turn():
                pass

    running(test)


def test_all_go_on_once_storage_is_found_away(storage, turns_at_storage):
    async def test() -> None:
        turns, gone = turns_at_storage(1), []

        async def wait(number: int) -> None:
            async with turns.turn():
                gone.append(number)

        async with turns.turn():
            waiting = [asyncio.create_task(wait(number)) for number in range(3)]
            await asyncio.sleep(0)
            turns.hurry()
            await asyncio.sleep(0.05)
            assert gone == [], "it answers"
            storage["away"] = True
            turns.hurry()
            await asyncio.gather(*waiting)
        assert gone == [0, 1, 2]
        storage["away"] = False
        async with turns.turn():
            assert turns.taken == 1, "none of them gave a turn back that it did not have"

    running(test)


def test_who_leaves_while_it_waits_takes_no_turn(storage, turns_at_storage):
    async def test() -> None:
        turns = turns_at_storage(1)

        async def wait() -> None:
            async with turns.turn():
                pass

        async with turns.turn():
            leaving, last = asyncio.create_task(wait()), asyncio.create_task(wait())
            await asyncio.sleep(0)
            leaving.cancel()
            await asyncio.sleep(0)
        await last
        assert turns.taken == 0

    running(test)


@for_each_row(
    "method, path, has_turn",
    [
        ("GET", "/archives/a/b.zip", True),
        ("GET", "/v1/mirror/registry.example.com/acme/vpc/1.0.0.zip", True),
        ("GET", "/v2/acme/vpc/aws/blobs/sha256:0", True),
        ("PUT", "/v2/acme/vpc/aws/blobs/uploads/1", False),
        ("GET", "/v1/modules/acme/vpc/aws/versions", False),
        ("GET", "/v1/mirror/registry.example.com/acme/vpc/index.json", False),
        ("GET", "/", False),
    ],
)
def test_only_what_reads_files_takes_a_turn(lanes, storage, method, path, has_turn):
    async def test() -> None:
        async with lanes.turn(lanes.machines, method, path):
            assert lanes.storage.taken == has_turn

    running(test)


def test_few_machines_run_beside_people_and_for_a_moment_after(lanes, storage, monkeypatch):
    monkeypatch.setattr("registry_site.server.lanes.LINGER_SECONDS", 0.1)

    async def test() -> None:
        running = 0
        is_over = asyncio.Event()

        async def machine() -> None:
            nonlocal running
            async with lanes.turn(lanes.machines, "GET", "/api/v1/modules"):
                running += 1
                await is_over.wait()

        async def started() -> int:
            await asyncio.sleep(0.01)
            return running

        tasks = [asyncio.create_task(machine()) for _ in range(3)]
        assert await started() == 3, "without people all run"
        async with lanes.turn(lanes.people, "GET", "/modules"):
            tasks += [asyncio.create_task(machine()) for _ in range(5)]
            assert await started() == 3 + BESIDE_PEOPLE
            # What lasts longer waits for something, and computes nothing.
            await asyncio.sleep(COMPUTES_SECONDS)
            assert await started() == 3 + 2 * BESIDE_PEOPLE
        assert await started() == 3 + 2 * BESIDE_PEOPLE
        await asyncio.sleep(0.3)
        assert await started() == 3 + 5
        is_over.set()
        await asyncio.gather(*tasks)
        assert lanes.beside_people.taken == 0

    running(test)


def test_a_crowd_without_sessions_leaves_half_of_the_threads_for_people_to_those_with_one(lanes, monkeypatch):
    """Unless it only waits for something, as for an identity provider that hangs."""

    async def test() -> None:
        is_over, begun = asyncio.Event(), 0

        async def page(*, has_session: bool) -> None:
            nonlocal begun
            async with lanes.turn(lanes.people, "GET", "/modules", has_session=has_session):
                begun += 1
                await is_over.wait()

        crowd = [asyncio.create_task(page(has_session=False)) for _ in range(50)]
        await asyncio.sleep(0.01)
        assert begun == lanes.people.size // 2 == 2
        people = [asyncio.create_task(page(has_session=True)) for _ in range(2)]
        await asyncio.sleep(0.01)
        assert begun == 4
        monkeypatch.setattr(lanes.strangers, "_counts_seconds", 0.05)
        await asyncio.sleep(0.15)
        assert begun > 4
        is_over.set()
        await asyncio.gather(*crowd, *people)
        assert begun == 52, "strangers are answered in their turn"

    running(test)


def test_uploads_need_no_turn(lanes, storage):
    async def test() -> None:
        async with lanes.turn(lanes.people, "GET", "/"), lanes.turn(None, "PUT", "/v2/acme/a/blobs/uploads/1"):
            assert lanes.beside_people.taken == lanes.storage.taken == 0

    running(test)
