"""A server that answers as Vault's transit engine, and that fails, hangs and rotates when a test says so."""

import base64
import json
import secrets
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TOKEN, ROLE, JWT = "hvs.test-token-of-the-worker", "larder-signing", "jwt-of-the-pod"


class Said(Exception):
    def __init__(self, status: int, *errors: str) -> None:
        self.status, self.errors = status, errors


@dataclass
class FakeVault:
    """`status`: answer this to everything. `hangs`: none, `silent` or `drips`. Tokens are those it accepts."""

    port: int = 0
    status: int = 0
    hangs: str = ""
    tokens: set[str] = field(default_factory=lambda: {TOKEN})
    keys: dict[str, list[bytes]] = field(default_factory=dict)  # the versions, by mount/keys/name
    least_version: int = 1
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # path and headers
    over: threading.Event = field(default_factory=threading.Event)

    def url(self, token_file: Path, name: str = "larder", **more: str) -> str:
        self.keys.setdefault(f"transit/keys/{name}", [secrets.token_bytes(32)])
        query = "&".join(f"{option}={value}" for option, value in {"token_file": str(token_file), **more}.items())
        return f"vault+http://127.0.0.1:{self.port}/transit/keys/{name}?{query}"

    def rotate(self, name: str = "larder") -> None:
        self.keys[f"transit/keys/{name}"].append(secrets.token_bytes(32))

    def answer(self, path: str, token: str, body: dict[str, str]) -> dict[str, Any]:
        if path == "/v1/auth/kubernetes/login":
            if body != {"role": ROLE, "jwt": JWT}:
                raise Said(403, "permission denied")
            fresh = f"hvs.{secrets.token_hex(8)}"
            self.tokens.add(fresh)
            return {"auth": {"client_token": fresh}}
        if token not in self.tokens:
            raise Said(403, "permission denied")
        mount, verb, name = path.removeprefix("/v1/").rsplit("/", 2)
        versions = self.keys.get(f"{mount}/keys/{name}")
        if versions is None:
            raise Said(400, "encryption key not found")
        bound = base64.b64decode(body.get("associated_data", ""))
        if verb == "encrypt":
            nonce = secrets.token_bytes(12)
            made = nonce + AESGCM(versions[-1]).encrypt(nonce, base64.b64decode(body["plaintext"]), bound)
            return {"data": {"ciphertext": f"vault:v{len(versions)}:{base64.b64encode(made).decode()}"}}
        return {"data": {"plaintext": base64.b64encode(self._opened(versions, body["ciphertext"], bound)).decode()}}

    def _opened(self, versions: list[bytes], ciphertext: str, bound: bytes) -> bytes:
        if not ciphertext.startswith("vault:v"):
            raise Said(400, "invalid ciphertext: no prefix")
        number, _, text = ciphertext.removeprefix("vault:v").partition(":")
        if int(number) > len(versions):
            raise Said(400, "invalid ciphertext: version is too new")
        if int(number) < self.least_version:
            raise Said(400, "ciphertext or signature version is disallowed by policy (too old)")
        try:
            whole = base64.b64decode(text, validate=True)
            return AESGCM(versions[int(number) - 1]).decrypt(whole[:12], whole[12:], bound)
        except InvalidTag:
            raise Said(400, "cipher: message authentication failed") from None
        except ValueError:
            raise Said(400, "invalid ciphertext: could not decode base64") from None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    vault: FakeVault

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.vault.asked.append((self.path, dict(self.headers)))
        if self.vault.hangs:
            return self._hang()
        try:
            if self.vault.status:
                raise Said(self.vault.status, "permission denied" if self.vault.status == 403 else "Vault is sealed")
            self._say(200, self.vault.answer(self.path, self.headers.get("X-Vault-Token", ""), body))
        except Said as said:
            self._say(said.status, {"errors": list(said.errors)})

    def _hang(self) -> None:
        self.close_connection = True
        if self.vault.hangs == "silent":
            self.vault.over.wait(60)
            return
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n")
            while not self.vault.over.is_set():
                self.wfile.write(b" ")
                time.sleep(0.2)
        except OSError:
            return

    def _say(self, status: int, document: dict[str, Any]) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None: ...


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None: ...  # a client that hung up


@contextmanager
def vault_server(*, port: int = 0, certificate: Path | None = None, key: Path | None = None) -> Iterator[FakeVault]:
    vault = FakeVault()
    server = Server(("127.0.0.1", port), type("Of", (Handler,), {"vault": vault}))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    vault.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield vault
    finally:
        vault.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
