"""An S3 server of the test run: moto's, in a process of its own."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from apps.lib.settings_values.storage_urls import S3Address
from tests.postgres import free_port, wait

CHECKOUT = Path(__file__).resolve().parent.parent
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}


@contextmanager
def server(*options: str) -> Iterator[int]:
    """Start one (tests/s3_process.py has the options) and stop it by its process id; answers its port."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "tests.s3_process", str(port), *options], cwd=CHECKOUT)
    try:
        wait(process, port)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def keys(storage_url: str, folder: str) -> set[str]:
    """What is below a folder of the storage, without its prefix. moto asks for no signature."""
    address = S3Address.parse(storage_url)
    found: set[str] = set()
    more = {"list-type": "2", "prefix": f"{address.prefix}/{folder}/"}
    while more:
        answer = httpx.get(f"{address.endpoint}/{address.bucket}", params=more).raise_for_status().text
        found |= {key.removeprefix(f"{address.prefix}/") for key in re.findall("<Key>([^<]+)</Key>", answer)}
        token = re.findall("<NextContinuationToken>([^<]+)</NextContinuationToken>", answer)
        more = more | {"continuation-token": token[0]} if token else {}
    return found


def make_bucket(endpoint: str, name: str) -> None:
    """moto asks for no signature."""
    httpx.put(f"{endpoint}/{name}").raise_for_status()
