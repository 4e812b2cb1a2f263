"""A proxy before the S3 server that fails as storage does."""

import http.client
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANG_SECONDS = 30
LATE_SECONDS = 2
SLOW_SECONDS = 0.5
FAULTS = ("500", "503", "hang", "half", "slow", "gone", "cut", "lost", "truncated", "409", "late")


class Proxy:
    """`fault` is "" or one of FAULTS.

    A status, and 409 to conditional writes alone; `hang`: no answer; `half`: every second request hangs; `slow`;
    `gone`: connections are closed at once; `cut` while it reads; `lost`: stored, without an answer; `truncated`: half
    of a body; `late`: 404 to reads of an object for LATE_SECONDS after it was stored.
    """

    def __init__(self, upstream: int) -> None:
        self.fault = ""
        self.injected = 0
        self.asked = 0
        self.stored: dict[str, float] = {}  # when an object was, by its path
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __getattr__(self, name: str) -> Any:
                if name.startswith("do_"):
                    return lambda: proxy.pass_on(self, upstream)
                raise AttributeError(name)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    def refusal(self, fault: str, handler: BaseHTTPRequestHandler, path: str) -> int:
        """The status of an answer that the server is not asked for; 0: it is asked."""
        is_conditional = "If-None-Match" in handler.headers
        is_late = time.monotonic() - self.stored.get(path, float("-inf")) < LATE_SECONDS
        match fault:
            case "500" | "503":
                return int(fault)
            case "409" if is_conditional:
                return 409
            case "late" if is_late and handler.command in ("GET", "HEAD"):
                return 404
        return 0

    def hang(self, fault: str) -> None:
        self.asked += 1
        deadline = time.monotonic() + HANG_SECONDS
        hangs = fault == "hang" or (fault == "half" and self.asked % 2)
        while hangs and fault == self.fault and time.monotonic() < deadline:
            time.sleep(0.05)
        if fault == "slow":
            time.sleep(SLOW_SECONDS)

    def pass_on(self, handler: BaseHTTPRequestHandler, upstream: int) -> None:
        fault, path = self.fault, handler.path.partition("?")[0]
        refused = self.refusal(fault, handler, path)
        self.injected += bool(refused or fault not in ("", "409", "late"))
        length = int(handler.headers.get("Content-Length") or 0)
        if fault in ("cut", "gone"):
            handler.rfile.read(length // 2 if fault == "cut" else 0)
            handler.connection.close()
            return
        body = handler.rfile.read(length)
        self.hang(fault)
        if refused:
            handler.send_response(refused)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        answer, data = asked(handler, upstream, body)
        if handler.command in ("PUT", "POST") and answer.status == 200:
            self.stored[path] = time.monotonic()
        if fault == "lost":
            handler.connection.close()
            return
        handler.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                handler.send_header(name, value)
        said = answer.getheader("Content-Length") if handler.command == "HEAD" else str(len(data))
        handler.send_header("Content-Length", said or "0")
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data[: len(data) // 2] if fault == "truncated" else data)
        if fault == "truncated":
            handler.connection.close()


def asked(handler: BaseHTTPRequestHandler, upstream: int, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
    """The server's answer to the same request."""
    there = http.client.HTTPConnection("127.0.0.1", upstream, timeout=60)
    there.request(handler.command, handler.path, body=body, headers=dict(handler.headers.items()))
    answer = there.getresponse()
    data = answer.read()
    there.close()
    return answer, data
