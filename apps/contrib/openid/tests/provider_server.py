"""The provider of provider_process.py, started and stopped."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.live import CHECKOUT
from tests.postgres import free_port


@contextmanager
def provider_process(*people: dict[str, Any]) -> Iterator[str]:
    """Yields its issuer."""
    port = free_port()
    command = [sys.executable, "-m", "apps.contrib.openid.tests.provider_process", str(port), *map(json.dumps, people)]
    process = subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    issuer, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 30
    try:
        while True:
            assert process.poll() is None
            assert time.monotonic() < deadline
            try:
                httpx.get(f"{issuer}/.well-known/openid-configuration").raise_for_status()
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield issuer
    finally:
        process.terminate()
        process.wait(timeout=20)
