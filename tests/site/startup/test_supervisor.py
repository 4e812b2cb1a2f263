"""`manage.py up` as a whole: what it refuses, what it survives and what it leaves behind."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from bench.trees import pss, rss, written_alone
from tests.live import CHECKOUT, Live, start_live
from tests.site.processes import child, descendants, eventually, name_of, parents

pytestmark = [pytest.mark.live, pytest.mark.python]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One that these tests may kill parts of."""
    with start_live(tmp_path_factory.mktemp("own"), why="its processes are killed", LARDER_ADMIN_PASSWORD="") as larder:
        yield larder


def try_up(environment: dict[str, str], **changes: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", "up"],
        cwd=CHECKOUT,
        env=environment | changes,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def answers(larder: Live) -> bool:
    try:
        with larder.client() as client:
            return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_two_on_one_folder_the_second_names_folder_and_process(own: Live) -> None:
    done = try_up(own.environment, LARDER_LISTEN="127.0.0.1:1")
    assert done.returncode == 1
    assert f"is already running on the data folder {own.data_dir} (process {own.process.pid})" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_named(own: Live, tmp_path: Path) -> None:
    done = try_up(own.environment, LARDER_DATA_DIR=str(tmp_path / "other"))
    assert done.returncode == 1
    assert f"cannot listen on {own.host}: Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_it_makes_is_for_its_owner_alone(own: Live) -> None:
    assert (own.data_dir / "secret_key").stat().st_mode & 0o777 == 0o600


def test_its_processes_share_their_memory_and_none_keeps_its_lock(own: Live) -> None:
    everyone = descendants(own.process.pid)
    opened = {fd.resolve() for pid in everyone for fd in Path(f"/proc/{pid}/fd").iterdir()}
    assert (own.data_dir / "lock").resolve() not in opened
    assert max(written_alone(pid) for pid in everyone) < 75, "one that was not forked from the others has 95"
    # Megabytes depend on Python's version, and on which programs beside it have the same files open.
    assert pss(own.process.pid) < 0.6 * rss(own.process.pid), "forks have 0.4 to 0.5, processes apart 0.65 to 0.8"


@pytest.mark.parametrize("name", ["web", "worker"])
def test_a_killed_child_comes_back_and_its_own_children_go(own: Live, name: str) -> None:
    killed = child(own.process.pid, name)
    assert killed is not None
    below = descendants(killed)
    assert below or name == "worker", "the web server has processes; a worker has some while it checks"
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: not ({killed} | below) & parents().keys())
    eventually(lambda: child(own.process.pid, name) not in (None, killed))
    eventually(lambda: answers(own))


REVOKE = """
from apps.accounts.access.gate import NOBODY
from apps.accounts.identity import tokens
tokens.revoke(token=tokens.identify("{}"), actor=NOBODY)
"""


def copy(source: Path, target: Path) -> None:
    """Copy the database like SQLite's own backup."""
    with closing(sqlite3.connect(source)) as database, closing(sqlite3.connect(target)) as other:
        database.backup(other)


def status(larder: Live, token: str) -> int:
    with larder.client(token) as client:
        return client.get("/api/v1/namespaces/demo").status_code


def test_kill_9_leaves_nobody_and_the_next_start_keeps_everything_but_no_token_of_an_older_database(own: Live) -> None:
    """The last of this file: it ends the Larder of the others."""
    database, older = own.data_dir / "db.sqlite3", own.data_dir / "older.sqlite3"
    revoked, other = own.token(), own.token()
    copy(database, older)
    own.manage("shell", "-c", REVOKE.format(revoked))
    assert (status(own, revoked), status(own, other)) == (401, 200)
    printed = re.search(r"Sign in as admin with the password (\S+)", wait_for_announcement(own))
    assert printed is not None
    certificate = (own.data_dir / "tls" / "server.pem").read_bytes()
    everyone = descendants(own.process.pid)
    assert len(everyone) >= 3, [name_of(pid) for pid in everyone]
    own.process.kill()
    eventually(lambda: not everyone & parents().keys())
    for name in ("db.sqlite3-wal", "db.sqlite3-shm"):
        (own.data_dir / name).unlink(missing_ok=True)
    older.rename(database)

    with start_live(own.data_dir.parent, why="it is started after kill -9", LARDER_ADMIN_PASSWORD="") as again:
        assert printed[0] in wait_for_announcement(again)  # until somebody has signed in
        assert (again.data_dir / "tls" / "server.pem").read_bytes() == certificate
        assert signs_in(again, printed[1])
        assert (status(again, revoked), status(again, other)) == (401, 401)
        assert status(again, again.token()) == 200, "what is made since counts"
        assert "older_database_found" in again.output.read_text()
        everyone = descendants(again.process.pid)
        again.process.send_signal(signal.SIGINT)
        assert again.process.wait(timeout=60) == 0
        assert not everyone & parents().keys()
        assert "Larder has stopped." in again.output.read_text()


def wait_for_announcement(larder: Live) -> str:
    eventually(lambda: "Ctrl-C stops it." in larder.output.read_text(), seconds=60)
    return larder.output.read_text().split("Larder is ready")[1]


def signs_in(larder: Live, password: str) -> bool:
    with larder.client() as client:
        form = client.get("/account/login/").text
        field = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
        assert field is not None
        answer = client.post(
            "/account/login/",
            data={"csrfmiddlewaretoken": field[1], "login": "admin", "password": password},
            headers={"Referer": f"{larder.url}/account/login/"},
        )
        return answer.status_code == 302
