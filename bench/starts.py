"""The time from the command to ready, and the memory of all processes at rest."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from bench import trees
from bench.larder import Bench
from bench.report import Figure
from tests.live import CHECKOUT, environment_of, first_run
from tests.postgres import free_port

REST = 3.0  # seconds until it is idle
PART = re.compile(r"manage\.py\s+(\w+)|granian|resource_tracker|spawn_main")


def measure(bench: Bench) -> Iterator[Figure]:
    bench.close()
    first, second, idle, larger = [], [], [], []
    parts: dict[str, float] = {}
    for number in range(bench.rounds):
        folder = bench.folder / f"start-{number}"
        folder.mkdir()
        if bench.is_tiny:
            first_run.lay_out(folder / "data")
        with _started(folder, 1) as (seconds, _):
            first.append(seconds)
        if bench.is_tiny:
            continue
        with _started(folder, 1) as (seconds, pid):
            second.append(seconds)
            time.sleep(REST)
            idle.append(trees.pss(pid))
            parts = parts_of(pid)
        with _started(folder, 2) as (_, pid):
            time.sleep(REST)
            larger.append(trees.pss(pid))
    each = [two - one for one, two in zip(idle, larger, strict=True)]
    yield Figure("first start to /readyz", first, "s", wanted="<= 8")
    if second:
        yield Figure("second start to /readyz", second, "s", wanted="<= 3")
        yield Figure("all processes at rest, PSS", idle, "MB", wanted="<= 300", note=dict(parts))
        yield Figure("a further web process, PSS", each, "MB", wanted="<= 60")


def parts_of(root: int) -> dict[str, float]:
    """PSS in MB by process."""
    found = {}
    for pid in trees.descendants(root):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        name = PART.search(command)
        found[f"{name[1] or name[0] if name else command[:20]} {pid}"] = trees.pss_of(pid)
    return found


@contextmanager
def _started(folder: Path, processes: int) -> Iterator[tuple[float, int]]:
    """Seconds until /readyz answers 200, and the process to look at."""
    port = free_port()
    variables = {"LARDER_TLS": "off", "LARDER_WEB_PROCESSES": str(processes)}
    environment = environment_of(folder / "data", port, **variables)
    begun = time.monotonic()
    with (folder / "output.txt").open("wb") as sink:
        command = [sys.executable, "manage.py", "up"]
        process = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=sink, stderr=subprocess.STDOUT)
    try:
        while True:
            with suppress(httpx.TransportError):
                if httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                    break
            if process.poll() is not None or time.monotonic() - begun > 90:
                raise RuntimeError((folder / "output.txt").read_text()[-4000:])
            time.sleep(0.02)
        yield time.monotonic() - begun, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
