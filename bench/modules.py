"""Publishing real modules, from the upload until all readers see them: of a folder of archives, or generated ones.

    .venv/bin/python -m bench.run --only modules --archives FOLDER --against CHECKOUT

With another checkout each archive goes to its Larder as well, right after ours: the machine is as busy for both.
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime

import httpx

from bench import larder
from bench.inspection import many_files
from bench.larder import Bench
from bench.report import Figure
from tests.builders.archives import module_zip
from tests.live import CHECKOUT

NAMESPACE = "bench-modules"
CONFIRMED = ["private_key", "state_file", "unloadable"]  # real repositories have examples with keys
PAUSE = 0.2  # asking takes processor time, and the figure is by the clock of the server
README = "# A module\n\nIt has [a file](main.tf).\n\n| Name | Type | Default |\n|---|---|---|\n"
ROW = '| <a name="input_a"></a> [a](#input\\_a) | `list(string)` | `[]` |\n'


def measure(bench: Bench) -> Iterator[Figure]:
    archives = _archives(bench)
    checkouts = {"": CHECKOUT, **({"against": bench.against} if bench.against else {})}
    seconds: dict[str, dict[str, list[float]]] = {name: {} for name in checkouts}
    bench.close()  # another Larder would take processor time
    with ExitStack() as stack:
        clients = {}
        for name, checkout in checkouts.items():
            folder = bench.folder / f"modules{name}"
            live = stack.enter_context(larder.start(folder, tls=False, processes=bench.processes, checkout=checkout))
            clients[name] = stack.enter_context(live.client(live.token()))
            clients[name].put(f"/api/v1/namespaces/{NAMESPACE}", json={"visibility": "private"}).raise_for_status()
            _published(clients[name], "first", 0, module_zip())  # starts what is started once
        for number in range(bench.rounds):
            for archive, data in archives.items():
                for name, client in clients.items():
                    if (taken := _published(client, archive, number, data)) is not None:
                        seconds[name].setdefault(archive, []).append(taken)
                    elif not number and not name:
                        bench.skipped.append(f"modules: {archive} was not published")
    yield from _figures(seconds)


def _figures(seconds: dict[str, dict[str, list[float]]]) -> Iterator[Figure]:
    """Of each archive its median; over those the p50, the p95 and the longest."""
    middles = {
        name: sorted(statistics.median(values) for values in archives.values()) for name, archives in seconds.items()
    }
    ours, theirs = middles[""], middles.get("against", [])
    count = len(ours)
    for what, share, wanted in (("p50", 0.5, "<= 0.35"), ("p95", 0.95, "<= 1"), ("maximum", 1.0, "<= 2")):
        at = min(count - 1, int(share * count))
        yield Figure(
            f"{what} of {count} modules, upload to published",
            [ours[at]],
            "s",
            [theirs[at]] if len(theirs) == count else [],
            "the other checkout",
            wanted,
        )
    for archive, values in sorted(seconds[""].items(), key=lambda item: -statistics.median(item[1])):
        others = seconds.get("against", {}).get(archive, [])
        yield Figure(f"{archive}, upload to published", values, "s", others, "the other checkout")


def _archives(bench: Bench) -> dict[str, bytes]:
    if bench.archives:
        found = sorted(path for path in bench.archives.iterdir() if path.name.endswith((".zip", ".tar.gz", ".tgz")))
        if not found:
            raise ValueError(f"{bench.archives} has no .zip and no .tar.gz")
        return {path.stem.lower().replace(".", "-")[:60]: path.read_bytes() for path in found}
    sizes = (2, 4) if bench.is_tiny else (4, 20, 100, 400)
    made = {}
    for count in sizes:
        texts: dict[str, bytes | str] = dict(many_files(count))
        folders = {name.rpartition("/")[0] for name in texts}
        texts |= {f"{folder}/README.md".lstrip("/"): README + ROW * count for folder in folders}
        made[f"generated-{count}"] = module_zip(texts)
    return made


def _published(client: httpx.Client, name: str, number: int, data: bytes) -> float | None:
    """Seconds, by the clock of the Larder at their end; None if it is refused."""
    path = f"/api/v1/modules/{NAMESPACE}/{name}/local/1.0.{number}"
    started = time.time()
    answer = client.put(path, content=data, params={"confirm": CONFIRMED})
    answer.raise_for_status()
    release = f"/api/v1/releases/{answer.json()['id']}"
    while (document := client.get(release).json())["state"] in ("received", "checking"):
        time.sleep(PAUSE)
    if document["state"] != "published":
        return None
    return datetime.fromisoformat(document["published_at"]).timestamp() - started
