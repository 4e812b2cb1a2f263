"""A client of tus 1.0.0 that can break off at any byte."""

import io
from typing import Any

from django.test import Client

MEDIA_TYPE = "application/offset+octet-stream"


class TusClient:
    def __init__(self, client: Client) -> None:
        self.client = client

    def begin(self, url: str, length: int, **headers: str) -> Any:
        return self.client.post(url, headers={"Upload-Length": str(length), **headers})

    def patch(self, url: str, offset: int, body: bytes, environ: dict[str, Any] | None = None, **headers: str) -> Any:
        sent = {"Upload-Offset": str(offset), "Tus-Resumable": "1.0.0", **headers}
        kind = sent.pop("Content-Type", MEDIA_TYPE)
        always = {"CONTENT_TYPE": kind, "CONTENT_LENGTH": "" if environ else str(len(body))}
        return self.client.generic("PATCH", url, body, content_type=kind, headers=sent, **always | (environ or {}))

    def break_off(self, url: str, offset: int, body: bytes) -> Any:
        """Send these bytes of a longer body, and disconnect."""
        return self.patch(url, offset, b"", {"wsgi.input": BreakingOff(body), "wsgi.input_terminated": True})

    def offset(self, url: str) -> int:
        return int(self.client.head(url).headers["Upload-Offset"])


class BreakingOff(io.BytesIO):
    def read(self, _: int | None = -1, /) -> bytes:
        if found := super().read(64):
            return found
        raise ConnectionResetError("the line broke")

    read1 = read
