"""A proxy before the S3 server that fails as storage does."""

import http.client
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANG_SECONDS = 30
FAULTS = ("500", "503", "hang", "cut", "lost", "truncated")


class Proxy:
    """`fault` is "" or one of FAULTS.

    A status; `hang`: no answer; `cut` while it reads; `lost`: stored, without an answer; `truncated`: half of a body.
    """

    def __init__(self, upstream: int) -> None:
        self.fault = ""
        self.injected = 0
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

    def pass_on(self, handler: BaseHTTPRequestHandler, upstream: int) -> None:
        fault = self.fault
        self.injected += bool(fault)
        length = int(handler.headers.get("Content-Length") or 0)
        if fault == "cut":
            handler.rfile.read(length // 2)
            handler.connection.close()
            return
        body = handler.rfile.read(length)
        if fault == "hang":
            deadline = time.monotonic() + HANG_SECONDS
            while self.fault == fault and time.monotonic() < deadline:
                time.sleep(0.05)
        if fault in ("500", "503"):
            handler.send_response(int(fault))
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        there = http.client.HTTPConnection("127.0.0.1", upstream, timeout=60)
        there.request(handler.command, handler.path, body=body, headers=dict(handler.headers.items()))
        answer = there.getresponse()
        data = answer.read()
        there.close()
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
