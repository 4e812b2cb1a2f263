"""wrk against one URL: requests a second, latency, and the processor time of the servers."""

import math
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass

from bench import trees
from bench.report import Figure

# wrk's own summary is rounded.
SUMMARY = """
done = function(summary, latency)
  local e = summary.errors
  print(string.format("figures %d %d %d %d %d %d", summary.requests, summary.duration, summary.bytes,
    latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status))
end
"""


@dataclass(frozen=True)
class Server:
    url: str
    pid: int


@dataclass(frozen=True)
class Load:
    rate: float  # requests a second
    megabytes: float  # a second
    p50: float  # ms
    p99: float
    cpu: float  # ms of the server's processes for one request


def is_there() -> bool:
    return shutil.which("wrk") is not None


def drive(
    server: Server, path: str, *, connections: int, seconds: float, headers: Mapping[str, str], lua: str = ""
) -> Load:
    """Raises RuntimeError if any answer is not 2xx or 3xx. `lua`: what else wrk runs, such as a choice of paths."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SUMMARY + lua)
        script.flush()
        named = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
        command = ["wrk", "-t2", f"-c{connections}", f"-d{math.ceil(seconds) + 60}s", "--timeout", "60s", *named]
        before = trees.cpu_seconds(server.pid)
        process = subprocess.Popen([*command, "-s", script.name, server.url + path], stdout=subprocess.PIPE, text=True)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)  # it knows whole seconds only, and ends with its summary
        said = process.communicate(timeout=60)[0]
        used = trees.cpu_seconds(server.pid) - before
    words = next((line.split()[1:] for line in said.splitlines() if line.startswith("figures")), None)
    if words is None or int(words[5]):
        raise RuntimeError(f"{server.url}{path} under load: {said}")
    requests, duration, size, p50, p99, _ = map(int, words)
    took = duration / 1e6
    return Load(requests / took, size / took / 1e6, p50 / 1e3, p99 / 1e3, 1e3 * used / max(requests, 1))


def in_turns(
    work: str,
    ours: tuple[Server, str],
    theirs: tuple[Server, str],
    *,
    rounds: int,
    wanted: str = "",
    against: str,
    connections: int,
    seconds: float,
    headers: Mapping[str, str] | None = None,
    is_rate_of_bytes: bool = False,
) -> Figure:
    """Both in each round, so that whatever else this machine does hits both. A short first round warms up."""
    loads: tuple[list[Load], list[Load]] = ([], [])
    for number in range(rounds + 1):
        for (server, path), found in zip((ours, theirs), loads, strict=True):
            took = seconds if number else min(seconds, 0.5)
            load = drive(server, path, connections=connections, seconds=took, headers=headers or {})
            found.extend([load] if number else [])
    larder, reference = loads
    return Figure(
        work,
        [_rate(load, is_rate_of_bytes) for load in larder],
        "MB/s" if is_rate_of_bytes else "/s",
        [_rate(load, is_rate_of_bytes) for load in reference],
        against,
        wanted,
        [load.p50 for load in larder],
        [load.p99 for load in larder],
        [load.cpu for load in larder],
        {"reference": {name: [getattr(load, name) for load in reference] for name in ("p50", "p99", "cpu")}},
    )


def _rate(load: Load, is_rate_of_bytes: bool) -> float:  # noqa: FBT001
    return load.megabytes if is_rate_of_bytes else load.rate
