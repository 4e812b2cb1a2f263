"""Each part of the stack fails under load. `make chaos` runs the same faults for a minute each instead of seconds."""

import os
import random
import signal
import time
from collections.abc import Iterator
from functools import partial

import psycopg
import pytest
import redis

from tests.chaos import report
from tests.chaos.busy_slots import flush
from tests.chaos.faulty_storage import FAULTS
from tests.chaos.garbage import NAMESPACE, Garbage
from tests.chaos.world import IS_LONG, LEASE_SECONDS, RECOVERY_SECONDS, World, under_load
from tests.production import REDIS_ADMIN, is_ready
from tests.programs import PRODUCTION
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.nightly, pytest.mark.needs(*PRODUCTION), pytest.mark.timeout(900)]

SECONDS = float(os.environ.get("CHAOS_SECONDS", "3"))
SOAK_SECONDS = float(os.environ.get("CHAOS_SOAK_SECONDS", SECONDS))
GARBAGE = 10_000 if IS_LONG else 200
# Longer than a statement may take, and than a connection: 10 and 4 s.
HANGING_SECONDS = 11
KILLS = 66 if IS_LONG else 9
WORKERS = ("worker-0", "worker-1", "signing-worker-0")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with under_load(tmp_path_factory.mktemp("chaos")) as found:
        yield found


def kill_and_start(world: World, copy: str) -> None:
    world.stack.processes[copy].send_signal(signal.SIGKILL)
    world.stack.processes[copy].wait()
    world.stack.start(copy)


def test_workers_killed_at_random_lose_nothing(world: World) -> None:
    chance = random.Random(7)
    with world.load():
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            time.sleep(chance.uniform(0.5, 3))
            kill_and_start(world, chance.choice(WORKERS))
    world.check()


@pytest.mark.timeout(60 * KILLS + 600)
def test_kills_of_every_part_refuse_nothing(world: World) -> None:
    """Workers, that with beat, web servers and the database, one after the other, while all others work.

    A release that was refused or failed by an internal error is one of the problems that `check` finds.
    """
    chance = random.Random(66)
    parts = [*WORKERS, "notify-worker-0", "web-0", "web-1", "database"]
    with world.load():
        for number in range(KILLS):
            time.sleep(chance.uniform(0.1, 1.5))
            kill(world, parts[number % len(parts)])
            killed_at = time.monotonic()
            goes_on = partial(has_more, world, than=len(world.acknowledged))
            eventually(goes_on, RECOVERY_SECONDS, what="the next upload")
            report.measured(uploads=round(time.monotonic() - killed_at, 1))
    assert set(world.answers) <= {202, 503, 0}
    eventually(partial(all_run, world), RECOVERY_SECONDS, what="every part")
    world.check()


def has_more(world: World, *, than: int) -> bool:
    world.stack.restart_ended()
    return len(world.acknowledged) > than


def all_run(world: World) -> bool:
    world.stack.restart_ended()
    return is_ready(world.stack.live)


def kill(world: World, part: str) -> None:
    if part == "database":
        world.stack.database.kill()
        world.stack.database.start_again()
    else:
        kill_and_start(world, part)


def test_a_worker_that_slept_past_its_lease_changes_nothing(world: World) -> None:
    asleep = world.stack.processes["worker-0"]
    with world.load():
        time.sleep(0.5)
        asleep.send_signal(signal.SIGSTOP)
        time.sleep(LEASE_SECONDS + SECONDS)
        asleep.send_signal(signal.SIGCONT)
    world.check()


def test_without_a_signing_worker_releases_wait_and_modules_go_on(world: World) -> None:
    signer = world.stack.processes["signing-worker-0"]
    signer.send_signal(signal.SIGTERM)
    assert signer.wait(timeout=30) == 0
    with world.load():
        time.sleep(SECONDS)
    assert world.answers[202]
    world.stack.start("signing-worker-0")
    world.check()


@pytest.mark.parametrize("seconds", (5, 60, 200) if IS_LONG else (SECONDS,))
def test_a_broker_that_hangs_costs_no_upload(world: World, seconds: float) -> None:
    with world.load():
        world.stack.broker.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        world.stack.broker.process.send_signal(signal.SIGCONT)
    assert set(world.answers) == {202}
    world.check()


def test_a_broker_killed_and_begun_anew_costs_no_upload(world: World) -> None:
    with world.load():
        world.stack.broker.stop(signal.SIGKILL)
        time.sleep(SECONDS)
        world.stack.broker.start()
    assert set(world.answers) == {202}
    world.check()


