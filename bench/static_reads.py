"""Reads from a static copy through nginx, with the configuration of deploy/nginx, against nginx with the same bytes."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench import load, references
from bench.larder import Bench
from bench.load import Server
from bench.report import Figure
from tests.builders import static_nginx

KIB = 1024
TOKEN = {"Authorization": "Bearer bench"}
WANTED = {"public": ">= 0.95", "private": ">= 0.60"}


class Allowing(BaseHTTPRequestHandler):
    """Larder's answer about a permission, which nginx remembers."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Cache-Control", "max-age=3600")
        self.send_header("X-Larder-Link", f"/p/{'a' * 22}/1796169600")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def files(side: str) -> dict[str, bytes]:
    """A module with 100 versions, and the archive of one, by their paths."""
    name = f"{side}ly/vpc/aws"
    versions = {"modules": [{"source": name, "versions": [{"version": f"1.0.{number}"} for number in range(100)]}]}
    archive = f"/packages/modules/{name}/1.0.0.zip"
    download = {"location": f"{archive}?checksum=sha256:{'0' * 64}"}
    return {
        f"/v1/modules/{name}/versions": json.dumps(versions).encode(),
        f"/v1/modules/{name}/1.0.0/download": json.dumps(download).encode(),
        archive: os.urandom(64 * KIB),
    }


@contextmanager
def _larder() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Allowing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def measure(bench: Bench) -> Iterator[Figure]:
    if bench.lacks("static", "wrk", "nginx"):
        return
    copy = bench.folder / "static-copy"
    everything: dict[str, bytes] = {}
    for side in WANTED:
        for path, data in files(side).items():
            everything[path] = data
            file = copy / side / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    with (
        _larder() as larder,
        static_nginx.running(bench.folder / "static-nginx", copy=copy, larder=larder) as ours,
        references.nginx(bench.folder / "nginx-static", everything) as nginx,
    ):
        for side, wanted in WANTED.items():
            for path in files(side):
                yield load.in_turns(
                    f"{_named(path)}, {side}, from the copy",
                    (Server(ours.url, ours.pid), path),
                    (nginx, path),
                    against="nginx",
                    wanted=wanted,
                    rounds=bench.rounds,
                    seconds=bench.seconds,
                    connections=8,
                    headers=TOKEN if side == "private" else {},
                )


def _named(path: str) -> str:
    kind = Path(path).name
    return {"versions": "module versions, 100", "download": "module download"}.get(kind, "archive of 64 KiB")
