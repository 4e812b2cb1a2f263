"""A registry of providers on loopback that keeps to the protocol until a test tells it not to.

    with misbehaving.running() as registry:                  # or running(tls=folder): https with a private authority
        random = registry.add_provider("hashicorp", "random", versions=["1.0.0"], platforms=["linux_amd64"])
        Upstream.objects.create(host=registry.host, url=registry.url, is_enabled=True, ca=registry.ca)

It serves discovery, version lists, download documents, real small zips with a program's header, SHA256SUMS and gpg
signatures by throw-away keys, ETags and 304, HEAD and ranges. It is a thread of this process with a real port, so
other processes and real clients can ask it; `python -m tests.builders.misbehaving acme/tool 1.0.0 linux_amd64 [SIZE]`
runs one alone, prints its URL, and ends with its standard input (for benchmarks).

Registry: `url`, `host` (a name for provider addresses; it resolves nowhere), `ca` (PEM, empty without TLS), `token`
(set it: discovery, lists and documents then need it), `discovery` (the document), `packages_url` (set it to the URL of
another registry, or to `other_name_url`, and the bytes come from there), `misbehave(pattern, fault, times=None)` with
a fault of `faults.py` for all paths that match (`*` matches `/`; the latest match counts; `times` and then right
again), `behave()`, `pages` (further documents by their path), `requests`, `count(pattern)` (how many requests, HEADs
included), `stop()` and `start()` (the same port: the registry is down in between).

Provider: paths for patterns and counts (`list_path`, `document_path(version, platform)`, `zip_path(…)`,
`sums_path(version)`, `signature_path(version)`), and what a registry does to it later, always with sums and signature
that fit: `versions` (append to it, remove from it: a shrinking list), `replace(version)` (changed bytes),
`change_key(key)`, `name_no_key()`, `sign_with(key)` (a key that the registry does not list), `more[version]` (further
fields of its entry in the list), `protocols`. `zip(version, platform)` and `sums(version)` are the bytes. Modules are
of `catalogue.py` too.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from fnmatch import fnmatchcase
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from urllib.parse import unquote

from tests.builders import tls as builder
from tests.builders.catalogue import JSON, Module, Provider, json_answer
from tests.builders.faults import Answer, Fault
from tests.builders.keys import TestKey, signing_key

HOST = "registry.other.example"
LAST_MODIFIED = formatdate(1_700_000_000, usegmt=True)
DISCOVERY = "/.well-known/terraform.json"
MISSING = Answer(404, b'{"errors":["not found"]}', JSON)


@dataclass(frozen=True)
class Request:
    method: str
    path: str  # decoded, without its query
    query: str
    headers: dict[str, str]  # names in lower case
    at: float  # time.monotonic()


@dataclass
class _Misbehaviour:
    pattern: str
    fault: Fault
    left: int | None


@dataclass
class Registry:
    """The server. The module's docstring lists what tests do with it."""

    host: str = HOST
    ca: str = ""
    token: str = ""
    wrap: Callable[[Any], Any] | None = None
    discovery: Any = field(default_factory=lambda: {"providers.v1": "/v1/providers/", "modules.v1": "/v1/modules/"})
    pages: dict[str, Any] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    over: Event = field(default_factory=Event)
    packages_url: str = ""
    port: int = 0
    _providers: list[Provider] = field(default_factory=list)
    _modules: list[Module] = field(default_factory=list)
    _faults: list[_Misbehaviour] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)
    _server: ThreadingHTTPServer | None = None
    _thread: Thread | None = None

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}" if self.wrap else f"http://127.0.0.1:{self.port}"

    @property
    def other_name_url(self) -> str:
        """The same server under another host name."""
        return self.url.replace("127.0.0.1", "localhost")

    @property
    def cli_host(self) -> str:
        """A `host` block of a client's configuration: the client then asks this registry directly."""
        return f'host "{self.host}" {{ services = {{ "providers.v1" = "{self.url}/v1/providers/" }} }}\n'

    def add_provider(
        self,
        namespace: str = "acme",
        kind: str = "tool",
        *,
        versions: Iterable[str] = ("1.0.0",),
        platforms: Iterable[str] = ("linux_amd64",),
        key: TestKey | str | None = "ed25519",
        size: int = 0,
    ) -> Provider:
        """`key`: a kind of tests.builders.keys, a key, or None: the registry names none. `size`: of each zip, about."""
        chosen = signing_key(key) if isinstance(key, str) else key
        made = Provider(namespace, kind, versions, platforms, chosen, size)
        self._providers.append(made)
        return made

    def add_module(self, address: str, location: str, versions: Iterable[str] = ("1.0.0",)) -> Module:
        """`location` is where a version's files are, such as git::https://host/acme/vpc.git?ref=v{version}."""
        made = Module(address, location, list(versions))
        self._modules.append(made)
        return made

    def misbehave(self, pattern: str, fault: Fault, *, times: int | None = None) -> None:
        self._faults.append(_Misbehaviour(pattern, fault, times))

    def behave(self) -> None:
        """End all misbehaviour."""
        self._faults.clear()

    def count(self, pattern: str) -> int:
        return sum(fnmatchcase(request.path, pattern) for request in list(self.requests))

    def start(self) -> None:
        self.over = Event()
        self._server = _Server(("127.0.0.1", self.port), _handler(self))
        self.port = self._server.server_address[1]
        if self.wrap is not None:
            self._server.socket = self.wrap(self._server.socket)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self.over.set()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None

    def fault_of(self, path: str) -> Fault | None:
        with self._lock:
            for one in reversed(self._faults):
                if one.left != 0 and fnmatchcase(path, one.pattern):
                    one.left = None if one.left is None else one.left - 1
                    return one.fault
        return None

    def answer(self, request: Request) -> Answer:
        is_api = request.path.startswith("/v1/") or request.path == DISCOVERY
        if self.token and is_api and request.headers.get("authorization") != f"Bearer {self.token}":
            return Answer(401, b'{"errors":["unauthorized"]}', JSON)
        if request.path == DISCOVERY:
            return json_answer(self.discovery)
        if request.path in self.pages:
            return json_answer(self.pages[request.path])
        base = self.packages_url or self.url
        found = [provider.answer(request.path, base) for provider in self._providers]
        found += [one.answer(request.path) for one in self._modules]
        return next((answer for answer in found if answer), MISSING)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """Write nothing: handshakes fail on purpose."""


