"""GitHub's API for an app, on loopback over http: the route of Enterprise Server, below /api/v3."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


def new_key(bits: int = 2048) -> tuple[str, Any]:
    """The private key in PEM, as GitHub makes it, and the public one."""
    key = rsa.generate_private_key(65537, bits)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return pem.decode(), key.public_key()


@dataclass
class GitHub:
    """`answer`: a status and a message, in place of a token. `lasts`: how long tokens do."""

    public_key: Any
    port: int = 0
    installation: str = "42"
    repositories: tuple[str, ...] = ("vpc",)
    lasts: timedelta = timedelta(hours=1)
    answer: tuple[int, str] | None = None
    raw: bytes | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/acme/vpc.git"

    def answered(self, path: str, bearer: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        try:
            claims = jwt.decode(bearer, self.public_key, algorithms=["RS256"], options={"require": ["iat", "exp"]})
        except jwt.PyJWTError:
            return 401, {"message": "A JSON web token could not be decoded"}
        self.asked.append({"path": path, "claims": claims, **body})
        if self.answer is not None:
            return self.answer[0], {"message": self.answer[1]}
        if path != f"/api/v3/app/installations/{self.installation}/access_tokens":
            return 404, {"message": "Not Found"}
        if not set(body["repositories"]) <= set(self.repositories):
            return 422, {"message": "There is at least one repository that does not exist or is not accessible"}
        ends = (datetime.now(UTC) + self.lasts).strftime("%Y-%m-%dT%H:%M:%SZ")
        # The tokens of 2026 have a JSON web token in them, and hundreds of characters.
        token = f"ghs_{claims['iss']}_{'x' * 300}{len(self.asked)}"
        return 201, {"token": token, "expires_at": ends, "permissions": body["permissions"]}


@contextmanager
def github(public_key: Any) -> Iterator[GitHub]:
    site = GitHub(public_key)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words: Any) -> None:
            pass

        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bearer = self.headers["Authorization"].removeprefix("Bearer ")
            status, body = site.answered(self.path, bearer, sent)
            written = json.dumps(body).encode() if site.raw is None else site.raw
            self.send_response(status)
            self.send_header("Content-Length", str(len(written)))
            if status == 302:
                self.send_header("Location", f"{site.url.removesuffix('/acme/vpc.git')}/elsewhere")
            self.end_headers()
            self.wfile.write(written)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_port
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