def test_rings_that_were_flushed_are_rung_again(world: World) -> None:
    with world.load():
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            kill_and_start(world, "notify-worker-0")
            flush(world)
            time.sleep(1)
    assert set(world.answers) == {202}
    world.check()


def test_a_broker_whose_memory_is_full_costs_no_upload_and_no_worker(world: World) -> None:
    broker = redis.Redis(port=world.stack.broker.port, **REDIS_ADMIN)
    with world.load():
        broker.config_set("maxmemory", 1)
        time.sleep(SECONDS)
        broker.config_set("maxmemory", 0)
    assert set(world.answers) == {202}
    world.check()
    assert {name: world.stack.processes[name].poll() for name in WORKERS} == dict.fromkeys(WORKERS)


def test_database_sessions_terminated_again_and_again_lose_nothing(world: World) -> None:
    with world.load():
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            with psycopg.connect(world.stack.database.url, autocommit=True) as own:
                own.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
            time.sleep(1)
    assert set(world.answers) <= {202, 503, 0}
    world.check()


def test_a_database_restarted_at_once_loses_nothing(world: World) -> None:
    with world.load():
        time.sleep(0.5)
        world.stack.database.stop_at_once()
        time.sleep(SECONDS)
        with world.client() as client:
            answer = client.get("/v1/modules/chaos/none/aws/versions")
            assert (answer.status_code, answer.headers.get("Retry-After", "").isdigit()) == (503, True)
        world.stack.database.start_again()
        time.sleep(1)
    assert set(world.answers) <= {202, 503}
    world.check()


def test_a_database_that_hangs_loses_nothing(world: World) -> None:
    with world.load():
        time.sleep(0.5)
        with world.stack.database.hanging():
            time.sleep(HANGING_SECONDS)
        time.sleep(1)
    assert set(world.answers) <= {202, 503}
    world.check()


def test_a_database_without_connections_left_loses_nothing(world: World) -> None:
    with world.load():
        taken = []
        try:
            while True:
                taken.append(psycopg.connect(world.stack.database.url))
        except psycopg.OperationalError:
            time.sleep(SECONDS)
        finally:
            for one in taken:
                one.close()
    assert set(world.answers) <= {202, 503}
    assert len(taken) > 50
    world.check()


def test_storage_that_fails_in_each_way_loses_nothing(world: World) -> None:
    with world.load():
        time.sleep(0.5)
        for fault in FAULTS:
            before = world.storage.injected
            world.storage.fault = fault
            time.sleep(SECONDS)
            eventually(lambda: world.storage.injected > before, what=fault)  # noqa: B023  # it is asked here
            world.storage.fault = ""
            time.sleep(0.5)
    assert set(world.answers) <= {202, 503}
    world.check()


@pytest.mark.timeout(2 * SOAK_SECONDS + 900)
def test_mixed_work_meets_no_error(world: World) -> None:
    """Ninety reads of metadata to nine downloads and one publish: an hour with CHAOS_SOAK_SECONDS=3600."""
    before = world.memory()
    mixed = world.mix(SOAK_SECONDS)
    world.check()
    grown = world.grown(before)

    print(f"{sum(mixed.values())} requests of mixed work: {sorted(mixed.items())}, MB: {sorted(grown.values())}")  # noqa: T201
    assert set(mixed) == {200, 202}
    assert not IS_LONG or max(grown.values()) < 50


def test_garbage_meets_no_5xx_and_takes_no_memory(world: World) -> None:
    """Memory is for the long form, of each process: of all of one host, at rest before, flows/test_garbage.py."""
    with world.client() as client:
        client.put(f"/api/v1/namespaces/{NAMESPACE}", json={"visibility": "private"}).raise_for_status()
    token = world.stack.live.token("admin", "publish", "--namespace", NAMESPACE)
    garbage = Garbage(list(world.stack.webs.values()), token, random.Random(20261123))
    world.wait_until_idle()
    before = world.memory()
    garbage.send(GARBAGE)
    # A thousand uploads wait for two workers, which give way to everybody: that is a backlog, not a recovery.
    world.wait_until_idle(seconds=900)
    grown = world.grown(before)
    report.answered(garbage.answers)

    print(f"{GARBAGE} pieces of garbage: {sorted(garbage.answers.items())}, MB: {sorted(grown.values())}")  # noqa: T201
    assert garbage.broken == []
    assert {202, 400, 404} <= set(garbage.answers)
    assert not IS_LONG or max(grown.values()) < 50
    with world.load():
        time.sleep(1)
    world.check()
