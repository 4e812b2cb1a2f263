"""Commands of operators at size, on PostgreSQL: backup, restore, verify, a new search index, a first static copy.

Each is compared with the tools of the system for the same rows and files: `pg_dump`, `pg_restore`, `cp`, `sha256sum`.
Seconds are of processor time, with the server's and all children's; the clock and the memory are in the line.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.larder import Bench, Size
from bench.report import Figure
from tests import postgres
from tests.live import CHECKOUT, environment_of
from tests.site.operations.stopped import PORT

# 100,000 versions, with those that `seeding` adds for other parts.
FULL = Size(1_930, 50, 20, 50, 2)
TINY = Size(3, 2, 1, 2, 2)
FILL = "from bench import seeding, stored_bytes; seeding.fill({!r}); stored_bytes.add()"
COUNT = "from apps.releases.models import Release; print(Release.objects.count())"


@dataclass(frozen=True)
class Cost:
    processor: float  # s, of the command, its children and the database server
    seconds: float  # by the clock
    memory: float  # MB, the peak of the command

    def text(self) -> str:
        return f"{self.seconds:,.0f} s by the clock, {self.memory:,.0f} MB"


class Registry:
    """A data folder, a database of the server, and commands in processes of their own."""

    def __init__(self, server: postgres.Server, folder: Path, name: str) -> None:
        self.server, self.data = server, folder / name
        self.url = server.url.rpartition("/")[0] + f"/{name}"
        server.execute(f"CREATE DATABASE {name}")
        self.environment = environment_of(self.data, PORT, LARDER_DATABASE_URL=self.url, LARDER_LOG_LEVEL="ERROR")
        self.data.mkdir(mode=0o700, parents=True)
        (self.data / "secret_key").write_text("a secret key of the benchmark, long enough to be taken for one")

    def manage(self, *words: str) -> Cost:
        return cost_of([sys.executable, "manage.py", *words], self.server, self.environment)

    def said(self, script: str) -> str:
        command = [sys.executable, "manage.py", "shell", "-v", "0", "-c", script]
        return subprocess.check_output(command, cwd=CHECKOUT, env=self.environment, text=True)


def cost_of(command: list[str], server: postgres.Server, environment: dict[str, str] | None = None) -> Cost:
    began, before = time.monotonic(), server.processor_seconds()
    with subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    seconds, served = time.monotonic() - began, server.processor_seconds() - before
    return Cost(used.ru_utime + used.ru_stime + served, seconds, used.ru_maxrss / 1024)


def measure(bench: Bench) -> Iterator[Figure]:
    if postgres.programs() is None:
        bench.skipped.append("upkeep: there is no PostgreSQL server program (Debian: apt-get install postgresql)")
        return
    server, folder = postgres.Server(), bench.folder / "upkeep"
    first = Registry(server, folder, "first")
    yield _figure("migrate an empty database", first.manage("migrate", "-v", "0"), 0)
    first.manage("shell", "-v", "0", "-c", FILL.format(json.dumps(asdict(TINY if bench.is_tiny else FULL))))
    first.manage("audit", "verify")
    count = int(first.said(COUNT))
    tools = Tools(server, first, folder)
    yield _figure(
        "backup to a folder of the same disk", first.manage("backup", f"{folder}/backup"), count, tools.save()
    )
    second = Registry(server, folder, "second")
    restored = second.manage("restore", f"{folder}/backup")
    yield _figure("restore, with its verification", restored, count, tools.load())
    yield _figure("verify", second.manage("verify"), count, tools.hash())
    yield _figure("index_search --all", second.manage("index_search", "--all"), count)
    yield _figure("first static copy", second.manage("static_copy", "--to", f"file://{second.data}/copy"), count)


def _figure(what: str, cost: Cost, versions: int, tools: tuple[Cost, str] | None = None) -> Figure:
    work = f"{what}, {versions:,} versions" if versions else what
    reference, against = ([tools[0].processor], tools[1]) if tools else ([], "")
    return Figure(f"{work} ({cost.text()})", [cost.processor], "s", reference, against, note=asdict(cost))


class Tools:
    """The same work with the tools of the system."""

    def __init__(self, server: postgres.Server, registry: Registry, folder: Path) -> None:
        self.server, self.registry, self.folder = server, registry, folder

    def run(self, *commands: str) -> Cost:
        return cost_of(["bash", "-ec", "\n".join(commands)], self.server)

    def save(self) -> tuple[Cost, str]:
        dump = f"{self.server.program('pg_dump')} -Fc -Z 5 -f {self.folder}/dump {self.registry.url}"
        return self.run(dump, f"cp -rl {self.registry.data}/blobs {self.folder}/linked"), "pg_dump, cp -l"

    def load(self) -> tuple[Cost, str]:
        self.server.execute("CREATE DATABASE tools")
        url = self.server.url.rpartition("/")[0] + "/tools"
        return self.run(
            f"{self.server.program('pg_restore')} -d {url} {self.folder}/dump",
            f"cp -r {self.registry.data}/blobs {self.folder}/copied",
            f"sync -f {self.folder}",
            self._hash(self.folder / "copied"),
        ), "pg_restore, cp, sha256sum"

    def hash(self) -> tuple[Cost, str]:
        return self.run(self._hash(self.registry.data / "blobs")), "sha256sum"

    @staticmethod
    def _hash(folder: Path) -> str:
        return f"find {folder}/sha256 -type f -print0 | xargs -0 sha256sum > /dev/null"
