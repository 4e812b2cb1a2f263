"""The steps of a blob push, through Django's client."""

from dataclasses import dataclass
from typing import Any

from django.test import Client

from tests.oci.manifests.documents import digest_of

NAME = "acme/vpc/aws"
sha256 = digest_of


def sha512(data: bytes) -> str:
    return digest_of(data, "sha512")


@dataclass
class Uploader:
    """A client in one repository."""

    client: Client
    name: str = NAME

    def begin(self, query: str = "") -> str:
        response = self.client.post(f"/v2/{self.name}/blobs/uploads/{query}")
        assert response.status_code == 202, response.content
        return response.headers["Location"]

    def patch(self, url: str, data: bytes, **headers: str) -> Any:
        return self.client.generic("PATCH", url, data, "application/octet-stream", headers=_dashed(headers))

    def put(self, url: str, data: bytes, digest: str, **headers: str) -> Any:
        asked = f"{url}?digest={digest}"
        return self.client.generic("PUT", asked, data, "application/octet-stream", headers=_dashed(headers))

    def post(self, data: bytes, digest: str) -> Any:
        url = f"/v2/{self.name}/blobs/uploads/?digest={digest}"
        return self.client.generic("POST", url, data, "application/octet-stream")

    def mount(self, digest: str, source: str = "", more: str = "") -> Any:
        asked = f"?mount={digest}" + (f"&from={source}" if source else "") + more
        return self.client.post(f"/v2/{self.name}/blobs/uploads/{asked}")

    def push(self, data: bytes, digest: str = "") -> str:
        """Push like oras; answers the digest."""
        digest = digest or sha256(data)
        response = self.put(self.begin(), data, digest)
        assert response.status_code == 201, response.content
        return digest

    def get(self, digest: str, **headers: str) -> Any:
        response: Any = self.client.get(f"/v2/{self.name}/blobs/{digest}", headers=_dashed(headers))
        if response.streaming:  # read to its end, where the store closes the file
            response.streaming_content = [response.getvalue()]
        return response

    def head(self, digest: str) -> Any:
        return self.client.head(f"/v2/{self.name}/blobs/{digest}")

    def delete(self, digest: str) -> Any:
        return self.client.delete(f"/v2/{self.name}/blobs/{digest}")


def headers_of(response: Any) -> dict[str, str]:
    """Without the number that every request has of its own."""
    return {name: value for name, value in response.headers.items() if name != "X-Request-Id"}


def _dashed(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
