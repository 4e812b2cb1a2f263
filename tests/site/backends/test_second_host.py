"""A second host on the same database without the first one's secret key: it says so, wherever it is asked."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live import CHECKOUT, Live
from tests.postgres import free_port
from tests.site.processes import eventually

pytestmark = pytest.mark.live


def second_host(live: Live, folder: Path) -> dict[str, str]:
    return {
        **live.environment,
        "LARDER_DATA_DIR": str(folder / "data"),
        "LARDER_LISTEN": f"127.0.0.1:{free_port()}",
        "LARDER_DATABASE_URL": f"sqlite:///{live.data_dir / 'db.sqlite3'}",
    }


@contextmanager
def running(command: str, environment: dict[str, str], output: Path) -> Iterator[None]:
    with output.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "manage.py", command], cwd=CHECKOUT, env=environment, stdout=sink, stderr=sink
        )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def test_up_says_it_before_it_serves(live: Live, tmp_path: Path) -> None:
    """It has just made a key of its own. Stopped at once: its worker would take the first one's jobs."""
    output = tmp_path / "output.txt"
    with running("up", second_host(live, tmp_path), output):
        eventually(lambda: "This host's secret key is not the one that" in output.read_text(), what="the warning")

    assert "secret_key_differs" in output.read_text()


@pytest.mark.parametrize("command", ["web", "beat"])
def test_a_process_on_its_own_logs_it(live: Live, tmp_path: Path, command: str) -> None:
    (tmp_path / "key").write_text("other pears " * 5)
    environment = {**second_host(live, tmp_path), "LARDER_SECRET_KEY_FILE": str(tmp_path / "key")}
    output = tmp_path / "output.txt"
    with running(command, environment, output):
        eventually(lambda: "secret_key_differs" in output.read_text(), what="the line")


def test_the_first_host_and_its_worker_have_nothing_to_say(live: Live) -> None:
    text = live.output.read_text()
    assert "secret_key_differs" not in text
    assert "kek_differs" not in text