class _Exchange(BaseHTTPRequestHandler):
    registry: Registry
    over: Event

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        self.path, self.over = unquote(path), self.registry.over
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, query, headers, time.monotonic())
        self.registry.requests.append(request)
        fault, answer = self.registry.fault_of(self.path), self.registry.answer(request)
        with suppress(OSError):  # the client has gone, as it should
            if fault is None:
                self.send(answer)
            else:
                fault(self, answer)
        self.close_connection = True

    do_HEAD = do_GET  # noqa: N815  # the name is the library's

    def send(self, answer: Answer) -> None:
        status, body, headers = answer.status, answer.body, dict(answer.headers)
        if status == 200:
            tag = f'"{sha256(body).hexdigest()[:16]}"'
            headers = {"ETag": tag, "Last-Modified": LAST_MODIFIED, "Accept-Ranges": "bytes"} | headers
            if self.headers.get("If-None-Match") == headers["ETag"]:
                status, body = 304, b""
            elif wanted := self.headers.get("Range"):
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                piece = body[int(first) : int(last or len(body)) + 1]
                headers["Content-Range"] = f"bytes {first}-{int(first) + len(piece) - 1}/{len(body)}"
                status, body = 206, piece
        self.begin(status, {"Content-Length": str(len(body)), **headers})
        self.write(body)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def write(self, data: bytes) -> None:
        if self.command != "HEAD" or data.startswith(b"HTTP/"):
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


def _handler(registry: Registry) -> type[_Exchange]:
    return type("Exchange", (_Exchange,), {"registry": registry})


@contextmanager
def running(*, tls: Path | None = None, name: str = "localhost", port: int = 0) -> Iterator[Registry]:
    """Start one. `tls`: a folder for its certificate, which is for `name`; the URL has `localhost`."""
    registry = Registry(port=port)
    if tls is not None:
        authority = builder.Authority("Acme CA")
        context = authority.server(name, tls)
        registry.ca = authority.pem.decode()
        # The handshake is the thread's of the request: a client that hangs in it stops no other.
        registry.wrap = lambda sock: context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
    registry.start()
    try:
        yield registry
    finally:
        registry.stop()


def main(address: str, version: str = "1.0.0", platform: str = "linux_amd64", size: str = "0") -> None:
    """Run one alone until standard input ends."""
    namespace, _, kind = address.partition("/")
    with running() as registry:
        registry.add_provider(namespace, kind, versions=[version], platforms=platform.split(","), size=int(size))
        print(registry.url, flush=True)  # noqa: T201  # whoever started it reads this
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
