"""Downloads of large files against nginx's sendfile of the same file, and the memory that they take."""

import json
from collections.abc import Iterator

from bench import load, references, trees
from bench.larder import Bench, server_of
from bench.report import Figure
from tests.live import Live

MIB = 1024 * 1024
# Each file becomes the archive of a version in the public namespace; nothing is checked, the bytes are noise.
STORE = """
import os
from django.utils import timezone
from apps.accounts.models import Namespace
from apps.blobs import store
from apps.lib.versions import parse
from apps.releases.models import Release
space, _ = Namespace.objects.get_or_create(name="large", defaults={"canonical": "large", "visibility": "public"})
block = os.urandom(1024 * 1024)
for number, mib in enumerate(SIZES):
    name = f"of-{mib}/local"
    if Release.objects.filter(namespace=space, name=name).exists():
        continue
    staged = store.stage(f"bench-{mib}", (block for _ in range(mib)))
    store.store_staged(f"bench-{mib}", digest=staged.digest, size=staged.size)
    version = parse("1.0.0")
    Release.objects.create(
        kind="module", namespace=space, name=name, version=version.text, sort_key=version.sort_key, staging_key="-",
        state="published", digest=staged.digest, size=staged.size, published_at=timezone.now())
    store.discard_staged(f"bench-{mib}")
import json
rows = Release.objects.filter(namespace=space).values_list("size", "digest")
print(json.dumps({size // (1024 * 1024): digest for size, digest in rows}))
"""


def measure(bench: Bench) -> Iterator[Figure]:
    if bench.lacks("archives", "wrk", "nginx"):
        return
    live = bench.larder(is_seeded=True, tls=False)
    sizes = [1, 2] if bench.is_tiny else [50, 500]
    said = live.manage("shell", "-v", "0", "-c", STORE.replace("SIZES", repr(sizes)))
    digests = {int(mib): digest for mib, digest in json.loads(said.splitlines()[-1]).items() if int(mib) in sizes}
    files = {digest: live.data_dir / "blobs" / "sha256" / digest[:2] / digest for digest in digests.values()}
    with references.nginx(bench.folder / "nginx-archives", files) as nginx:
        for mib, digest in digests.items():
            path = f"/archives/{digest}/of-{mib}.zip"
            # So often that each process has hashed the file: within the hour, it does so once.
            for _ in range(8):
                with live.client() as client, client.stream("GET", path) as answer:
                    for _part in answer.iter_raw():
                        pass
            yield load.in_turns(
                f"{mib} MiB, 8 at once",
                (server_of(live), path),
                (nginx, f"/{digest}"),
                against="nginx",
                wanted=">= 0.80",
                rounds=bench.rounds,
                seconds=bench.seconds * 2,
                connections=8,
                is_rate_of_bytes=True,
            )
            growth = [_growth(live, path, bench.seconds * 2) for _ in range(bench.rounds)]
            yield Figure(f"{mib} MiB, 8 at once, growth of all processes", growth, "MB", wanted="<= 32")


def _growth(live: Live, path: str, seconds: float) -> float:
    """Measure the growth in a separate round: sampling the memory of a tree takes processor time from everything
    else.
    """
    before = trees.pss(live.process.pid)
    with trees.Peak(live.process.pid) as peak:
        load.drive(server_of(live), path, connections=8, seconds=seconds, headers={})
    return peak.peak - before
