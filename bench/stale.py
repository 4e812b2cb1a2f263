"""Stale answers after an acknowledged change: 4 web processes, and what they must never answer (D16).

    python -m bench.stale [trials [kinds]]   # 2000 of all kinds unless said otherwise; archive_purge,push are some

Each trial makes the answers ready in all processes, changes something over HTTP, and asks everywhere the moment it is
acknowledged. One stale answer ends it with status 1. Trials in several namespaces run at once. All run over PostgreSQL,
and again over SQLite.
"""

import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import cycle, islice
from pathlib import Path

import httpx

from bench import oci, report
from bench.larder import Bench
from bench.report import Figure
from tests import postgres
from tests.builders.archives import module_zip
from tests.live import ADMIN_PASSWORD, Live, start_live

PROCESSES = 4
CONNECTIONS = 16  # enough that each process has some
TRIALS = 2000
AT_ONCE = 8
PROOF_SECONDS = 300
SIGNING_IN = threading.Lock()  # attempts that are under way count as failed


class World:
    """One namespace, its admin, and Bob, who reads it by a token over many connections."""

    def __init__(self, larder: Live, name: str) -> None:
        self.larder = larder
        self.namespace = name
        self.module = f"{name}/vpc/aws"
        self.versions = f"/v1/modules/{self.module}/versions"
        self.tag = f"/v2/{name}/image/test/manifests/edge"
        self.number = self.manifests = 0
        self.token = larder.token()
        self.admin = larder.client(self.token)
        self.pages = larder.client(follow_redirects=True)
        self.sign_in()
        self.admin.put(f"/api/v1/namespaces/{name}", json={"visibility": "private"}).raise_for_status()
        self.give("reader")
        self.secret = larder.token("bob", "read")
        self.readers = [larder.client() for _ in range(CONNECTIONS)]
        self.others = [larder.client() for _ in range(CONNECTIONS)]
        self.publish()
        registry = oci.Registry(larder.url, larder.process.pid, self.token)
        for part in (b"{}", b"a layer"):
            oci.Client(registry, f"{name}/image/test").push(oci.digest_of(part), part, len(part))
        self.push()

    def close(self) -> None:
        for client in (self.admin, self.pages, *self.readers, *self.others):
            client.close()

    def sign_in(self) -> None:
        with SIGNING_IN:
            page = self.pages.get("/account/login/")
            form = {"login": "admin", "password": ADMIN_PASSWORD, "csrfmiddlewaretoken": _csrf(page)}
            headers = {"Origin": self.larder.url, "Referer": str(page.url)}
            signed_in = self.pages.post(str(page.url), data=form, headers=headers).raise_for_status()
            assert "/account/login/" not in str(signed_in.url), signed_in.text[signed_in.text.find("<main") :][:2000]
        self.proved_at = time.monotonic()

    def prove(self) -> None:
        """A token of one's own asks for a proof of the last ten minutes, and 2,000 trials take longer."""
        if time.monotonic() - self.proved_at > PROOF_SECONDS:
            self.pages.cookies.clear()
            self.sign_in()

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
            while not is_over.wait(0.1):
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

    @property
    def download(self) -> str:
        return f"/v1/modules/{self.module}/{self.version}/download"

    def act(self, verb: str, **more: str) -> None:
        url = f"/api/v1/modules/{self.module}/{self.version}/{verb}"
        self.admin.post(url, json={"reason": "a trial", **more}).raise_for_status()

    def link(self) -> str:
        """The archive's, without the checksum that clients take off."""
        location: str = self.admin.get(self.download).raise_for_status().json()["location"]
        return location.partition("?")[0]

    def publish(self) -> None:
        self.number += 1
        body = module_zip(comment=f"{self.module} {self.version}".encode())
        answer = self.admin.put(f"/api/v1/modules/{self.module}/{self.version}", content=body)
        answer.raise_for_status()
        document = Live.wait_for(self.admin, f"/api/v1/releases/{answer.json()['id']}")
        assert document["state"] == "published", document

    def give(self, role: str) -> None:
        url = f"/api/v1/namespaces/{self.namespace}/grants/users/bob"
        self.admin.put(url, json={"role": role}).raise_for_status()

    def push(self) -> str:
        """Move the tag to another manifest; returns its digest."""
        self.manifests += 1
        raw = oci.manifest_of(b"{}", b"a layer", number=str(self.manifests))
        self.admin.put(self.tag, content=raw, headers={"Content-Type": oci.MANIFEST}).raise_for_status()
        return oci.digest_of(raw)


def _csrf(page: httpx.Response) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert found, page.text[:500]
    return found[1]


# Each changes something and returns how many answers were older than that.


def publish(world: World) -> int:
    world.make_ready(world.versions)
    with world.kept_ready(world.versions):
        world.publish()
    return sum(f'"{world.version}"' not in answer.text for answer in world.answers(world.versions))


def yank(world: World) -> int:
    world.make_ready(world.versions)
    world.act("yank")
    return sum(f'"{world.version}"' in answer.text for answer in world.answers(world.versions))


def restore(world: World) -> int:
    world.make_ready(world.versions)
    world.act("restore")
    return sum(f'"{world.version}"' not in answer.text for answer in world.answers(world.versions))


def deprecate(world: World) -> int:
    manifest = f"/v2/{world.module}/manifests/{world.version}"
    world.make_ready(manifest)
    world.act("deprecate")
    return sum("Warning" not in answer.headers for answer in world.answers(manifest))


