"""Stale answers after an acknowledged change: 4 web processes over PostgreSQL, and what they must never answer (D16).

    python -m bench.stale [trials]        # 2000 unless said otherwise

Each trial makes the answers ready in all processes, changes something over HTTP, and asks everywhere the moment it is
acknowledged. One stale answer ends it with status 1.
"""

import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import httpx

from tests.builders.archives import module_zip
from tests.live import ADMIN_PASSWORD, Live, start_live
from tests.postgres import Server

PROCESSES = 4
CONNECTIONS = 16  # enough that each process has some
TRIALS = 2000
MODULE = "stale/vpc/aws"
VERSIONS = f"/v1/modules/{MODULE}/versions"
DOWNLOAD = f"/v1/modules/{MODULE}/{{}}/download"


class World:
    """One namespace, its admin, and Bob, who reads it by a token over many connections."""

    def __init__(self, larder: Live) -> None:
        self.larder = larder
        self.number = 0
        larder.manage("shell", "-c", "from apps.accounts.models import User; User.objects.create_user('bob')")
        self.admin = larder.client(larder.token())
        self.pages = larder.client(follow_redirects=True)
        self.sign_in()
        self.admin.put("/api/v1/namespaces/stale", json={"visibility": "private"}).raise_for_status()
        self.give("reader")
        self.secret = larder.token("bob", "read")
        self.readers = [larder.client() for _ in range(CONNECTIONS)]
        self.others = [larder.client() for _ in range(CONNECTIONS)]
        self.publish()

    def sign_in(self) -> None:
        page = self.pages.get("/account/login/")
        form = {"login": "admin", "password": ADMIN_PASSWORD, "csrfmiddlewaretoken": _csrf(page)}
        headers = {"Origin": self.larder.url, "Referer": str(page.url)}
        self.pages.post(str(page.url), data=form, headers=headers).raise_for_status()

    def answers(self, path: str, *, token: str | None = None) -> Iterator[httpx.Response]:
        headers = {"Authorization": f"Bearer {self.secret if token is None else token}"} if token != "" else {}
        for reader in self.readers:
            yield reader.get(path, headers=headers)

    def make_ready(self, path: str, *, token: str | None = None) -> None:
        for _ in range(2):
            for answer in self.answers(path, token=token):
                assert answer.status_code == 200, answer.text

    @contextmanager
    def kept_ready(self, path: str) -> Iterator[None]:
        is_over = threading.Event()
        headers = {"Authorization": f"Bearer {self.secret}"}

        def ask() -> None:
            while not is_over.wait(0.02):
                for reader in self.others:
                    reader.get(path, headers=headers)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    @property
    def version(self) -> str:
        return f"1.0.{self.number}"

    def act(self, verb: str) -> None:
        url = f"/api/v1/modules/{MODULE}/{self.version}/{verb}"
        self.admin.post(url, json={"reason": "a trial"}).raise_for_status()

    def publish(self) -> None:
        self.number += 1
        body = module_zip(comment=self.version.encode())
        answer = self.admin.put(f"/api/v1/modules/{MODULE}/{self.version}", content=body)
        answer.raise_for_status()
        document = Live.wait_for(self.admin, f"/api/v1/releases/{answer.json()['id']}")
        assert document["state"] == "published", document

    def give(self, role: str) -> None:
        url = "/api/v1/namespaces/stale/grants/users/bob"
        self.admin.put(url, json={"role": role}).raise_for_status()


def _csrf(page: httpx.Response) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert found, page.text[:500]
    return found[1]


# Each changes something and yields how many answers were older than that.


def publish(world: World) -> int:
    world.make_ready(VERSIONS)
    with world.kept_ready(VERSIONS):  # it takes longer than a lease
        world.publish()
    return sum(f'"{world.version}"' not in answer.text for answer in world.answers(VERSIONS))


def yank(world: World) -> int:
    world.make_ready(VERSIONS)
    world.act("yank")
    stale = sum(f'"{world.version}"' in answer.text for answer in world.answers(VERSIONS))
    world.act("restore")
    return stale


def quarantine(world: World) -> int:
    path = DOWNLOAD.format(world.version)
    world.make_ready(path)
    world.act("quarantine")
    stale = sum(answer.status_code == 200 for answer in world.answers(path))
    world.act("restore")
    return stale


def visibility(world: World) -> int:
    url = "/api/v1/namespaces/stale"
    world.admin.put(url, json={"visibility": "public"}).raise_for_status()
    world.make_ready(VERSIONS, token="")
    world.admin.put(url, json={"visibility": "private"}).raise_for_status()
    return sum(answer.status_code == 200 for answer in world.answers(VERSIONS, token=""))


def role(world: World) -> int:
    world.make_ready(VERSIONS)
    world.admin.delete("/api/v1/namespaces/stale/grants/users/bob").raise_for_status()
    stale = sum(answer.status_code == 200 for answer in world.answers(VERSIONS))
    world.give("reader")
    return stale


def revoke(world: World) -> int:
    """The admin's own page makes the token and ends it."""
    form = {"label": "trial", "scope": "read", "days": "30", "csrfmiddlewaretoken": _csrf(world.pages.get("/tokens"))}
    headers = {"Origin": world.larder.url}
    page = world.pages.post("/tokens", data=form, headers=headers)
    secret = re.search(r"lrd_u_[0-9A-Za-z]{42}", page.text)
    assert secret, page.text[:2000]
    world.make_ready(VERSIONS, token=secret[0])
    url = str(page.url).replace("/created", "/revoke")
    form = {"csrfmiddlewaretoken": _csrf(world.pages.get(url))}
    ended = world.pages.post(url, data=form, headers=headers, follow_redirects=False)
    assert ended.is_redirect, ended.text
    return sum(answer.status_code == 200 for answer in world.answers(VERSIONS, token=secret[0]))


KINDS: tuple[Callable[[World], int], ...] = (publish, yank, quarantine, visibility, role, revoke)


def run(larder: Live, trials: int) -> Counter[str]:
    """Return the stale answers by kind of change."""
    world, stale = World(larder), Counter[str]()
    try:
        for number, kind in enumerate(islice(cycle(KINDS), trials), 1):
            stale[kind.__name__] += kind(world)
            if number % 100 == 0:
                print(f"{number} trials, {stale.total()} stale answers", flush=True)
    finally:
        for client in (world.admin, world.pages, *world.readers, *world.others):
            client.close()
    return stale


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    more = {"LARDER_WEB_PROCESSES": str(PROCESSES), "LARDER_DATABASE_URL": Server().url, "LARDER_TLS": "off"}
    with (
        tempfile.TemporaryDirectory(prefix="larder-bench-") as name,
        start_live(Path(name) / "larder", **more) as larder,
    ):
        stale = run(larder, trials)
    print(f"{trials} trials, {PROCESSES} processes, {CONNECTIONS} connections: {dict(stale)}")
    sys.exit(1 if stale.total() else 0)


if __name__ == "__main__":
    main()
