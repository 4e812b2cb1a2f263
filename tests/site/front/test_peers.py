"""A change waits for the leases of other processes, and only where there are others."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from django.db import connections

from registry_site.front.lease import Peers, peers_at
from tests.builders.archives import module_zip
from tests.live import CHECKOUT, Live
from tests.postgres import free_port

JOIN = "import sys; from pathlib import Path; from registry_site.front.lease import Peers; "
JOIN += "peers = Peers(Path(sys.argv[1])); print(peers.are_none(), flush=True); input()"


@contextmanager
def another(file: Path) -> Iterator["tuple[subprocess.Popen[str], str]"]:
    """A process that has joined, and whether it found nobody else; killed at the end, if not before."""
    command = [sys.executable, "-c", JOIN, str(file)]
    process = subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        yield process, process.stdout.readline().strip()
        process.kill()


def test_a_process_knows_whether_others_repeat_answers_too(tmp_path):
    file = tmp_path / "db.sqlite3-front"
    mine = Peers(file)
    assert mine.are_none()

    with another(file) as (first, found_nobody):
        assert found_nobody == "False", "the other one has to wait for this one as well"
        assert not mine.are_none()
        assert not mine.are_none(), "asking must not give up its own share"
        with another(file):
            first.kill()
            first.wait()
            assert not mine.are_none()
    assert mine.are_none(), "a killed process counts no more"


def test_a_fork_is_not_shown_by_its_parents_lock(tmp_path):
    mine = Peers(tmp_path / "db.sqlite3-front")
    child = os.fork()
    if child == 0:
        os._exit(0 if not mine.are_none() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert mine.are_none()


@pytest.mark.both
def test_only_the_processes_of_a_file_are_known(db):
    """The clients of PostgreSQL may be anywhere."""
    connection = connections["default"]
    assert peers_at(connection).are_none() is (connection.vendor == "sqlite")


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
                wait_until_it_answers(second)
                for verb, is_listed in (("yank", False), ("restore", True), ("yank", False)):
                    for _ in range(3):
                        second.get(versions)  # ready, under a lease that has just begun
                    url = f"/api/v1/modules/peers/vpc/local/1.0.0/{verb}"
                    first.post(url, json={"reason": "a trial"}).raise_for_status()
                    assert ('"1.0.0"' in second.get(versions).text) is is_listed, verb
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def wait_until_it_answers(client: httpx.Client) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            client.get("/healthz").raise_for_status()
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return