def quarantine(world: World) -> int:
    world.make_ready(world.download)
    world.act("quarantine")
    stale = sum(answer.status_code == 200 for answer in world.answers(world.download))
    world.act("restore")
    return stale


def visibility(world: World) -> int:
    url = f"/api/v1/namespaces/{world.namespace}"
    world.admin.put(url, json={"visibility": "public"}).raise_for_status()
    world.make_ready(world.versions, token="")
    world.admin.put(url, json={"visibility": "private"}).raise_for_status()
    return sum(answer.status_code == 200 for answer in world.answers(world.versions, token=""))


def role(world: World) -> int:
    world.make_ready(world.versions)
    world.admin.delete(f"/api/v1/namespaces/{world.namespace}/grants/users/bob").raise_for_status()
    stale = sum(answer.status_code == 200 for answer in world.answers(world.versions))
    world.give("reader")
    return stale


def revoke(world: World) -> int:
    """The admin's own page makes the token and ends it."""
    world.prove()
    form = {"label": "trial", "scope": "read", "days": "30", "csrfmiddlewaretoken": _csrf(world.pages.get("/tokens"))}
    headers = {"Origin": world.larder.url}
    page = world.pages.post("/tokens", data=form, headers=headers)
    secret = re.search(r"lrd_u_[0-9A-Za-z]{42}", page.text)
    assert secret, page.text[page.text.find("<main") :][:2000]
    world.make_ready(world.versions, token=secret[0])
    url = str(page.url).replace("/created", "/revoke")
    form = {"csrfmiddlewaretoken": _csrf(world.pages.get(url))}
    ended = world.pages.post(url, data=form, headers=headers, follow_redirects=False)
    assert ended.is_redirect, ended.text
    return sum(answer.status_code == 200 for answer in world.answers(world.versions, token=secret[0]))


def push(world: World) -> int:
    world.make_ready(world.tag)
    digest = world.push()
    return sum(answer.headers["Docker-Content-Digest"] != digest for answer in world.answers(world.tag))


def archive_quarantine(world: World) -> int:
    """By its capability, which the front answers without Django."""
    link = world.link()
    world.make_ready(link, token="")
    world.act("quarantine")
    stale = sum(answer.status_code == 200 for answer in world.answers(link, token=""))
    world.act("restore")
    return stale


def archive_purge(world: World) -> int:
    link = world.link()
    world.make_ready(link, token="")
    world.act("purge", confirm=f"{world.module} {world.version}")
    stale = sum(answer.status_code == 200 for answer in world.answers(link, token=""))
    world.publish()
    return stale


def archive_visibility(world: World) -> int:
    """By its plain link, once the namespace is no longer public."""
    url = f"/api/v1/namespaces/{world.namespace}"
    world.admin.put(url, json={"visibility": "public"}).raise_for_status()
    link = world.link()
    world.make_ready(link, token="")
    world.admin.put(url, json={"visibility": "private"}).raise_for_status()
    return sum(answer.status_code == 200 for answer in world.answers(link, token=""))


# In this order: `restore` begins with what `yank` leaves behind, and so on.
Kinds = tuple[Callable[[World], int], ...]
KINDS: Kinds = (
    *(publish, yank, restore, deprecate, quarantine),
    *(visibility, role, revoke, push),
    *(archive_quarantine, archive_purge, archive_visibility),
)


def run(larder: Live, trials: int, *, at_once: int, kinds: Kinds = KINDS) -> dict[str, list[int]]:
    """Return the stale answers of each trial by kind of change."""
    larder.manage("shell", "-c", "from apps.accounts.models import User; User.objects.create_user('bob')")
    found: dict[str, list[int]] = {kind.__name__: [] for kind in kinds}

    def of_one_world(number: int) -> None:
        with closing(World(larder, f"stale-{number}")) as world:
            for kind in islice(cycle(kinds), len(range(number, trials, at_once))):
                found[kind.__name__].append(kind(world))

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(of_one_world, range(at_once)))
    return found


def measure(bench: Bench) -> Iterator[Figure]:
    if postgres.programs() is None:
        bench.skipped.append("stale: there is no PostgreSQL server program (Debian: apt-get install postgresql)")
        return
    bench.close()
    trials, at_once = (len(KINDS), 1) if bench.is_tiny else (bench.trials, AT_ONCE)
    yield from _figures(bench.folder / "stale", trials, at_once)


def _figures(folder: Path, trials: int, at_once: int, kinds: Kinds = KINDS) -> Iterator[Figure]:
    for database, url in (("PostgreSQL", postgres.start()), ("SQLite", "")):
        more = {"LARDER_WEB_PROCESSES": str(PROCESSES), "LARDER_TLS": "off"}
        if url:
            more["LARDER_DATABASE_URL"] = url
        with start_live(folder / database, why="measured", **more) as larder:
            found = run(larder, trials, at_once=at_once, kinds=kinds)
        for kind, stale in found.items():
            what = f"stale answers after {kind}, {database}, {len(stale):,} trials"
            yield Figure(what, [sum(stale)], "", wanted="0")


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    wanted = sys.argv[2].split(",") if len(sys.argv) > 2 else []
    kinds = tuple(kind for kind in KINDS if not wanted or kind.__name__ in wanted)
    with tempfile.TemporaryDirectory(prefix="larder-bench-") as name:
        figures = list(_figures(Path(name), trials, AT_ONCE, kinds))
    print(report.table(figures))
    sys.exit(1 if any(figure.values[0] for figure in figures) else 0)


if __name__ == "__main__":
    main()
