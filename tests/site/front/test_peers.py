"""A change ends the leases of the other processes of its database, or waits for them where they cannot be told."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest.mock import AsyncMock

import httpx
import pytest
from django.db import connections

from apps.audit import generation
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from registry_site.front.peers import WORD_BYTES, Peers, peers_at
from tests.builders.archives import module_zip
from tests.live import CHECKOUT, Live
from tests.postgres import free_port
from tests.site.front.asking import Process
from tests.site.processes import eventually

TELL = "import sys; from pathlib import Path; from registry_site.front.peers import Peers; "
TELL += "assert Peers(Path(sys.argv[1])).tell()"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "db.sqlite3-front"


def test_another_process_hears_of_a_change_at_once_and_nothing_of_one_that_joins(file):
    mine = Peers(file)
    before = mine.word[0]
    Peers(file)
    assert mine.word[0] == before
    subprocess.run([sys.executable, "-c", TELL, str(file)], cwd=CHECKOUT, check=True)
    assert mine.word[0] != before


def test_the_empty_file_of_an_earlier_version_of_larder_serves(file):
    file.touch()
    assert Peers(file).tell()
    assert file.stat().st_size == WORD_BYTES


def test_where_the_word_cannot_be_written_the_change_waits(file, monkeypatch):
    mine = Peers(file)
    monkeypatch.setattr(os, "pwrite", refuse)
    assert not mine.tell()


def change() -> None:
    record(Kind.NAMESPACE_CREATED, actor_id=None, subject="acme")


def refuse(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.both
def test_who_is_told_of_a_change_asks_again_and_the_teller_does_not_wait(db, file, monkeypatch):
    teller, other = Process(file), Process(file)
    wait = AsyncMock()
    monkeypatch.setattr(asyncio, "sleep", wait)
    lease = other.front.lease
    before = lease.number
    change()
    assert lease.holds_unattended(), "nothing has been told"

    teller.run(teller.front.tell("PUT", "/api/v1/namespaces/acme", 200))
    wait.assert_not_called()
    assert lease.has_ended()
    assert not lease.holds_unattended()
    assert other.run(lease.holds())
    assert lease.number > before
    teller.end()
    other.end()


def test_a_renewal_that_was_on_its_way_when_the_change_was_told_does_not_count(db, file, monkeypatch):
    """The database has answered, and the thread that asked has not come back yet."""
    other, ask = Process(file), generation.changes_since
    lease = other.front.lease

    def ask_and_hear(connection, number):
        found = ask(connection, number)
        assert Peers(file).tell()
        return found

    monkeypatch.setattr(generation, "changes_since", ask_and_hear)
    assert other.run(lease.renew())
    assert lease.has_ended()
    other.end()


@pytest.mark.both
def test_only_the_processes_of_a_file_can_be_told(db):
    """The clients of PostgreSQL may be anywhere."""
    connection = connections["default"]
    assert peers_at(connection).tell() is (connection.vendor == "sqlite")


@pytest.mark.live
def test_a_second_web_process_that_was_started_by_hand_answers_nothing_stale(live: Live) -> None:
    port = free_port()
    environment = {**live.environment, "LARDER_LISTEN": f"127.0.0.1:{port}"}
    versions, token = "/v1/modules/peers/vpc/local/versions", live.token()
    with live.client(token) as first:
        first.put("/api/v1/namespaces/peers", json={"visibility": "public"}).raise_for_status()
        live.publish("peers/vpc/local", "1.0.0", module_zip(), token)
        process = subprocess.Popen(
            [sys.executable, "manage.py", "web"], cwd=CHECKOUT, env=environment, stderr=subprocess.DEVNULL
        )
        try:
            with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=live.tls) as second:
                eventually(partial(answers, second), what="the second one")
                for verb, is_listed in (("yank", False), ("restore", True), ("yank", False)):
                    for _ in range(3):
                        second.get(versions)  # ready, under a lease that has just begun
                    url = f"/api/v1/modules/peers/vpc/local/1.0.0/{verb}"
                    first.post(url, json={"reason": "a trial"}).raise_for_status()
                    assert ('"1.0.0"' in second.get(versions).text) is is_listed, verb
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").is_success
    except httpx.TransportError:
        return False
