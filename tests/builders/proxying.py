"""An outgoing HTTP proxy on loopback: CONNECT, and requests with an absolute URL. Every name leads to 127.0.0.1."""

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Proxy:
    port: int
    password: str = ""
    refusal: int = 0  # a status for everything
    asked: list[str] = field(default_factory=list)  # "CONNECT registry.other.example:443", "GET http://…"
    headers: list[dict[str, str]] = field(default_factory=list)
    leads_to: int = 0  # the port behind every CONNECT

    @property
    def url(self) -> str:
        return f"http://{'larder:' + self.password + '@' if self.password else ''}127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy

    def _refused(self) -> bool:
        self.proxy.asked.append(f"{self.command} {self.path}")
        self.proxy.headers.append({name.lower(): value for name, value in self.headers.items()})
        expected = "Basic " + base64.b64encode(f"larder:{self.proxy.password}".encode()).decode()
        status = self.proxy.refusal
        if self.proxy.password and self.headers.get("Proxy-Authorization") != expected:
            status = 407
        if status:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
        self.close_connection = True
        return bool(status)

    def do_GET(self) -> None:
        if self._refused():
            return
        there = urlsplit(self.path)
        connection = HTTPConnection("127.0.0.1", there.port or 80)
        connection.request(self.command, there.path, headers={"Host": there.netloc})
        with connection.getresponse() as answer:
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        connection.close()

    def do_CONNECT(self) -> None:
        if self._refused():
            return
        port = self.proxy.leads_to or int(self.path.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as there:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_copy, args=(there, self.connection), daemon=True)
            back.start()
            _copy(self.connection, there)
            back.join(5)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def proxying() -> Iterator[Proxy]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.block_on_close = False
    found = Proxy(server.server_address[1])
    server.RequestHandlerClass = type("Handler", (_Handler,), {"proxy": found})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
