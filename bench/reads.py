"""Protocol reads against nginx with the same bytes, and the same reads in a registry a thousand times smaller."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from bench import load, references
from bench.larder import SMALL, Bench, server_of, start
from bench.report import Figure
from tests.live import Live

MODULE, PROVIDER = "/v1/modules/{}/of-{}/local", "/v1/providers/{}/of-50"


@dataclass(frozen=True)
class Read:
    work: str
    path: str
    is_private: bool = False


def _of(namespace: str, *, is_private: bool) -> list[Read]:
    by = ", private, by token" if is_private else ""
    paths = {
        "module versions, 100": MODULE.format(namespace, 100) + "/versions",
        "module versions, 1,000": MODULE.format(namespace, 1000) + "/versions",
        "module download": MODULE.format(namespace, 100) + "/1.0.0/download",
        "provider versions, 50 of 5 platforms": PROVIDER.format(namespace) + "/versions",
        "provider download": PROVIDER.format(namespace) + "/1.0.0/download/linux/amd64",
    }
    return [Read(work + by, path, is_private) for work, path in paths.items()]


READS = [
    Read("discovery", "/.well-known/terraform.json"),
    *_of("bench", is_private=False),
    *_of("bench-private", is_private=True),
]


def measure(bench: Bench) -> Iterator[Figure]:
    """8 connections over HTTP and TLS, and 32 over HTTP."""
    if bench.lacks("reads", "wrk", "nginx"):
        return
    if not bench.is_tiny:
        yield from _rounds(bench, bench.larder(is_seeded=True, tls=False), (8, 32), "")
    yield from _rounds(bench, bench.larder(is_seeded=True, tls=True), (8,), ", TLS")


def measure_size(bench: Bench) -> Iterator[Figure]:
    if bench.lacks("size", "wrk"):
        return
    read, large = READS[1], bench.larder(is_seeded=True, tls=False)
    with nullcontext(large) if bench.is_tiny else start(bench.folder / "small", tls=False, size=SMALL) as small:
        yield load.in_turns(
            f"{read.work}, among 500,000 versions",
            (server_of(large), read.path),
            (server_of(small), read.path),
            against="among 500",
            wanted=">= 0.95",
            rounds=bench.rounds,
            seconds=bench.seconds,
            connections=8,
        )


def _rounds(bench: Bench, live: Live, connections: tuple[int, ...], how: str) -> Iterator[Figure]:
    reads = READS[::5] if bench.is_tiny else READS
    token = {"Authorization": f"Bearer {bench.token(live)}"}
    with live.client() as client:
        answers = [client.get(read.path, headers=token if read.is_private else {}) for read in reads]
    bodies = {str(number): answer.raise_for_status().content for number, answer in enumerate(answers)}
    tls = live.data_dir / "tls"
    certificate = (tls / "server.pem", tls / "server.key") if live.url.startswith("https") else None
    with references.nginx(bench.folder / f"nginx{len(how)}", bodies, certificate) as nginx:
        for count in connections[:1] if bench.is_tiny else connections:
            for number, read in enumerate(reads):
                yield load.in_turns(
                    f"{read.work}{how}, {count} connections",
                    (server_of(live), read.path),
                    (nginx, f"/{number}"),
                    against="nginx",
                    rounds=bench.rounds,
                    seconds=bench.seconds,
                    connections=count,
                    headers=token if read.is_private else {},
                )
