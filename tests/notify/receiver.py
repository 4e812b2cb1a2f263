"""A receiver of webhooks on loopback, which answers as a test tells it to."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    port: int
    answer: Answer
    received: list[Received] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)  # what hangs ends with the test

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/larder"


def says(status: int, text: bytes = b"", **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    return answer


@contextmanager
def listening(answer: Answer, wrap: Callable[[Any], Any] | None = None) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.received.append(Received(self.path, headers, body))
            try:
                found.answer(self)
            except OSError:
                self.close_connection = True  # the client has gone, as it should

        def log_message(self, *_: Any) -> None:
            """Write nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: Any) -> None:
            """Write nothing: handshakes fail on purpose."""

    server = Server(("127.0.0.1", 0), Handler)
    if wrap is not None:
        server.socket = wrap(server.socket)
    found = Receiver(server.server_address[1], answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
