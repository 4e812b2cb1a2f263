"""A Redis that may stop and come back, and the web processes of several hosts that share it."""

import os
import signal
import subprocess

from redis import Redis

from registry_site.backends.other_hosts import OtherHosts
from tests import postgres
from tests.site.front.asking import Process

DATABASE = b"d" * 32


class Server:
    """A Redis of one's own."""

    def __init__(self) -> None:
        self.port = postgres.free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        words = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
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
    """One web process of a host."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.hosts = self.front.changes.outage.others = OtherHosts(url, DATABASE)

    def end(self) -> None:
        super().end()
        self.hosts._thread.shutdown()
        self.hosts._redis.close()
