"""Documents as clients push them, and a client that pushes them to one repository."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from django.test import Client

IMAGE = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
EMPTY = "application/vnd.oci.empty.v1+json"
MODULE_PACKAGE = "application/vnd.opentofu.modulepkg"
SBOM = "application/vnd.cyclonedx+json"


def digest_of(data: bytes, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


def descriptor(content: bytes, media_type: str, algorithm: str = "sha256", **more: Any) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest_of(content, algorithm), "size": len(content), **more}


def image(*layers: bytes, config_bytes: bytes = b"{}", layer_type: str = "text/plain", **more: Any) -> bytes:
    """An image manifest. `artifactType`, `subject`, `annotations`: as they are named there."""
    fields = {
        "schemaVersion": 2,
        "mediaType": IMAGE,
        "config": descriptor(config_bytes, EMPTY),
        "layers": [descriptor(layer, layer_type) for layer in layers],
        **more,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def package(archive: bytes, **more: Any) -> bytes:
    return image(archive, layer_type="archive/zip", artifactType=MODULE_PACKAGE, **more)


def index(*manifests: bytes, **more: Any) -> bytes:
    fields = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [descriptor(raw, json.loads(raw)["mediaType"]) for raw in manifests],
        **more,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def attached(subject: bytes, artifact_type: str = SBOM, **more: Any) -> bytes:
    return image(artifactType=artifact_type, subject=descriptor(subject, IMAGE), **more)


class Repo:
    """One client at one repository; it remembers nothing."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    def blob(self, data: bytes, algorithm: str = "sha256") -> None:
        url = f"/v2/{self.name}/blobs/uploads/?digest={digest_of(data, algorithm)}"
        answer = self.client.post(url, data, content_type="application/octet-stream")
        assert answer.status_code == 201, answer.content

    def url(self, reference: str) -> str:
        return f"/v2/{self.name}/manifests/{reference}"

    def put(self, raw: bytes, reference: str = "", media_type: str | None = None, query: str = "") -> Any:
        """By its digest where no reference is given. `media_type` empty: no Content-Type at all."""
        if media_type is None:
            media_type = json.loads(raw)["mediaType"]
        url = self.url(reference or digest_of(raw)) + query
        return self.client.generic("PUT", url, raw, content_type=media_type)

    def push(self, raw: bytes, reference: str = "", *blobs: bytes) -> str:
        """The blobs (`{}` is always among them), then the manifest; its digest."""
        for data in (b"{}", *blobs):
            self.blob(data)
        answer = self.put(raw, reference)
        assert answer.status_code == 201, answer.content
        return digest_of(raw)

    def get(self, reference: str) -> Any:
        return self.client.get(self.url(reference))

    def head(self, reference: str) -> Any:
        return self.client.head(self.url(reference))

    def delete(self, reference: str) -> Any:
        return self.client.delete(self.url(reference))

    def tags(self, query: str = "") -> Any:
        return self.client.get(f"/v2/{self.name}/tags/list{query}")

    def referrers(self, digest: str, query: str = "") -> Any:
        return self.client.get(f"/v2/{self.name}/referrers/{digest}{query}")


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["errors"][0]["code"]


def pages(client: Client, url: str) -> Iterator[Any]:
    """Each page of a list, by its Links."""
    while url:
        answer = client.get(url)
        assert answer.status_code == 200, answer.content
        yield answer
        link = answer.headers.get("Link", "")
        assert not link or link.endswith('>; rel="next"')
        url = link.partition("<")[2].partition(">")[0]
