"""Requests of the tests to the S3 server that bypass the backend."""

import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from apps.blobs.s3 import S3Backend, _answers


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(120):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.25)
    raise TimeoutError("moto does not answer")


def make_empty_bucket(backend: S3Backend) -> None:
    with _answers():
        backend._client.create_bucket(Bucket=backend._bucket)
    for folder in ("staging", "sha256", "ledger"):
        backend.drop_older(folder, datetime.max.replace(tzinfo=UTC))


def listed(backend: S3Backend) -> list[str]:
    """Keys without the prefix; an upload that was begun and not ended counts as `(unfinished) key`."""
    where: dict[str, Any] = {"Bucket": backend._bucket}
    found = [item["Key"] for item in backend._client.list_objects_v2(**where).get("Contents", ())]
    parts = [
        f"(unfinished) {item['Key']}" for item in backend._client.list_multipart_uploads(**where).get("Uploads", ())
    ]
    return sorted(key.removeprefix("some/prefix/") for key in [*found, *parts])
