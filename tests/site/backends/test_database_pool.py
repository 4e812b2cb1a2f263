"""The backend for PostgreSQL: its pool, without connections and after a fork, and the end of its transactions."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler
from structlog.testing import capture_logs

from apps.audit import generation
from registry_site.backends.database import leave_some_connections, use_own_connection
from registry_site.postgres import base
from tests import postgres
from tests.site.processes import eventually

pytestmark = [
    pytest.mark.needs("postgres"),
]


@pytest.fixture(scope="module")
def server():
    found = postgres.Server()
    with psycopg.connect(found.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 1")
    return found


@pytest.fixture(autouse=True)
def databases_of_our_own(django_db_blocker):
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def quiet_before(monkeypatch):
    monkeypatch.setattr(base, "exhaustion", base._Exhaustion())
    monkeypatch.setattr(base, "WAIT_SECONDS", 0.5)


def handler(port, user="larder", connections=2):
    pool = {"max_size": connections}
    told = {"ENGINE": "registry_site.postgres", "NAME": "postgres", "USER": user, "HOST": "127.0.0.1", "PORT": port}
    told |= {"OPTIONS": {"pool": pool}, "CONN_HEALTH_CHECKS": True}
    return ConnectionHandler({"default": told})


@contextmanager
def wrappers(count, port, user="larder", connections=2):
    """Open the wrappers of that many threads."""
    made = [handler(port, user, connections)["default"] for _ in range(count)]
    for one in made:
        one.inc_thread_sharing()
    try:
        yield made
    finally:
        for one in made:
            one.close()
        base.close_pools()


def port_of(server):
    return server.url.rpartition(":")[2].partition("/")[0]


@pytest.mark.slow
def test_who_finds_all_in_use_is_told_and_the_log_says_so_once(server, quiet_before):
    with wrappers(4, port_of(server)) as (one, two, three, four), capture_logs() as logs:
        one.ensure_connection()
        two.ensure_connection()
        for late in (three, four):
            with pytest.raises(OperationalError, match="all 2 connections of this process are in use"):
                late.ensure_connection()
        two.close()
        three.ensure_connection()

    assert [(log["event"], log["connections"]) for log in logs] == [("database_connections_exhausted", 2)]


def figures():
    return tuple(base.pool_figures()[state] for state in ("in_use", "idle", "limit", "waiting"))


def test_connections_are_counted_as_the_server_and_the_threads_have_them(server, quiet_before, monkeypatch):
    """A thread waits in steps, and the pool counts each of them until a connection comes."""
    monkeypatch.setattr(base, "WAIT_SECONDS", 3 * base.STEP_SECONDS)
    with wrappers(5, port_of(server)) as (one, two, *late), ThreadPoolExecutor(3) as threads:
        assert figures() == (0, 0, 0, 0)
        one.ensure_connection()
        two.ensure_connection()
        waits = [threads.submit(other.ensure_connection) for other in late]
        eventually(lambda: figures() == (2, 0, 2, 3), seconds=10, what="three who wait")
        assert {type(wait.exception()) for wait in waits} == {OperationalError}
        assert figures() == (2, 0, 2, 0)

        two.close()
        eventually(lambda: figures() == (1, 1, 2, 0), seconds=10, what="one that is idle")


def test_a_server_that_is_away_has_given_no_connection(quiet_before):
    """The pool takes the attempt for a connection."""
    with wrappers(1, postgres.free_port()) as (one,):
        with pytest.raises(OperationalError):
            one.ensure_connection()
        assert figures() == (0, 0, 2, 0)


def test_a_server_that_takes_no_more_is_named_in_the_log(server, quiet_before, monkeypatch):
    monkeypatch.setattr(base, "WAIT_SECONDS", 30.0)
    with wrappers(2, port_of(server), user="few") as (one, two), capture_logs() as logs:
        one.ensure_connection()
        with pytest.raises(OperationalError, match="too many connections"):
            two.ensure_connection()

    assert [log["event"] for log in logs] == ["database_connections_exhausted"]
    assert "too many connections" in logs[0]["server_says"]


def test_nobody_waits_for_a_server_that_is_not_there(quiet_before, monkeypatch):
    """psycopg's own pool would keep each of them for all of the time that there is."""
    monkeypatch.setattr(base, "WAIT_SECONDS", 60.0)
    with wrappers(1, postgres.free_port()) as (one,), capture_logs() as logs:
        began = time.monotonic()
        for _ in range(2):
            with pytest.raises(OperationalError, match="refused"):
                one.ensure_connection()

    assert time.monotonic() - began < 30, "two of them waited"
    assert logs == []


