"""A PostgreSQL of the test run's own: Debian's server programs, a free loopback port, a folder that goes with it."""

import atexit
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.site.processes import descendants, eventually, parents

PATIENCE = 120.0  # seconds for a start: without the server a whole run ends


def programs() -> Path | None:
    """The folder with initdb and postgres: on the PATH, or where Debian keeps each version."""
    if not shutil.which("setpriv"):
        return None
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


def start() -> str:
    """Start a server, stopped when this process ends; answers its URL. Safety is off: the data is thrown away."""
    return Server().url


class Server:
    """One that tests may stop at once, as a fail-over does, and start again: its data and its port stay.

    `keeps_commits`: what was committed outlives such a stop. `password`: of the role postgres; then every connection
    needs one. Without it everybody is let in as larder, a superuser.
    """

    def __init__(self, *, keeps_commits: bool = False, password: str = "") -> None:
        found = programs()
        assert found, "a test that starts PostgreSQL is marked to need it"
        self._programs = found
        # Not below TMPDIR, which may be private: as root PostgreSQL runs as another user.
        self._folder = Path(tempfile.mkdtemp(prefix="larder-postgres-", dir="/tmp"))
        # PostgreSQL refuses to run as root: become Debian's postgres user then.
        self._become = ["setpriv", "--pdeathsig=TERM"]  # a killed test run leaves no server behind
        if os.geteuid() == 0:
            self._become += ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
            shutil.chown(self._folder, "postgres", "postgres")
        self.port = free_port()
        self._options = {"fsync": "off", "full_page_writes": "off", "max_connections": "200"}
        self._options["synchronous_commit"] = "on" if keeps_commits else "off"
        layout = ["-D", str(self._folder / "data"), "-U", "larder", "-A", "trust", "-E", "UTF8", "-N"]
        if password:
            given = self._folder / "password"
            given.write_text(password)
            layout[3:6] = ["postgres", "-A", "scram-sha-256", f"--pwfile={given}"]
        subprocess.run(self._command("initdb", *layout), check=True, **self._quietly)
        self._process = self._started()
        atexit.register(self._stop)
        self.url = f"postgres://larder@127.0.0.1:{self.port}/postgres"
        if password:
            self.url = f"postgres://postgres:{password}@127.0.0.1:{self.port}/postgres"

    def stop_at_once(self) -> None:
        """Stop like `pg_ctl stop -m immediate`."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(timeout=30)

    def kill(self) -> None:
        """All of its processes at once, as when its host loses its power: a child that lived on would keep the next
        one from starting.
        """
        every = {self._process.pid, *descendants(self._process.pid)}
        self._process.send_signal(signal.SIGSTOP)  # first, or it would tell its children
        for one in every:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        self._process.wait(timeout=30)
        eventually(lambda: not every & parents().keys(), seconds=30, what="the end of PostgreSQL")

    def start_again(self) -> None:
        self._process = self._started()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Every process of it is stopped: connections open and are not answered."""
        self._process.send_signal(signal.SIGSTOP)  # first, or it would start others
        children = descendants(self._process.pid)
        try:
            for child in children:
                os.kill(child, signal.SIGSTOP)
            yield
        finally:
            for child in [*children, self._process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGCONT)

    @property
    def _quietly(self) -> dict[str, Any]:
        return {"cwd": self._folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def _command(self, program: str, *arguments: str) -> list[str]:
        return [*self._become, str(self._programs / program), *arguments]

    def _started(self) -> "subprocess.Popen[bytes]":
        words = ["-D", str(self._folder / "data"), "-h", "127.0.0.1", "-p", str(self.port), "-k", ""]
        words += [word for name, value in self._options.items() for word in ("-c", f"{name}={value}")]
        process = subprocess.Popen(self._command("postgres", *words), **self._quietly)
        wait(process, self.port)
        self._wait_until_it_answers()
        return process

    def program(self, name: str) -> str:
        return str(self._programs / name)

    def execute(self, statement: str) -> None:
        subprocess.run([self.program("psql"), "-qc", statement, self.url], check=True, **self._quietly)

    def processor_seconds(self) -> float:
        """Of all its processes, also of those that have ended."""
        ticks = 0
        for one in (self._process.pid, *descendants(self._process.pid)):
            with suppress(FileNotFoundError):
                fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15] if one == self._process.pid else fields[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _wait_until_it_answers(self) -> None:
        """It takes connections a little later than its port does."""
        deadline = time.monotonic() + PATIENCE
        asking = self._command("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port))
        while subprocess.run(asking, check=False, **self._quietly).returncode != 0:
            if time.monotonic() > deadline:
                raise RuntimeError("PostgreSQL did not start")
            time.sleep(0.1)

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def free_port() -> int:
    """Below those that connections going out are given: one of them could take it before its server does."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port


def wait(server: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{server.args!r} did not start")
