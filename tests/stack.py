"""The full stack for live tests, with `LARDER_TEST_STACK=full` (`make test-full`): nothing is on one machine's disk.

PostgreSQL, Redis and an S3 server are those of the test run, with a database and a bucket for each Larder, which is two
web processes, two workers and beat, started by the commands of a host, and followed by another if one ends.
"""

import atexit
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

import psycopg

from tests import dumps, postgres, s3
from tests.sharing import DUMP, Turn

CHECKOUT = Path(__file__).resolve().parent.parent
NAME = os.environ.get("LARDER_TEST_STACK", "embedded")
IS_FULL = NAME == "full"
COMMANDS = ("web", "worker", "worker", "beat")
DATABASES = iter(range(0, 10_000, 2))
DEMO = "from registry_site.startup import first_run; first_run.publish_demo()"
PAUSE = 0.5  # seconds before an ended process is followed by another


# --- The servers of the test run -------------------------------------------------------------------------------------


@cache
def database_server() -> str:
    return postgres.Server(keeps_commits=True).url


@cache
def redis_port() -> int:
    """Without a file, and with as many databases as there may be Larders."""
    port = postgres.free_port()
    options = ["--bind", "127.0.0.1", "--save", "", "--databases", "10000", "--maxmemory-policy", "noeviction"]
    process = subprocess.Popen(["redis-server", "--port", str(port), *options], stdout=subprocess.DEVNULL)
    atexit.register(process.wait, 10)
    atexit.register(process.terminate)
    postgres.wait(process, port)
    return port


@cache
def s3_endpoint() -> str:
    stack = ExitStack()
    port = stack.enter_context(s3.server())
    atexit.register(stack.close)
    return f"http://127.0.0.1:{port}"


@cache
def template() -> str:
    """A migrated database, which each Larder copies: migrating takes longer than its start."""
    name = "larder_template"
    with psycopg.connect(database_server(), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    turn = Turn("template")
    turn.take()
    if not DUMP.exists():
        migrate(of_server(name))
        dumps.keep(of_server(name))
    turn.end()
    dumps.fill(of_server(name))
    return name


def migrate(database: str) -> None:
    data_dir = Path(tempfile.mkdtemp(prefix="larder-template-"))
    atexit.register(shutil.rmtree, data_dir, ignore_errors=True)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("LARDER_", "DJANGO_"))}
    own = {"LARDER_DATA_DIR": str(data_dir), "LARDER_DATABASE_URL": database}
    (data_dir / "secret_key").write_text("only-for-tests-" + "x" * 50)
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=CHECKOUT, env=inherited | own, check=True)


def of_server(database: str) -> str:
    return f"{database_server().rpartition('/')[0]}/{database}"


@cache
def variables(data_dir: Path) -> dict[str, str]:
    """The parts of the Larder with this data folder: the same ones when it is started again."""
    name = f"larder_{secrets.token_hex(6)}"
    with psycopg.connect(database_server(), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE {template()}")
    bucket = name.replace("_", "-")
    s3.make_bucket(s3_endpoint(), bucket)
    number = next(DATABASES)
    return {
        **s3.KEYS,
        "LARDER_DATABASE_URL": of_server(name),
        "LARDER_BROKER_URL": f"redis://127.0.0.1:{redis_port()}/{number}",
        "LARDER_CACHE_URL": f"redis://127.0.0.1:{redis_port()}/{number + 1}",
        "LARDER_STORAGE_URL": f"s3://{bucket}/larder?endpoint={s3_endpoint()}&region=us-east-1",
        "LARDER_WEB_PROCESSES": "2",
    }


# --- Larder's processes --------------------------------------------------------------------------------------------


def prepare(data_dir: Path, environment: dict[str, str]) -> None:
    """Do an operator's work before the first start: the secret key, and `manage.py migrate`, which makes the admin."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = data_dir / "secret_key"
    if not key.exists():
        key.write_text(secrets.token_hex(32))
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=CHECKOUT, env=environment, check=True)


class Host:
    """Keeps the commands running, as a service manager does, until SIGTERM."""

    def __init__(self) -> None:
        self.is_stopping = False
        self.processes = {number: self.start(number) for number in range(len(COMMANDS))}
        signal.signal(signal.SIGTERM, self.stop)

    @staticmethod
    def start(number: int) -> "subprocess.Popen[bytes]":
        # In a group of its own: a signal for this process is none for the others.
        return subprocess.Popen([sys.executable, "manage.py", COMMANDS[number]], start_new_session=True)

    def stop(self, *_: object) -> None:
        self.is_stopping = True
        for process in self.processes.values():
            process.terminate()

    def run(self) -> None:
        while not self.is_stopping:
            for number, process in self.processes.items():
                if process.poll() is not None and not self.is_stopping:
                    time.sleep(PAUSE)
                    self.processes[number] = self.start(number)
            time.sleep(0.1)
        for process in self.processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()


def command(data_dir: Path, environment: dict[str, str]) -> list[str]:
    """The command that runs a whole Larder in the foreground."""
    if not IS_FULL:
        return [sys.executable, "manage.py", "up"]
    prepare(data_dir, environment)
    return [sys.executable, "-m", "tests.stack"]


def publish_demo(manage: Callable[..., str]) -> None:
    """`manage.py up` does so at its first run."""
    manage("shell", "--no-imports", "-v", "0", "-c", DEMO)


if __name__ == "__main__":
    Host().run()
