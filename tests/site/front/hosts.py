"""Web processes of several hosts in one test, and a Redis that may stop, die and come back."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

from django.test import Client
from redis import Redis

from registry_site.backends.other_hosts import OtherHosts
from registry_site.front.lease import Shared, begin_sharing
from tests import postgres
from tests.site.front.asking import Answer, Process

FAMILY = b"f" * 32
# Far more than a command takes on a busy machine.
GENEROUS = 5.0


class Server:
    """A Redis of one's own, which may stop, die and come back."""

    def __init__(self) -> None:
        self.port = postgres.free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.words = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL)
        postgres.wait(self.process, self.port)
        self.redis = Redis.from_url(self.url)

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def end(self) -> None:
        self.redis.close()
        self.process.kill()
        self.process.wait(10)


class Host(Process):
    """One web process of a host with its own file."""

    def __init__(self, folder: Path, url: str, *, family: bytes = FAMILY, most_bytes: int = 1_000_000) -> None:
        super().__init__()
        self.front.lease._asked = float("-inf")  # whatever a test publishes first is known at the first question
        folder.mkdir()
        begin_sharing(folder / "ready.sqlite3")
        self.hosts = OtherHosts(url, family, most_bytes=most_bytes)
        self.front.shared = Shared(folder / "ready.sqlite3", most_bytes=1_000_000, hosts=self.hosts)

    def ask(self, client: Client, url: str, method: str = "GET", **headers: str) -> Answer:
        """Ask, and let the threads end: the writes, and the renewal, which shares the connection of the test."""
        answer = super().ask(client, url, method, **headers)
        for task in (self.hosts._serving, self.front.lease._renewal):
            if task is not None:
                self.run(asyncio.wait([task], timeout=GENEROUS))
        return answer

    def end(self) -> None:
        super().end()
        self.hosts._thread.shutdown()
        self.hosts._redis.close()
