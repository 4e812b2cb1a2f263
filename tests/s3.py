"""An S3 server of the test run: moto's, in a process of its own."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx

from apps.lib.settings_values.storage_urls import S3Address
from tests.postgres import free_port, wait

CHECKOUT = Path(__file__).resolve().parent.parent
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}


@dataclass(frozen=True)
class Server:
    port: int
    process: "subprocess.Popen[bytes]"

    def url(self, bucket: str) -> str:
        """The storage URL of a bucket of it, which is made."""
        endpoint = f"http://127.0.0.1:{self.port}"
        make_bucket(endpoint, bucket)
        return f"s3://{bucket}/larder?endpoint={endpoint}&region=us-east-1"

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """It is stopped: connections open and are not answered."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


@contextmanager
def running(*options: str) -> Iterator[Server]:
    """Start one (tests/s3_process.py has the options) and stop it by its process id."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "tests.s3_process", str(port), *options], cwd=CHECKOUT)
    try:
        wait(process, port)
        yield Server(port, process)
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def server(*options: str) -> Iterator[int]:
    """Like `running`; answers its port."""
    with running(*options) as found:
        yield found.port


def keys(storage_url: str, folder: str) -> set[str]:
    """Return the keys below a folder of the storage, without its prefix. moto asks for no signature."""
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


def put_policy(address: S3Address, policy: dict[str, Any]) -> None:
    """Give the bucket a policy, as its owner does."""
    credentials = {name.lower(): value for name, value in KEYS.items()}
    client = boto3.client("s3", endpoint_url=address.endpoint, region_name=address.region, **credentials)
    client.put_bucket_policy(Bucket=address.bucket, Policy=json.dumps(policy))
