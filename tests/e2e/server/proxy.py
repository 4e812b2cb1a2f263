"""A TLS proxy in front of a live Larder that can fail or change one answer: faults that a client must live through."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

from tests.live import Live

Tamper = Callable[[str, httpx.Response], httpx.Response]


@dataclass
class Proxy:
    host: str
    seen: list[tuple[str, str, int]] = field(default_factory=list)


@contextmanager
def proxy(larder: Live, tamper: Tamper) -> Iterator[Proxy]:
    upstream = larder.client()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.forward("GET")

        def do_HEAD(self) -> None:
            self.forward("HEAD")

        def forward(self, method: str) -> None:
            kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
            answer = tamper(self.path, upstream.request(method, self.path, headers=kept))
            record.seen.append((method, self.path, answer.status_code))
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                    self.send_header(name, value)
            self.end_headers()
            if method != "HEAD":
                self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(larder.data_dir / "tls" / "server.pem", larder.data_dir / "tls" / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    record = Proxy(host=f"127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield record
    finally:
        server.shutdown()
        server.server_close()
        upstream.close()
