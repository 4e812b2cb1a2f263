"""The first `init` of many providers that Larder has never heard of, behind a registry that takes its time.

OpenTofu asks a mirror once for each document and gives up after 10 seconds, so one late answer ends the whole `init`.
Settings are Larder's defaults, except for the limit of fetches. Figures are how long an `init` takes, and how many of
them succeed at the first try.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from bench import references
from bench.larder import Bench
from bench.report import Figure
from tests.builders import faults, misbehaving
from tests.builders.faults import Answer
from tests.builders.keys import signing_key
from tests.builders.misbehaving import MISSING, Registry, Request
from tests.e2e.providers import configure
from tests.e2e.workspace import Workspace
from tests.live import Live, start_live

HOST, NAMESPACE, VERSION = "cold.bench.example", "bench", "1.0.0"
CLIENTS = ("tofu", "terraform")


@dataclass(frozen=True)
class Case:
    """`timeout`: TF_REGISTRY_CLIENT_TIMEOUT, empty for the client's own, which is 10 seconds."""

    seconds: float  # of the registry for each request
    timeout: str
    inits: int

    def __str__(self) -> str:
        return f"{1000 * self.seconds:.0f} ms a request" + (f", time-out {self.timeout} s" if self.timeout else "")


CASES = (Case(0.2, "", 10), Case(2, "60", 1))


def measure(bench: Bench, folder: Path) -> Iterator[Figure]:
    programs = [name for name in CLIENTS if not references.missing(name)]
    providers = 2 if bench.is_tiny else 40
    variables = {"LARDER_UPSTREAM_ALLOW": "127.0.0.0/8", "LARDER_WEB_PROCESSES": str(bench.processes)}
    variables["LARDER_RATE_FETCH"] = "off"  # one after the other these stand for many people, who have a limit each
    numbers = count()
    with misbehaving.running() as registry, start_live(folder / "larder", why="measured", **variables) as live:
        with live.client(live.token()) as client:
            body = {"enabled": True, "cooldown_days": 0, "url": registry.url}
            client.put(f"/api/v1/upstreams/{HOST}", json=body).raise_for_status()
        for program in programs:
            for case in CASES[:1] if bench.is_tiny else CASES:
                inits = 1 if bench.is_tiny else case.inits
                names = [[f"p{next(numbers)}" for _ in range(providers)] for _ in range(inits)]
                _serve(registry, names, case.seconds)
                spaces = (Workspace(folder / f"cold-{program}-{next(numbers)}", program, live) for _ in names)
                tries = [_init(space, some, case.timeout) for space, some in zip(spaces, names, strict=True)]
                work = f"{program} init with {providers} unknown providers, {case}"
                yield Figure(work, [seconds for seconds, _ in tries], "s")
                first = sum(succeeded for _, succeeded in tries)
                yield Figure(f"{work}: successes at the first try", [first], f"of {inits}", wanted=str(inits))


def _serve(registry: Registry, names: list[list[str]], seconds: float) -> None:
    """Prepare all answers: signing them while Larder waits would take a core from it."""
    known: dict[str, Answer] = {}
    key = signing_key("ed25519")
    for name in (one for some in names for one in some):
        made = registry.add_provider(NAMESPACE, name, versions=[VERSION], key=key)
        paths = (made.list_path, made.document_path(VERSION), made.zip_path(VERSION))
        for path in (misbehaving.DISCOVERY, *paths, made.sums_path(VERSION), made.signature_path(VERSION)):
            known[path] = Registry.answer(registry, Request("GET", path, "", {}, 0))
    registry.answer = partial(_answer, known)  # type: ignore[method-assign]  # of this one alone
    registry.behave()
    registry.misbehave("*", faults.late(seconds))


def _answer(known: dict[str, Answer], request: Request) -> Answer:
    return known.get(request.path, MISSING)


def _init(space: Workspace, names: list[str], timeout: str) -> tuple[float, bool]:
    """Return the seconds, and whether it succeeded."""
    configure(space, f'provider_installation {{\n  network_mirror {{\n    url = "{_mirror(space.larder)}"\n  }}\n}}\n')
    if timeout:
        space.environment["TF_REGISTRY_CLIENT_TIMEOUT"] = timeout
    needed = {name: {"source": f"{HOST}/{NAMESPACE}/{name}"} for name in names}
    (space.work / "main.tf.json").write_text(json.dumps({"terraform": {"required_providers": needed}}))
    began = time.perf_counter()
    done = space.init()
    return time.perf_counter() - began, done.returncode == 0


def _mirror(live: Live) -> str:
    return f"{live.url}/v1/mirror/"
