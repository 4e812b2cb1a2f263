"""`python -m registry_site.healthcheck`: of workers and beat by their own pulse, whatever else is away."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis

from registry_site import healthcheck
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
    """Let no process have gone round its loop for more than a minute."""
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


def test_a_worker_that_runs_beat_is_well_if_both_are(tmp_path, monkeypatch):
    monkeypatch.setenv("LARDER_DATA_DIR", str(tmp_path))
    Pulse("worker").note()
    Pulse("beat").note()
    assert healthcheck.worker_is_well()

    os.utime(pulse.file_of("beat"), (0, 0))
    assert not healthcheck.worker_is_well()
    pulse.file_of("beat").write_text("1")  # of another process
    os.utime(pulse.file_of("beat"), (0, 0))
    assert healthcheck.worker_is_well()


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


# --- Restarting -------------------------------------------------------------------------------------------------------


@contextmanager
def looking_like(command: str, folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process with the command line of `manage.py`, which does nothing."""
    program = folder / "manage.py"
    program.write_text("import signal\nsignal.pause()\n")
    one = subprocess.Popen([sys.executable, str(program), command])
    try:
        yield one
    finally:
        one.kill()
        one.wait(timeout=10)


def is_killed(one: "subprocess.Popen[bytes]", mode: str, *, is_well: bool) -> bool:
    healthcheck.restart(mode, is_well=is_well)
    with suppress(subprocess.TimeoutExpired):
        one.wait(timeout=0.3)
    return one.poll() == -signal.SIGKILL


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LARDER_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(healthcheck, "SECOND_LOOK_SECONDS", 0.0)
    (tmp_path / "pulse").mkdir()
    return tmp_path


def silent_since(file: Path, seconds: float) -> None:
    os.utime(file, times=(time.time() - seconds,) * 2)


@pytest.mark.parametrize("mode", ["worker", "beat"])
def test_a_worker_or_beat_without_a_pulse_for_two_minutes_is_killed(folder, mode):
    with looking_like(mode, folder) as one:
        file = pulse.file_of(mode)
        file.write_text(str(one.pid))
        for seconds, ends in ((0, False), (OVER, False), (healthcheck.RESTART_AFTER_SECONDS + 1, True)):
            silent_since(file, seconds)
            assert is_killed(one, mode, is_well=False) == ends, seconds


def test_a_pulse_names_the_process_that_has_it(folder):
    noted = Pulse("worker")
    for _ in range(2):
        noted.note()
        assert pulse.pid_of("worker") == os.getpid()


def test_a_host_that_was_suspended_kills_nothing(folder, monkeypatch):
    """The clock has jumped, and the check may run before the loop does."""
    with looking_like("worker", folder) as one:
        file = pulse.file_of("worker")
        file.write_text(str(one.pid))
        silent_since(file, 3600)
        monkeypatch.setattr(time, "sleep", lambda _: file.touch())
        assert not is_killed(one, "worker", is_well=False)


def test_another_process_that_was_given_the_number_is_left_alone(folder):
    with looking_like("web", folder) as one:
        file = pulse.file_of("worker")
        for content in (str(one.pid), "", "0", "not a number"):
            file.write_text(content)
            silent_since(file, 3600)
            assert not is_killed(one, "worker", is_well=False)


def test_a_web_server_is_killed_once_no_check_was_answered_for_two_minutes(folder, monkeypatch):
    monkeypatch.setenv("LARDER_DRAIN_SECONDS", "60")
    marker, limit = folder / "pulse" / "web-is-silent", healthcheck.RESTART_AFTER_SECONDS + 60
    with looking_like("web", folder) as one:
        number = folder / "web.pid"
        number.write_text(str(one.pid))
        silent_since(number, 3600)
        assert not is_killed(one, "web", is_well=False)  # the first check that fails
        silent_since(marker, limit - 1)
        assert not is_killed(one, "web", is_well=False), "it may drain"
        assert not is_killed(one, "web", is_well=True)
        assert not marker.exists()

        assert not is_killed(one, "web", is_well=False)
        silent_since(marker, limit + 1)
        silent_since(number, 30)
        assert not is_killed(one, "web", is_well=False), "it has just been started"
        silent_since(number, 3600)
        assert is_killed(one, "web", is_well=False)


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
@pytest.mark.slow
def test_a_worker_reports_again_and_again(plain: Live) -> None:
    """Not by the queue, in which a report would wait behind uploads."""
    code = "from apps.jobs import heartbeats; print(heartbeats.newest('check').timestamp())"

    def newest() -> float:
        return float(plain.manage("shell", "--no-imports", "-v", "0", "-c", code))

    for _ in range(2):
        last = newest()
        eventually(lambda: newest() > last, seconds=60, what="a report")  # noqa: B023  # it is asked here


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
    """Nor one that begins before it starts: a restart brings no broker back. systemd hears that it is well."""
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
        NOTIFY_SOCKET=f"@larder-{port}",
    )
    (tmp_path / "data").mkdir(mode=0o700)
    output = tmp_path / "output.txt"

    def has_pulse() -> bool:
        assert own.poll() is None, output.read_text()[-4000:]
        return is_healthy(mode, environment)

    def again(when: str, condition: Callable[[], object] = has_pulse) -> None:
        age(tmp_path / "data")
        eventually(condition, seconds=60, what=f"a pulse {when}")
        systemd.settimeout(0)
        with suppress(BlockingIOError):
            while systemd.recv(100):
                pass
        systemd.settimeout(60)
        assert systemd.recv(100) == b"WATCHDOG=1"

    systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    systemd.bind(f"\0larder-{port}")
    words = [sys.executable, "manage.py", mode]
    with systemd, process(words, environment, output) as own:
        eventually(has_pulse, what="a pulse before there is a broker")
        again("while it waits for a broker")
        with process(server, environment, output) as broker:
            wait(broker, port)
            with redis.Redis(port=port) as asked:
                eventually(lambda: len(asked.client_list()) > 1, what="its connection")
            again("with a broker")
        again("without the broker again")
        again("still without it")
