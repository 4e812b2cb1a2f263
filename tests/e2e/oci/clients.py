"""OpenTofu's OCI client, as it was recorded (opentofu-client.md, section 9.4), for machines that have no tofu.

Every rule at which the real one gives up is an assert here: it retries nothing.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.live import Live

AGENT = "OpenTofu/1.12.6 (+https://www.opentofu.org)"
IMAGE = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
_DOCKER = "application/vnd.docker.distribution.manifest"
ANY_MANIFEST = (
    f"{_DOCKER}.v2+json, {_DOCKER}.list.v2+json, {IMAGE}, {INDEX}, application/vnd.oci.artifact.manifest.v1+json"
)
EMPTY = b"{}"


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class NotHere(Exception):
    """Answers that the real client reads as "this installation method does not have it"."""


@dataclass
class Tofu:
    """One `init`: it pings once for each repository, and keeps its tokens as long as it stays there."""

    larder: Live
    password: str = ""
    asked: list[str] = field(default_factory=list)

    def module(self, name: str, tag: str = "", digest: str = "") -> bytes:
        """The zip of `oci://<host>/<name>`, with `?tag=` or `?digest=` or neither."""
        with self._session(name) as session:
            raw = session.resolve(digest or tag or "latest", IMAGE)
            return session.layer(raw, "application/vnd.opentofu.modulepkg")

    def provider(self, name: str, platform: str = "linux_amd64", version: str = "") -> bytes:
        """The zip of a platform, of the newest version where none is named."""
        with self._session(name) as session:
            tags = [tag for tag in session.tags() if re.match(r"\d+(\.\d+){0,2}([-_].*)?$", tag)]
            assert tags, "no versions"
            wanted = version or max(tags, key=lambda tag: [int(part) for part in tag.split("-")[0].split(".")])
            raw = session.resolve(wanted, INDEX)
            index = json.loads(raw)
            assert (index["mediaType"], index["artifactType"]) == (INDEX, "application/vnd.opentofu.provider")
            os, architecture = platform.split("_")
            (entry,) = [
                one
                for one in index["manifests"]
                if one["artifactType"] == "application/vnd.opentofu.provider-target"
                and one["platform"] == {"os": os, "architecture": architecture}
            ]
            assert entry["mediaType"] == IMAGE
            return session.layer(session.manifest(entry["digest"], IMAGE), "application/vnd.opentofu.provider-target")

    @contextmanager
    def _session(self, name: str) -> Iterator["Session"]:
        with self.larder.client() as client:
            client.headers["User-Agent"] = AGENT
            session = Session(self, name, client)
            session.ping()
            yield session


@dataclass
class Session:
    """One repository."""

    tofu: Tofu
    name: str
    client: httpx.Client
    token: str = ""

    def ping(self) -> None:
        assert self._ask("GET", "/v2/").status_code == 200, "failed to contact OCI registry"

    def tags(self) -> list[str]:
        answer = self._ask("GET", f"/v2/{self.name}/tags/list")
        if answer.status_code == 404:
            assert answer.json()["errors"][0]["code"] in ("NAME_UNKNOWN", "NAME_INVALID"), "a hard error"
            raise NotHere(self.name)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["tags"] or [])

    def resolve(self, reference: str, media_type: str) -> bytes:
        """HEAD, which must tell type, length and, for a tag, the digest; then GET by the digest."""
        head = self._ask("HEAD", f"/v2/{self.name}/manifests/{reference}", Accept=ANY_MANIFEST)
        assert head.status_code == 200, f"{reference}: {head.status_code}"
        assert head.headers["Content-Type"].split(";")[0] == media_type
        digest = reference if ":" in reference else head.headers["Docker-Content-Digest"]
        raw = self.manifest(digest, media_type)
        assert head.headers["Content-Length"] == str(len(raw))
        return raw

    def manifest(self, digest: str, media_type: str) -> bytes:
        got = self._ask("GET", f"/v2/{self.name}/manifests/{digest}", Accept=media_type)
        assert got.status_code == 200, got.text
        assert got.headers["Content-Type"].split(";")[0] == media_type
        assert got.headers.get("Docker-Content-Digest", digest) == digest == digest_of(got.content)
        return got.content

    def layer(self, raw: bytes, artifact_type: str) -> bytes:
        manifest = json.loads(raw)
        assert (manifest["mediaType"], manifest["artifactType"]) == (IMAGE, artifact_type)
        (layer,) = [one for one in manifest["layers"] if one["mediaType"] == "archive/zip"]
        got = self._ask("GET", f"/v2/{self.name}/blobs/{layer['digest']}")
        assert got.status_code == 200, got.text
        assert (digest_of(got.content), len(got.content)) == (layer["digest"], layer["size"])
        return got.content

    def _ask(self, method: str, path: str, **headers: str) -> httpx.Response:
        """With the token that there is; on a 401 with a new one, once."""
        answer = self._send(method, path, headers)
        if answer.status_code == 401 and answer.headers["WWW-Authenticate"].startswith("Bearer "):
            self._fetch_token(answer.headers["WWW-Authenticate"], path)
            answer = self._send(method, path, headers)
        return answer

    def _send(self, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
        authorization = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        encoding = {"Accept-Encoding": "identity" if method == "HEAD" else "gzip"}
        answer = self.client.request(method, path, headers={**encoding, **authorization, **headers})
        self.tofu.asked.append(f"{method} {path} {answer.status_code}")
        return answer

    def _fetch_token(self, challenge: str, path: str) -> None:
        parameters = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        assert parameters["realm"].startswith("https://"), "the realm must be https and absolute"
        query = {"service": parameters["service"]}
        if path != "/v2/":
            query["scope"] = f"repository:{self.name}:pull"
            assert parameters["scope"] == query["scope"], "every later request would cost a 401 first"
        basic = base64.b64encode(f"anything:{self.tofu.password}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}"} if self.tofu.password else {}
        answer = self.client.get(parameters["realm"], params=query, headers=headers)
        self.tofu.asked.append(f"GET token {answer.status_code}")
        assert answer.status_code == 200, answer.text
        self.token = answer.json()["token"]


@dataclass
class Pusher:
    """The requests of `oras push`, with a token in place of a Basic password."""

    larder: Live
    token: str

    def blob(self, name: str, data: bytes) -> None:
        with self.larder.client(self.token) as client:
            begun = client.post(f"/v2/{name}/blobs/uploads/")
            assert begun.status_code == 202, begun.text
            location = httpx.URL(begun.headers["Location"])
            answer = client.put(location.copy_merge_params({"digest": digest_of(data)}), content=data)
            assert answer.status_code == 201, answer.text

    def push(self, name: str, tag: str, archive: bytes, **more: Any) -> httpx.Response:
        """The blobs, then the manifest; the answer to that."""
        for data in (EMPTY, archive):
            self.blob(name, data)
        with self.larder.client(self.token) as client:
            client.timeout = httpx.Timeout(60)
            headers = {"Content-Type": IMAGE}
            return client.put(f"/v2/{name}/manifests/{tag}", content=package(archive, **more), headers=headers)


def package(archive: bytes, **more: Any) -> bytes:
    fields = {
        "schemaVersion": 2,
        "mediaType": IMAGE,
        "artifactType": "application/vnd.opentofu.modulepkg",
        "config": {
            "mediaType": "application/vnd.oci.empty.v1+json",
            "digest": digest_of(EMPTY),
            "size": 2,
            "data": "e30=",
        },
        "layers": [{"mediaType": "archive/zip", "digest": digest_of(archive), "size": len(archive)}],
        **more,
    }
    return json.dumps(fields).encode()