def test_a_child_does_not_inherit_a_pool():
    code = (
        "import os, sys\n"
        "from registry_site.postgres import base\n"
        "base._pools['default'] = object()\n"
        "child = os.fork()\n"
        "if not child:\n    os._exit(len(base._pools))\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or (not base._pools.popitem()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def transactions(server, monkeypatch):
    """`generation` on tables of this test's own; begins a transaction on the connection of the calling thread."""
    made = handler(port_of(server))
    monkeypatch.setattr(generation, "connections", made)
    with psycopg.connect(server.url, autocommit=True) as sql:
        sql.execute("CREATE TABLE audit_generation (scope varchar PRIMARY KEY, number bigint)")
        sql.execute("CREATE TABLE things (id int PRIMARY KEY, n int)")
        sql.execute("INSERT INTO things VALUES (1, 0)")

        @contextmanager
        def transaction():
            connection = made["default"]
            connection.set_autocommit(False)
            try:
                with connection.cursor() as cursor:
                    yield cursor
                connection.commit()
            finally:
                connection.close()

        yield transaction
        sql.execute("DROP TABLE audit_generation, things")
    base.close_pools()


def numbers(server):
    with psycopg.connect(server.url) as sql:
        return dict(sql.execute("SELECT scope, number FROM audit_generation").fetchall())


def test_the_generation_is_bumped_last_so_that_nobody_waits_for_a_row_with_it(server, transactions):
    """Bumped at once, the first would wait for the row and the second for the generation: a deadlock."""
    both = threading.Barrier(2, timeout=20)

    def bump_first():
        with transactions() as cursor:
            generation.touch({"acme"})
            both.wait()
            cursor.execute("UPDATE things SET n = n + 1")

    def bump_last():
        with transactions() as cursor:
            cursor.execute("UPDATE things SET n = n + 1")
            both.wait()
            generation.touch({"pantry"})

    with ThreadPoolExecutor(2) as pool:
        for one in (pool.submit(bump_first), pool.submit(bump_last)):
            one.result()
    assert numbers(server)[generation.ANYTHING] == 2


def test_transactions_that_bump_in_opposite_orders_wait_for_each_other_and_bump_once_each(server, transactions):
    together = threading.Barrier(2, timeout=20)

    def bump(*order):
        for _ in range(10):
            together.wait()
            with transactions():
                for scope in order:
                    generation.touch({scope})

    with ThreadPoolExecutor(2) as pool:
        for one in (pool.submit(bump, "acme", "pantry"), pool.submit(bump, "pantry", "acme")):
            one.result()
    found = numbers(server)
    assert found == {generation.ANYTHING: 2 * 10, "acme": 2 * 10, "pantry": 2 * 10}


def test_a_transaction_that_fails_bumps_nothing_and_neither_does_the_next_one(server, transactions):
    connection = generation.connections["default"]  # type: ignore[attr-defined]  # the made one
    connection.set_autocommit(False)
    generation.touch({"acme"})
    connection.rollback()
    connection.commit()
    connection.close()
    with transactions():
        generation.touch({"pantry"})
    assert numbers(server) == {generation.ANYTHING: 1, "pantry": 1}


def test_threads_for_machines_leave_a_connection_to_all_others(server, quiet_before):
    with wrappers(3, port_of(server)) as (machine, second, page):

        def of_machines(work):
            leave_some_connections()
            return work()

        with ThreadPoolExecutor(1) as machines:
            machines.submit(of_machines, machine.ensure_connection).result()
            with pytest.raises(OperationalError, match="all 2 connections of this process are in use"):
                machines.submit(of_machines, second.ensure_connection).result()
            page.ensure_connection()
            assert base.pool_figures() == {"in_use": 2, "idle": 0, "limit": 2, "waiting": 0}
            machines.submit(machine.close).result()
            machines.submit(of_machines, second.ensure_connection).result()


def test_a_connection_that_was_not_made_is_none_of_the_machines(quiet_before):
    with wrappers(1, postgres.free_port()) as (one,), ThreadPoolExecutor(1) as machines:
        machines.submit(leave_some_connections).result()
        for _ in range(3):
            with pytest.raises(OperationalError, match="refused"):
                machines.submit(one.ensure_connection).result()


def test_health_connects_beside_a_pool_of_which_all_are_in_use(server, quiet_before):
    with wrappers(3, port_of(server)) as (one, two, health), ThreadPoolExecutor(1) as checks:
        one.ensure_connection()
        two.ensure_connection()

        def look():
            with health.cursor() as cursor:
                cursor.execute("SELECT 1")
                found = cursor.fetchone()
            health.close()
            return found

        checks.submit(use_own_connection).result()
        for _ in range(2):
            assert checks.submit(look).result() == (1,)
        assert base.pool_figures()["in_use"] == 2
