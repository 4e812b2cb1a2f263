"""Health check of a container: `python -m registry_site.healthcheck` exits with 0 if its process is well, else 1.

`web`, the default: the server answers. `worker`, `beat`: the process went round its loop within the last minute, and
beat too if the worker runs it.
`ready`: the server at LARDER_LISTEN can answer and warns of nothing; what is wrong is printed. With `--restart` it
kills a process that has been unwell for minutes, so that its supervisor starts another: Docker does nothing about an
unhealthy container. Without Django's settings, which would take seconds.
"""

import http.client
import json
import os
import signal
import ssl
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from registry_site import env
from registry_site.server import pulse
from registry_site.startup.certificates import Served

# Where the web server notes its number (server/serving.py).
WEB_PID = "web.pid"
# Twice as long as a process may be silent until it is unwell. Before that, the watchdog of a worker ends it in order.
RESTART_AFTER_SECONDS = 120.0
# On a host that was suspended the time has jumped, and its processes have not had theirs yet.
SECOND_LOOK_SECONDS = 5.0


@dataclass(frozen=True)
class Answer:
    """`status` is 0 without an answer."""

    status: int = 0
    document: dict[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, str]:
        return dict(self.document.get("parts", {}))


def ask(path: str, *, listen: tuple[str, int], public_host: str, files: Served | None) -> Answer:
    """GET a health page on the listening address, which need not be the public one."""
    host, port = env.WILDCARDS.get(listen[0], listen[0]), listen[1]
    try:
        connection = http.client.HTTPConnection(host, port, timeout=5)
        if files is not None:
            context = ssl.create_default_context(cafile=files.ca)
            if files.ca is None:
                # The operator's certificate is for the public name, and this asks on the loopback.
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            connection = http.client.HTTPSConnection(host, port, timeout=5, context=context)
        connection.request("GET", path, headers={"Host": public_host, "Accept": "application/json"})
        response = connection.getresponse()
        return Answer(response.status, json.loads(response.read() or b"{}"))
    except (OSError, ValueError, http.client.HTTPException):
        return Answer()


def ask_this_server(path: str) -> Answer:
    is_plain = env.text("LARDER_TLS", env.TLS) == "off"
    # Without a CA no certificate is checked, which is enough on the loopback.
    files = None if is_plain else Served(Path(), Path())
    listen = env.address("LARDER_LISTEN", env.LISTEN)
    return ask(path, listen=listen, public_host="localhost", files=files)


def answers() -> bool:
    return ask_this_server("/healthz").status == HTTPStatus.OK


def is_ready() -> bool:
    answer = ask_this_server("/readyz")
    for part, state in answer.parts.items():
        sys.stdout.write(f"{part}: {state}\n")
    return answer.status == HTTPStatus.OK and set(answer.parts.values()) == {"ok"}


def worker_is_well() -> bool:
    runs_beat = pulse.pid_of("beat") is not None and pulse.pid_of("beat") == pulse.pid_of("worker")
    return pulse.is_recent("worker") and (not runs_beat or pulse.is_recent("beat"))


MODES: dict[str, Callable[[], bool]] = {
    "web": answers,
    "worker": worker_is_well,
    "beat": partial(pulse.is_recent, "beat"),
    "ready": is_ready,
}


def silent_web(*, is_well: bool) -> float:
    """Return for how long checks have found no web server that answers, this one included."""
    data_dir = env.folder("LARDER_DATA_DIR", env.CHECKOUT / "var")
    since = data_dir / "pulse" / "web-is-silent"
    with suppress(OSError):
        if is_well:
            since.unlink(missing_ok=True)
            return 0.0
        since.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            since.touch(mode=0o600, exist_ok=False)
        # The note of a former server says nothing of this one, which wrote its number when it started.
        return time.time() - max(since.stat().st_mtime, (data_dir / WEB_PID).stat().st_mtime)
    return 0.0


def restart(mode: str, *, is_well: bool) -> None:
    """Kill the process of `web`, `worker` or `beat` if it has been unwell for minutes."""
    if mode == "web":
        # One that was told to stop answers nothing new while it drains.
        drains = env.number("LARDER_DRAIN_SECONDS", 6) + env.number("LARDER_STOP_NOTICE_SECONDS", 0)
        is_stuck = silent_web(is_well=is_well) > RESTART_AFTER_SECONDS + drains
        pid = _number_in(env.folder("LARDER_DATA_DIR", env.CHECKOUT / "var") / WEB_PID)
    else:
        process: pulse.Process = "worker" if mode == "worker" else "beat"
        is_stuck, pid = _has_no_pulse(process), pulse.pid_of(process)
    if is_stuck and pid and name_of(pid) == mode:
        sys.stdout.write(f"{mode}: process {pid} has been silent for minutes and is killed\n")
        os.kill(pid, signal.SIGKILL)


def _has_no_pulse(process: pulse.Process) -> bool:
    if (pulse.age(process) or 0.0) < RESTART_AFTER_SECONDS:
        return False
    time.sleep(SECOND_LOOK_SECONDS)
    return (pulse.age(process) or 0.0) >= RESTART_AFTER_SECONDS


def _number_in(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def name_of(pid: int) -> str:
    """Return which command of manage.py a process runs; empty if none: numbers are used again."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return ""
    if name.startswith("larder-"):  # a child of `manage.py up`
        return name.removeprefix("larder-")
    return words[2] if len(words) > 2 and words[1].endswith("manage.py") else ""  # noqa: PLR2004  # python manage.py web


if __name__ == "__main__":
    parser = ArgumentParser(prog="python -m registry_site.healthcheck")
    parser.add_argument("mode", nargs="?", choices=MODES, default="web")
    parser.add_argument("--restart", action="store_true", help="Kill a process that has been unwell for minutes.")
    given = parser.parse_args()
    is_well = MODES[given.mode]()
    if given.restart and given.mode != "ready":
        restart(given.mode, is_well=is_well)
    sys.exit(not is_well)
