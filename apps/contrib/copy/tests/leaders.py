"""A leader made by hand: a signed tree in memory behind a real server, whose network can be slow, or break."""

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from apps.contrib.copy.tree import layout
from apps.contrib.copy.tree.documents import as_bytes
from apps.contrib.copy.tree.layout import Address
from apps.lib.formats import dsse

TOKEN = "Bearer staff"


@dataclass
class Key:
    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    def bytes(self, encoding: Encoding) -> bytes:
        return self.private.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)

    @property
    def id(self) -> str:
        return hashlib.sha256(self.bytes(Encoding.DER)).hexdigest()


@dataclass
class Leader:
    url: str = ""
    key: Key = field(default_factory=Key)
    addresses: dict[str, tuple[bool, dict[str, bytes]]] = field(default_factory=dict)
    sequence: int = 0
    served: dict[str, bytes] = field(default_factory=dict)
    readers: dict[str, str] = field(default_factory=dict)  # the Authorization of who may read a namespace
    delay: float = 0.0  # seconds before each answer
    breaks_after: int | None = None  # bytes of a body, once
    is_away: bool = False
    asked: list[tuple[str, str]] = field(default_factory=list)  # path and Range

    def module(self, name: str, *versions: str, archive: bytes = b"archive of ", is_public: bool = True) -> None:
        """Have a module with these versions; none removes it."""
        place = Address(layout.Kind.MODULE, name)
        files = {}
        for version in versions:
            files[place.archive(version)] = data = archive + version.encode()
            location = f"/{place.archive(version)}?checksum=sha256:{hashlib.sha256(data).hexdigest()}"
            files[place.module_download(version)] = json.dumps({"location": location}).encode()
        listed = [{"version": version} for version in versions]
        files[place.versions] = as_bytes({"modules": [{"source": name, "versions": listed}]})
        self.addresses[str(place)] = (is_public, files)
        if not versions:
            del self.addresses[str(place)]

    def publish(self, *, registry: str = "", sequence: int | None = None, key: Key | None = None) -> None:
        """Write the whole tree, as the writer does: the manifest last."""
        self.sequence = self.sequence + 1 if sequence is None else sequence
        served: dict[str, bytes] = {}
        shards: dict[str, dict[str, str]] = {}
        for text, (is_public, files) in self.addresses.items():
            address = Address.parse(text)
            for place, data in files.items():
                served[layout.path_of(place, is_public=is_public)] = data
            sums = {place: [hashlib.sha256(data).hexdigest(), len(data)] for place, data in files.items()}
            document = {"address": text, "visibility": layout.side(is_public=is_public), "files": sums}
            served[address.list_path] = json.dumps(document).encode()
            shards.setdefault(address.shard, {})[text] = hashlib.sha256(served[address.list_path]).hexdigest()
        digests = {}
        for shard, lists in shards.items():
            data = served[layout.shard_path(shard)] = json.dumps(lists).encode()
            digests[shard] = hashlib.sha256(data).hexdigest()
        root = {"registry": registry or self.url, "sequence": self.sequence, "generation": self.sequence}
        payload = json.dumps(root | {"written_at": "2026-12-01T05:00:00Z", "shards": digests}).encode()
        signer, kind = key or self.key, layout.PAYLOAD_TYPE
        signature = dsse.Signature(signer.id, signer.private.sign(dsse.pae(kind, payload)))
        served[layout.MANIFEST] = dsse.Envelope(kind, payload, (signature,)).as_bytes()
        self.served = served

    def count(self, path: str) -> int:
        return sum(asked.endswith(path) for asked, _ in self.asked)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    leader: Leader

    def handle(self) -> None:
        with suppress(ConnectionError):  # who asked did not wait
            super().handle()

    def do_GET(self) -> None:
        leader, parts = self.leader, urlsplit(self.path)
        path = unquote(parts.path)
        leader.asked.append((path, self.headers.get("Range", "")))
        time.sleep(leader.delay)
        if leader.is_away:
            self.answer(503, b"")
        elif path.startswith("/api/v1/statement-keys/"):
            self.answer(200, leader.key.bytes(Encoding.PEM))
        elif path == "/static-copy/authorise":
            scope = parse_qs(parts.query)["scope"][0]
            is_reader = self.headers["Authorization"] == leader.readers.get(scope)
            headers = {"Cache-Control": "max-age=60, stale-if-error=3600" if is_reader else "max-age=1"}
            self.answer(200 if is_reader else 401, b"", headers)
        else:
            data = leader.served.get(path.removeprefix("/static-copy/tree/"))
            is_staff = self.headers["Authorization"] == TOKEN
            self.answer(200 if is_staff and data is not None else 404 if is_staff else 401, data or b"")

    def answer(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        asked = self.headers.get("Range", "")
        if status == 200 and asked:
            start = int(asked.removeprefix("bytes=").partition("-")[0])
            headers, status = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}, 206
            data = data[start:]
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        cut = self.leader.breaks_after
        if cut is not None and len(data) > cut:
            self.leader.breaks_after = None
            self.wfile.write(data[:cut])
            self.wfile.flush()
            self.connection.close()
            self.close_connection = True
        else:
            self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def running() -> Iterator[Leader]:
    leader = Leader()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OfLeader", (Handler,), {"leader": leader}))
    leader.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield leader
    finally:
        server.shutdown()
        server.server_close()
