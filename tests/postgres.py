"""A PostgreSQL of the test run's own: Debian's server programs, a free loopback port, a folder that goes with it."""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

MISSING = "no PostgreSQL server program on this machine (Debian: apt-get install postgresql)"


def programs() -> Path | None:
    """The folder with initdb and postgres: on the PATH, or where Debian keeps each version."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


def start() -> str:
    """Start a server, stopped when this process ends; answers its URL. Safety is off: the data is thrown away."""
    bin_folder = programs()
    if bin_folder is None:
        raise RuntimeError(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="larder-postgres-"))
    # PostgreSQL refuses to run as root: become Debian's postgres user then.
    become = ["setpriv", "--pdeathsig=TERM"]  # a killed test run leaves no server behind
    if os.geteuid() == 0:
        become += ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
        shutil.chown(folder, "postgres", "postgres")
    port = free_port()
    run: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    initdb = [str(bin_folder / "initdb"), "-D", str(folder / "data"), "-U", "larder", "-A", "trust", "-E", "UTF8", "-N"]
    subprocess.run([*become, *initdb], check=True, **run)
    options = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}
    server = subprocess.Popen(
        [
            *become,
            str(bin_folder / "postgres"),
            *("-D", str(folder / "data"), "-h", "127.0.0.1", "-p", str(port), "-k", ""),
            *(word for name, value in options.items() for word in ("-c", f"{name}={value}")),
        ],
        **run,
    )
    atexit.register(_stop, server, folder)
    _wait(server, port)
    return f"postgres://larder@127.0.0.1:{port}/postgres"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait(server: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("PostgreSQL did not start")


def _stop(server: "subprocess.Popen[bytes]", folder: Path) -> None:
    server.terminate()
    try:
        server.wait(timeout=10)
    except subprocess.TimeoutExpired:
        server.kill()
    shutil.rmtree(folder, ignore_errors=True)
