"""`python -m registry_site.healthcheck`: of workers and beat by their own pulse, whatever else is away."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from registry_site.server import pulse
from registry_site.server.pulse import Pulse
from tests.live import CHECKOUT, Live, environment_of
from tests.postgres import free_port, wait
from tests.site.processes import child, eventually

OVER = pulse.MAX_AGE.total_seconds() + 1


def check(mode: str, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-m", "registry_site.healthcheck", *mode.split()]
    return subprocess.run(words, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=60, check=False)


def is_healthy(mode: str, environment: dict[str, str]) -> bool:
    return check(mode, environment).returncode == 0


def age(folder: Path) -> None:
    """As if no process had gone round its loop for more than a minute."""
    for file in (folder / "pulse").iterdir():
        os.utime(file, times=(time.time() - OVER,) * 2)


def test_a_pulse_counts_for_a_minute(tmp_path, monkeypatch):
    monkeypatch.setenv("LARDER_DATA_DIR", str(tmp_path))
    assert not pulse.is_recent("worker")

    Pulse("worker").note()
    assert pulse.is_recent("worker")
    age(tmp_path)
    assert not pulse.is_recent("worker")


def test_workers_of_other_queues_and_beat_speak_for_themselves(tmp_path, monkeypatch):
    monkeypatch.setenv("LARDER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("LARDER_WORKER_QUEUES", "notify check")
    Pulse("worker").note()
    assert not pulse.is_recent("beat")

    monkeypatch.setenv("LARDER_WORKER_QUEUES", "check notify")
    assert pulse.is_recent("worker")
    monkeypatch.setenv("LARDER_WORKER_QUEUES", "sign")
    assert not pulse.is_recent("worker")


def test_a_full_disk_stops_no_work(tmp_path, monkeypatch):
    (tmp_path / "pulse").write_text("in the way")
    monkeypatch.setenv("LARDER_DATA_DIR", str(tmp_path))

    Pulse("beat").note()

    assert not pulse.is_recent("beat")


def test_an_unknown_mode_is_refused_with_the_known_ones():
    refused = check("wroker", dict(os.environ))

    assert refused.returncode == 2
    assert "choose from" in refused.stderr
    assert "worker" in refused.stderr


# --- With processes ---------------------------------------------------------------------------------------------------


@contextmanager
def process(words: list[str], environment: dict[str, str], output: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with output.open("ab") as sink:
        one = subprocess.Popen(words, cwd=CHECKOUT, env=environment, stdout=sink, stderr=sink)
    try:
        yield one
    finally:
        one.send_signal(signal.SIGCONT)
        one.terminate()
        one.wait(timeout=60)


@pytest.mark.live
def test_a_worker_that_hangs_is_unhealthy_until_it_goes_on(plain: Live) -> None:
    worker = child(plain.process.pid, "worker")
    assert worker is not None
    assert is_healthy("worker", plain.environment)

    os.kill(worker, signal.SIGSTOP)
    try:
        age(plain.data_dir)
        assert not is_healthy("worker", plain.environment)
        assert is_healthy("web", plain.environment)
    finally:
        os.kill(worker, signal.SIGCONT)

    eventually(lambda: is_healthy("worker", plain.environment), seconds=30, what="a pulse")


@pytest.mark.live
def test_ready_says_which_part_does_not_answer(plain: Live) -> None:
    ready = check("ready", plain.environment)
    assert (ready.returncode, ready.stderr) == (0, "")
    assert "worker: ok" in ready.stdout

    elsewhere = check("ready", plain.environment | {"LARDER_LISTEN": f"127.0.0.1:{free_port()}"})
    assert (elsewhere.returncode, elsewhere.stdout) == (1, "")


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.needs("redis-server")
@pytest.mark.parametrize(
    ("mode", "pool"), [("worker", "threads"), ("worker", "prefork"), ("beat", "threads")], ids=lambda value: value
)
def test_no_outage_of_the_broker_makes_it_unhealthy(plain: Live, tmp_path: Path, mode: str, pool: str) -> None:
    """Nor one that begins before it starts: restarting a process brings no broker back."""
    port = free_port()
    server = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    environment = environment_of(
        tmp_path / "data",
        free_port(),
        LARDER_DATABASE_URL=f"sqlite:///{plain.data_dir / 'db.sqlite3'}",
        LARDER_STORAGE_URL=f"file://{plain.data_dir / 'blobs'}",
        LARDER_SECRET_KEY_FILE=str(plain.data_dir / "secret_key"),
        LARDER_BROKER_URL=f"redis://127.0.0.1:{port}/0",
        LARDER_WORKER_POOL=pool,
        LARDER_WORKER_QUEUES="check notify",
    )
    (tmp_path / "data").mkdir(mode=0o700)
    output = tmp_path / "output.txt"

    def has_pulse() -> bool:
        assert own.poll() is None, output.read_text()[-4000:]
        return is_healthy(mode, environment)

    def again(when: str, condition: Callable[[], object] = has_pulse) -> None:
        age(tmp_path / "data")
        eventually(condition, seconds=60, what=f"a pulse {when}")

    with process([sys.executable, "manage.py", mode], environment, output) as own:
        eventually(has_pulse, what="a pulse before there is a broker")
        again("while it waits for a broker")
        with process(server, environment, output) as broker:
            wait(broker, port)
            with redis.Redis(port=port) as asked:
                eventually(lambda: len(asked.client_list()) > 1, what="its connection")
            again("with a broker")
        again("without the broker again")
        again("still without it")
