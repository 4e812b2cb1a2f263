"""Servers of bare repositories on loopback: https and http. `git_daemons` has ssh, and nginx.

    with git_site(tmp_path) as site:
        vpc = site.repository("acme/terraform-aws-vpc")
        vpc.commit({"main.tf": "…"})
        vpc.tag("v1.0.0", message="First")  # annotated; without a message lightweight
        site.url_of("acme/terraform-aws-vpc")

`site.settings` is for `settings.SOURCES`.
"""

import base64
import gzip
import ssl
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path
from threading import Thread
from typing import Any

from apps.lib.settings_values.outgoing import Outgoing
from tests.builders.git_repositories import (
    ENVIRONMENT,
    File,
    Repository,
    executable,
    lfs_pointer,
    link,
    ssh_key,
    submodule,
)
from tests.builders.tls import Authority

__all__ = ["File", "Repository", "Site", "executable", "git_site", "lfs_pointer", "link", "ssh_key", "submodule"]

LOOPBACK = (ip_network("127.0.0.0/8"),)
BACKEND = "/usr/lib/git-core/git-http-backend"


@dataclass
class Site:
    """`requests`: of each the method and the path. `token` is asked for in Basic or Bearer; empty: nobody is asked.

    `answer` may answer in the place of git: status, headers and body by path; None leaves it to git. A body of several
    pieces ends with the connection. `bodies` are those of the requests, unpacked.
    """

    folder: Path
    url: str
    ca_file: str
    token: str = ""
    requests: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    answer: Any = None
    is_down: bool = False

    def repository(self, name: str) -> Repository:
        return Repository(self.folder / f"{name}.git")

    def url_of(self, name: str) -> str:
        return f"{self.url}/{name}.git"

    @property
    def authorization(self) -> str:
        return "Basic " + base64.b64encode(f"larder:{self.token}".encode()).decode()

    @property
    def settings(self) -> Outgoing:
        return Outgoing(allow=LOOPBACK, ca_file=self.ca_file)


@contextmanager
def git_site(
    folder: Path,
    *,
    https: bool = True,
    token: str = "",
    port: int = 0,
    context: Callable[[Authority, Path], ssl.SSLContext] | None = None,
) -> Iterator[Site]:
    """Serve the bare repositories below the folder with git http-backend, at localhost.

    `context` makes another one of TLS, by the authority that `Site.ca_file` has.
    """
    folder.mkdir(parents=True, exist_ok=True)
    server = _Server(("127.0.0.1", port), _Handler)
    scheme, ca_file = "http", ""
    if https:
        authority = Authority("Git tests")
        server.context = context(authority, folder) if context else authority.server("localhost", folder)
        ca_file, scheme = str(folder / "ca.pem"), "https"
        Path(ca_file).write_bytes(authority.pem)
    server.site = Site(folder, f"{scheme}://localhost:{server.server_port}", ca_file, token)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.site
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    context: ssl.SSLContext | None = None
    site: Site

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the thread of the connection, so that a hanging handshake stops no other one."""
        if self.context is None:
            super().finish_request(request, client_address)
            return
        with self.context.wrap_socket(request, server_side=True) as wrapped:
            super().finish_request(wrapped, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that break off are a part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, *words: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        site = self.server.site
        site.requests.append(f"{self.command} {self.path}")
        site.headers.append(dict(self.headers.items()))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_packed = self.headers.get("Content-Encoding") == "gzip"
        site.bodies.append(gzip.decompress(body) if is_packed else body)
        if site.is_down:
            self.send_error(503)
            return
        if site.answer is not None and (answer := site.answer(self.path)) is not None:
            status, headers, body = answer
            self._send(status, headers, body)
            return
        bearer = f"Bearer {site.token}"
        if site.token and self.headers.get("Authorization") not in {site.authorization, bearer}:
            self._send(401, {"WWW-Authenticate": 'Basic realm="Git"'}, b"")
            return
        self._call_backend(site, body)

    def _send(self, status: int, headers: Mapping[str, str], body: bytes | Iterable[bytes]) -> None:
        self.send_response(status)
        length = {"Content-Length": str(len(body))} if isinstance(body, bytes) else {}
        for name, value in {**length, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in [body] if isinstance(body, bytes) else body:
            self.wfile.write(piece)
            self.wfile.flush()

    def _call_backend(self, site: Site, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            **ENVIRONMENT,
            "GIT_PROJECT_ROOT": str(site.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": self.headers.get("Content-Length", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run([BACKEND], input=body, capture_output=True, check=False, env=environment)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line]
        headers = {name: value for name, value in lines if name != "Status"}
        status = next((int(value.split()[0]) for name, value in lines if name == "Status"), 200)
        self._send(status, headers, content)
