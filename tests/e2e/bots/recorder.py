"""Requests of a program to a Larder: recorded by a server between the two, and sent again without the program.

A recording is a list of requests. Links and tokens that an answer issued differ in each run, so each is named for the
answer and the field that it came from: `</v1/providers/acme/dns/1.2.0/download/linux/amd64#shasums_url>`.
"""

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.live import Live

FOLDER = Path(__file__).parent
# What an answer may depend on. Programs send many more.
HEADERS = ("accept", "accept-encoding", "authorization", "content-type", "user-agent")
OF_THE_CONNECTION = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


class Issued:
    """The names of all that was issued so far: the program's token, and what answers had. These are not compressed."""

    def __init__(self, token: str) -> None:
        self._names = {token: "<token>"}

    def learn(self, path: str, body: bytes) -> None:
        try:
            document = json.loads(body)
        except ValueError:
            return
        for name, value in document.items() if isinstance(document, dict) else ():
            if name == "token" or (isinstance(value, str) and "/archives/" in value):
                self._names[urlsplit(value).path] = f"<{path}#{name}>"

    def named(self, text: str) -> str:
        for value, name in self._names.items():
            text = text.replace(value, name)
        return text

    def said(self, text: str) -> str:
        for value, name in self._names.items():
            text = text.replace(name, value)
        return text


@dataclass
class Recorder:
    larder: Live
    issued: Issued
    requests: list[dict[str, Any]] = field(default_factory=list)

    def pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        """Send the same to Larder, byte for byte, and its answer back."""
        sent = {name: value for name, value in handler.headers.items() if name.lower() not in OF_THE_CONNECTION}
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        with self.larder.client() as client:
            client.headers.clear()
            with client.stream(handler.command, handler.path, headers=sent, content=body or None) as answer:
                raw = b"".join(answer.iter_raw())
        self.issued.learn(handler.path, raw)
        self._record(handler.command, handler.path, sent, answer.status_code)
        handler.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name.lower() not in OF_THE_CONNECTION:
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)

    def _record(self, method: str, path: str, sent: Mapping[str, str], status: int) -> None:
        given = {name.lower(): self.issued.named(value) for name, value in sent.items()}
        headers = {name: given[name] for name in HEADERS if name in given}
        one = {"method": method, "path": self.issued.named(path), "headers": headers, "status": status}
        if one not in self.requests:
            self.requests.append(one)


@contextmanager
def recorder(larder: Live, token: str) -> Iterator[tuple[Recorder, int]]:
    """The recorder, and the port at which it is that Larder, with its certificate."""
    found = Recorder(larder, Issued(token))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found.pass_on(self)

        do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815  # as the base class calls them

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(larder.data_dir / "tls" / "server.pem", larder.data_dir / "tls" / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found, server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def recording(name: str) -> list[dict[str, Any]]:
    requests: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text())
    return requests


def replay(larder: Live, token: str, requests: list[dict[str, Any]]) -> dict[str, httpx.Response]:
    """Ask the same again, to the public name. The last answer to each path; each has the status of the recording."""
    issued, answers = Issued(token), {}
    host = urlsplit(larder.environment["LARDER_PUBLIC_URL"]).netloc
    with larder.client() as client:
        client.headers.clear()
        for one in requests:
            headers = {"Host": host} | {name: issued.said(value) for name, value in one["headers"].items()}
            answer = client.request(one["method"], issued.said(one["path"]), headers=headers)
            assert answer.status_code == one["status"], (one, answer.text)
            issued.learn(one["path"], answer.content)
            answers[one["path"]] = answer
    return answers
