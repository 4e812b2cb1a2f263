"""A whole Larder, started as a person starts it, for tests with real clients."""

import json
import os
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests import s3, stack
from tests.postgres import free_port
from tests.sharing import COPY, FOLDER, Turn

CHECKOUT = Path(__file__).resolve().parent.parent
ADMIN_PASSWORD = "quince jelly for everyone"
COMMAND = threading.Lock()
STARTS: list[tuple[str, float]] = []  # why, and in how many seconds


@dataclass
class Live:
    url: str
    host: str  # host:port, as module addresses name it
    data_dir: Path
    environment: dict[str, str]
    process: "subprocess.Popen[bytes]"
    output: Path
    admin_password: str = ADMIN_PASSWORD
    checkout: Path = CHECKOUT

    @property
    def ca_bundle(self) -> Path:
        return self.data_dir / "tls" / "bundle.pem"

    def staged(self) -> set[str]:
        """The objects in staging. Held releases of other tests may be among them: compare with those before."""
        return self.stored("staging")

    def stored(self, folder: str) -> set[str]:
        """The objects below a folder of the storage."""
        url = self.environment.get("LARDER_STORAGE_URL")
        if url:
            return s3.keys(url, folder)
        blobs = self.data_dir / "blobs"
        return {str(path.relative_to(blobs)) for path in (blobs / folder).rglob("*") if path.is_file()}

    def query(self, sql: str) -> Any:
        """The first value, read from its database: a command for each would take a core from the servers."""
        url = self.environment.get("LARDER_DATABASE_URL")
        file = f"file:{self.data_dir / 'db.sqlite3'}?mode=ro"
        with closing(psycopg.connect(url) if url else sqlite3.connect(file, uri=True)) as database:
            row = database.execute(sql).fetchone()
        return row[0] if row else None

    @cached_property
    def commands(self) -> "subprocess.Popen[str]":
        """Runs management commands in forks of a loaded process."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.forks"],
            cwd=self.checkout,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def manage(self, *arguments: str) -> str:
        """Run a management command against this Larder; answers what it printed."""
        commands = self.commands
        assert commands.stdin is not None
        assert commands.stdout is not None
        with COMMAND:
            print(json.dumps(arguments), file=commands.stdin, flush=True)
            status, output, errors = json.loads(commands.stdout.readline())
        assert status == 0, errors
        return str(output)

    def token(self, user: str = "admin", scope: str = "manage", *more: str) -> str:
        return self.manage("token", "--user", user, "--scope", scope, *more).split()[-1]

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Read once: the bundle has the system's authorities as well."""
        return ssl.create_default_context(cafile=self.ca_bundle)

    def client(self, token: str = "", **more: Any) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        tls = self.tls if self.url.startswith("https") else False
        return httpx.Client(base_url=self.url, verify=tls, headers=headers, timeout=30, **more)

    def publish(self, address: str, version: str, data: bytes, token: str) -> dict:
        """PUT an archive and wait until it has ended; answers the release document."""
        path = f"/api/v1/modules/{address}/{version}"
        with self.client(token) as client:
            answer = client.put(path, content=data)
            assert answer.status_code in (200, 202), answer.text
            return self.wait_for(client, f"/api/v1/releases/{answer.json()['id']}")

    def start_worker(self, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
        """A second worker on the same queue, as a second host would start it."""
        command = [sys.executable, "manage.py", "worker", *arguments]
        return subprocess.Popen(command, cwd=CHECKOUT, env=self.environment, **options)

    @contextmanager
    def more_workers(self, count: int) -> Iterator[None]:
        """So many beside its own. Who dies is followed at once, not after `up`'s pause: for tests that kill often."""
        command = [sys.executable, "-m", "tests.forks", str(count)]
        with self.output.open("ab") as sink:
            workers = subprocess.Popen(command, cwd=CHECKOUT, env=self.environment, stdout=sink, stderr=sink)
        try:
            yield
        finally:
            workers.terminate()
            assert workers.wait(timeout=30) == 0

    @staticmethod
    def wait_for(client: httpx.Client, path: str, seconds: float = 180) -> dict:
        """The release document once it has ended. Before the release exists the answer is 404."""
        deadline = time.monotonic() + seconds
        while True:
            document = client.get(path).json()
            if document.get("state") in ("published", "rejected", "failed"):
                return document
            assert time.monotonic() < deadline, document
            time.sleep(0.1)


class FirstRun:
    """The data folder of the test run's first Larder when it was ready: tables, static files, CA and demo.

    Those after it, in any worker of xdist, begin with a copy, which saves them most of their start; those that differ
    in what it holds begin with the tables alone. test_make.py begins with nothing at all.
    """

    def __init__(self) -> None:
        self.kept = FOLDER / "first-run"
        self.turn = Turn("first-run")

    def lay_out(self, data_dir: Path) -> None:
        """Wait while another process makes it. Where there is none, the caller has the turn until it is kept."""
        self.turn.take()
        if self.kept.exists():
            self.turn.end()
            shutil.copytree(self.kept, data_dir)
            data_dir.chmod(0o700)
        else:
            self.lay_out_tables(data_dir)

    @staticmethod
    def lay_out_tables(data_dir: Path) -> None:
        """Those of the tests' own database, where there is one already: to make them takes half a minute."""
        if COPY.exists():
            data_dir.mkdir(mode=0o700, parents=True)
            shutil.copyfile(COPY, data_dir / "db.sqlite3")

    def keep(self, data_dir: Path) -> None:
        if self.kept.exists():
            return
        unfinished = Path(tempfile.mkdtemp(dir=FOLDER))
        for name in ("blobs", "bundles", "static", "tls"):
            shutil.copytree(data_dir / name, unfinished / name)
        shutil.copy2(data_dir / "secret_key", unfinished)
        database, copy = sqlite3.connect(data_dir / "db.sqlite3"), sqlite3.connect(unfinished / "db.sqlite3")
        database.backup(copy)
        with copy:
            copy.execute("DELETE FROM jobs_heartbeat")  # or a worker would seem to be there before it is
            # The demo's statements, whose key nobody could open: its key-encryption key stays behind.
            for table in ("provenance_referrer", "provenance_statement", "signing_privatestatementkey"):
                copy.execute(f"DELETE FROM {table}")  # noqa: S608  # our own names
            copy.execute("DELETE FROM signing_statementkey")
            copy.execute("DELETE FROM signing_keyfingerprint WHERE key = 'key-encryption-key'")
        database.close()
        copy.close()
        with suppress(OSError):  # another that did not wait, as one without TLS does, was sooner
            unfinished.rename(self.kept)


first_run = FirstRun()


def environment_of(data_dir: Path, port: int, **variables: str) -> dict[str, str]:
    # tests/settings.py has preset some of these for its own process: the child gets its own.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LARDER_", "DJANGO_"))}
    return {
        **inherited,
        "LARDER_DATA_DIR": str(data_dir),
        "LARDER_LISTEN": f"127.0.0.1:{port}",
        "LARDER_ADMIN_PASSWORD": ADMIN_PASSWORD,
        "PYTHONUNBUFFERED": "1",
        **variables,
    }


@contextmanager
def start_live(
    folder: Path,
    checkout: Path = CHECKOUT,
    /,
    *,
    why: str,
    within: Sequence[str] = (),
    module: str = "demo/hello/local",
    **variables: str,
) -> Iterator[Live]:
    """Start a whole Larder (of `checkout`), wait until /readyz says so, and stop it by its process id.

    It is ready with the first version of `module`.

    `why`: what none of tests/larders.py, which tests share, can give; -v shows it.
    `within`: words before its command, of a program that becomes it.
    """
    began = time.monotonic()
    port = int(variables.get("LARDER_LISTEN", "").rpartition(":")[2] or free_port())
    data_dir = folder / "data"
    # Another public address has another certificate authority.
    unusual = {"LARDER_ADMIN_PASSWORD", "LARDER_DATABASE_URL", "LARDER_DEMO", "LARDER_STORAGE_URL", "LARDER_PUBLIC_URL"}
    is_ours = checkout == CHECKOUT and not stack.IS_FULL
    is_usual = is_ours and not unusual & variables.keys()
    if stack.IS_FULL:
        variables = stack.variables(data_dir) | variables
    environment = environment_of(data_dir, port, **variables)
    folder.mkdir(parents=True, exist_ok=True)
    if is_usual and not data_dir.exists():
        first_run.lay_out(data_dir)
    elif is_ours and "LARDER_DATABASE_URL" not in variables and not data_dir.exists():
        first_run.lay_out_tables(data_dir)
    output = folder / "output.txt"
    output.unlink(missing_ok=True)
    with output.open("ab") as sink:
        command = [*within, *stack.command(data_dir, environment)]
        process = subprocess.Popen(command, cwd=checkout, env=environment, stdout=sink, stderr=subprocess.STDOUT)
    scheme = "http" if variables.get("LARDER_TLS") == "off" else "https"
    host = f"127.0.0.1:{port}"
    larder = Live(f"{scheme}://{host}", host, data_dir, environment, process, output, checkout=checkout)
    try:
        if stack.IS_FULL:
            stack.publish_demo(larder.manage)
        wait_until_ready(larder, module)
        STARTS.append((why, time.monotonic() - began))
        if is_usual and scheme == "https":
            first_run.keep(data_dir)
        first_run.turn.end()
        yield larder
    finally:
        first_run.turn.end()
        if "commands" in vars(larder):
            larder.commands.communicate()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            process.kill()


def wait_until_ready(larder: Live, module: str = "demo/hello/local", seconds: float = 200) -> None:
    """Ready: every part answers and the module is published.

    Very patient: many tests share a Larder, and all of them fail with its start on a machine that others keep busy.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert larder.process.poll() is None, larder.output.read_text()[-4000:]
        try:
            with larder.client() as client:
                demo = client.get(f"/v1/modules/{module}/versions")
                ready = client.get("/readyz")
                if ready.status_code == 200 and not ready.json()["warnings"] and demo.status_code == 200:
                    return
        except (httpx.TransportError, OSError):
            pass
        time.sleep(0.2)
    raise AssertionError(larder.output.read_text()[-4000:])
