"""The static copy: how fast it is written, what a change costs in it, and how soon a publication is there.

`write` runs inside a Larder (`manage.py shell`), on rows of `seeding`, with small archives: hard links cost the
same for large ones. 500,000 versions in 10 minutes are 833 a second.
"""

import json
import random
import resource
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import providers, static_reads, uploads
from bench.larder import Bench, Size, fill
from bench.report import Figure
from tests.builders.archives import module_zip
from tests.live import Live, start_live

FIRST, WANTED_A_SECOND = 20_000, 833
MODULES_A_SECOND, SECONDS = 3, 60
CHANGES = 20
MIB = 1024 * 1024
# What a bundle of 1 GB has: modules of 16 KiB to 8 MiB, and packages of these sizes for each platform.
BUNDLED_MODULES, PACKAGES, PLATFORMS = 200, (30 * MIB, 100 * MIB), providers.PLATFORMS[:5]


PARTS = ("static",)


def measure(bench: Bench) -> Iterator[Figure]:
    yield from static_reads.measure(bench)
    for count in (100, 200) if bench.is_tiny else (500, FIRST):
        size = Size(count // 50, 50, 1, 1, 1)
        with start_live(bench.folder / f"static-{count}", why="so many versions are written", LARDER_TLS="off") as live:
            fill(live, size)
            found = json.loads(
                live.manage("shell", "-v", "0", "-c", "from apps.contrib.copy.tests import bench; bench.write()")
            )
        yield Figure(
            f"versions written the first time, of {found['versions']:,}",
            [found["versions"] / found["seconds"]],
            "a second",
            wanted=f">= {WANTED_A_SECOND}" if count == FIRST else "",
            note=found,
        )
        yield Figure(f"a change among {found['versions']:,} versions", found["changes"], "ms", note=found)
        yield Figure(f"memory of writing {found['versions']:,} versions", [found["memory"]], "MB more", wanted="<= 64")
    yield from _following(bench)


def _following(bench: Bench) -> Iterator[Figure]:
    """One Larder with a copy: publications, then acts that take something away, then bundles."""
    folder = bench.folder / "static-following"
    copy = folder / "copy"
    variables = {"LARDER_TLS": "off", "LARDER_RATES": "publish=off", "LARDER_STATIC_COPY_URL": f"file://{copy}"}
    with start_live(folder, why="its copy follows publications", **variables) as live:
        yield _publishing(bench, live, copy)
        stale, late = _stale(live, copy, 8 if bench.is_tiny else bench.trials)
        what = f"stale files after an acknowledged change, {bench.trials:,} trials"
        yield Figure(what, [stale], "", wanted="0", note={"said to be behind": late})
        yield from bundles(bench, live)


def _stale(live: Live, copy: Path, trials: int) -> tuple[int, int]:
    """Return how often the copy had what an acknowledged act took away, and how often it was said to be behind."""
    stale = late = 0
    module, token = "stale/vpc/aws", live.token()
    listed, archive = f"v1/modules/{module}/versions", f"packages/modules/{module}/1.0.0.zip"
    with live.client(token) as client:
        client.put("/api/v1/namespaces/stale", json={"visibility": "private"}).raise_for_status()
        live.publish(module, "1.0.0", module_zip(comment=b"first"), token)
        live.publish(module, "1.1.0", module_zip(comment=b"other"), token)
        url = f"/api/v1/modules/{module}/1.0.0"
        for number in range(trials):
            act = ("yank", "restore", "quarantine", "restore", "public", "private")[number % 6]
            if act in ("public", "private"):
                answer = client.put("/api/v1/namespaces/stale", json={"visibility": act})
            else:
                answer = client.post(f"{url}/{act}", json={"reason": "a trial"})
            answer.raise_for_status()
            if answer.headers["Larder-Static-Copy"] != "current":
                late += 1
                continue
            side = "public" if act == "public" else "private"
            text = (copy / side / listed).read_text()
            has_bytes = (copy / side / archive).exists()
            is_wrong = {
                "yank": '"1.0.0"' in text,
                "quarantine": '"1.0.0"' in text or has_bytes,
                "restore": '"1.0.0"' not in text or not has_bytes,
                "private": (copy / "public" / listed).exists(),
                "public": not has_bytes,
            }
            stale += is_wrong[act]
    return stale, late


def _publishing(bench: Bench, live: Live, copy: Path) -> Figure:
    """From the acknowledgement that a version is published until the copy lists it."""
    lags: list[float] = []
    token = live.token()
    with live.client(token) as client:
        client.put("/api/v1/namespaces/bench", json={"visibility": "public"}).raise_for_status()
    threads: list[threading.Thread] = []
    began = time.monotonic()
    for number in range(2 if bench.is_tiny else SECONDS * MODULES_A_SECOND):
        time.sleep(max(0.0, began + number / MODULES_A_SECOND - time.monotonic()))
        threads.append(threading.Thread(target=_publish, args=(live, token, copy, number, lags)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    lags.sort()
    return Figure(
        f"p99 of the time until the copy has what is published, {MODULES_A_SECOND} a second",
        [lags[max(0, len(lags) * 99 // 100 - 1)]],
        "ms",
        wanted="<= 1,000",
        p50=[statistics.median(lags)],
        note={"published": len(lags), "slowest": lags[-1]},
    )


def _publish(live: Live, token: str, copy: Path, number: int, lags: list[float]) -> None:
    name, version = f"bench/m{number % 20}/local", f"1.0.{number}"
    live.publish(name, version, module_zip(comment=version.encode()), token)
    began, listed = time.monotonic(), copy / f"public/v1/modules/{name}/versions"
    while time.monotonic() < began + 30 and not (listed.exists() and f'"{version}"' in listed.read_text()):
        time.sleep(0.005)
    lags.append(1e3 * (time.monotonic() - began))


def bundles(bench: Bench, near: Live) -> Iterator[Figure]:
    """`bundle create`, and `import` until everything is published, each against a loop that copies and hashes the same
    files.
    """
    folder, pem = bench.folder / "bundles", bench.folder / "registry.pem"
    folder.mkdir()
    seconds: dict[str, list[float]] = {"create": [], "import": []}
    alone: dict[str, list[float]] = {"create": [], "import": []}
    _publish_bundled(near, folder, is_tiny=bench.is_tiny)
    with near.client() as client:
        keys = client.get("/api/v1/statement-keys").json()["keys"]
        pem.write_text("".join(client.get(f"/api/v1/statement-keys/{one['id']}/pem").text for one in keys))
    for number in range(bench.rounds):
        media = folder / "media"
        began = time.monotonic()
        near.manage("bundle", "create", str(media), "--namespace", "carried")
        seconds["create"].append(time.monotonic() - began)
        alone["create"].append(_copied_and_hashed(media, folder))
        with start_live(folder / f"far-{number}", why="it imports a bundle") as far:
            began = time.monotonic()
            far.manage("bundle", "import", str(media), "--key", str(pem), "--as", "admin")
            seconds["import"].append(time.monotonic() - began)
        alone["import"].append(_copied_and_hashed(media, folder))
        size = sum(one.stat().st_size for one in media.rglob("*") if one.is_file())
        shutil.rmtree(media)
        shutil.rmtree(folder / f"far-{number}")
    for act, values in seconds.items():
        work = f"bundle {act} of {size // MIB:,} MiB"
        yield Figure(work, values, "s", alone[act], "copying and hashing", "<= 2")


def _publish_bundled(live: Live, folder: Path, *, is_tiny: bool) -> None:
    """Modules of what does not shrink, and a provider with packages as GoReleaser makes them."""
    token, noise = live.token(), random.Random(0)
    with live.client(token) as client:
        client.put("/api/v1/namespaces/carried", json={"visibility": "private"}).raise_for_status()
        client.post("/api/v1/namespaces/carried/keys", json={"generate": "ed25519"}).raise_for_status()
        started = []
        for number in range(3 if is_tiny else BUNDLED_MODULES):
            data = module_zip({"main.tf": "locals {}\n", "data.bin": noise.randbytes(MIB << (number % 10) >> 6)})
            started.append(client.put(f"/api/v1/modules/carried/m{number}/local/1.0.0", content=data).json()["id"])
        for size in (MIB,) if is_tiny else PACKAGES:
            url = f"/api/v1/providers/carried/bench/1.0.{size // MIB}"
            client.post(url, json={"protocols": ["5.0"]}).raise_for_status()
            with providers.named(providers.make(folder, PLATFORMS, size), folder, f"1.0.{size // MIB}") as files:
                for file in files:
                    client.put(f"{url}/files/{file.name}", content=file.read_bytes()).raise_for_status()
            client.post(f"{url}/publish").raise_for_status()
            assert live.wait_for(client, url)["state"] == "published"
        for one in started:
            assert live.wait_for(client, f"/api/v1/releases/{one}")["state"] == "published"


def _copied_and_hashed(media: Path, folder: Path) -> float:
    return sum(uploads.write_and_hash(path, folder) for path in media.rglob("*") if path.is_file())


def write() -> None:
    """Print what the first write and some changes cost, as JSON."""
    from apps.blobs import store
    from apps.contrib.copy.writing import following, writer
    from apps.releases.models import Kind, Release

    rows = Release.objects.filter(kind=Kind.MODULE, state="published").exclude(namespace__name="demo")
    for digest, size in rows.values_list("digest", "size").iterator():
        path = store.path_of(digest)
        assert path is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.truncate(size)
    with tempfile.TemporaryDirectory(dir=Path(str(store.path_of("0" * 64))).parents[3]) as folder:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with writer.opened(f"file://{folder}/copy") as own:
            began, spent = time.monotonic(), time.process_time()
            left = following.everything(own.copy)
            while following.sweep_step(own, left):
                pass
            own.seal(number=1)
            seconds, processor = time.monotonic() - began, time.process_time() - spent
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            changes = [_change(own, number) for number in range(CHANGES)]
    count = rows.count()
    found = {"versions": count, "seconds": seconds, "processor": processor, "memory": more, "changes": changes}
    sys.stdout.write(f"{json.dumps(found)}\n")


def _change(own: Any, number: int) -> float:
    """Yank a version, and write its address, its shard and the root; in ms."""
    from django.utils import timezone

    from apps.contrib.copy.tree import documents
    from apps.releases.models import Kind, Release

    rows = Release.objects.filter(kind=Kind.MODULE, state="published", namespace__name__startswith="team")
    release = rows.select_related("namespace").order_by("pk")[number]
    Release.objects.filter(pk=release.pk).update(lifecycle="yanked")
    address = documents.of_release(release.kind, release.namespace.name, release.name)
    began = time.monotonic()
    own.write([documents.render(address, now=timezone.now())])
    own.seal(number=number + 2)
    return 1e3 * (time.monotonic() - began)
