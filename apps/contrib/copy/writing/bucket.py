"""A copy in a bucket of an S3 server, with the types and lifetimes that caches in front of it need."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from django.conf import settings

from apps.blobs import store
from apps.blobs.backends import Missing
from apps.blobs.backends.s3 import S3Backend
from apps.contrib.copy.tree import layout
from apps.contrib.copy.tree.documents import Content, Stored
from apps.contrib.copy.tree.layout import Rank
from apps.contrib.copy.writing.targets import File
from apps.lib.settings_values.storage_urls import S3Address

REQUESTS_AT_ONCE = 16
LIST_SECONDS, FILE_SECONDS = 10, 24 * 3600


class Bucket(S3Backend):
    """Every file is one request, or one upload in parts that shows when it is complete.

    Nothing here lists the bucket except `paths`: a list may be older than what was written.
    """

    at_once = 1_000  # requests until the lease is renewed

    def __init__(self, url: str) -> None:
        self._copied = S3Address.parse(url)
        super().__init__(self._copied)

    @contextmanager
    def held(self) -> Iterator[None]:
        yield  # the row of the copy alone says who writes

    def put(self, files: Sequence[File], *, is_last: bool = True) -> None:  # noqa: ARG002  # each is durable at once
        self._all(lambda file: self._put_file(*file), files)

    def remove(self, paths: Sequence[str], *, is_last: bool = True) -> None:  # noqa: ARG002  # likewise
        self._all(self._delete_file, paths)

    def stored(self, path: str) -> Stored | None:
        found, size = hashlib.sha256(), 0
        try:
            with self._answers():
                body = self._client.get_object(**self._object(self._key(path)))["Body"]
                for step in body.iter_chunks(1024 * 1024):
                    found.update(step)
                    size += len(step)
        except Missing:
            return None
        return Stored(found.hexdigest(), size)

    def paths(self) -> Iterator[str]:
        for side in ("public", "private"):
            with self._answers():
                for name, _ in self._listed(f"{self._prefix}{side}/"):
                    yield name.removeprefix(self._prefix)

    def _name(self, key: str) -> str:
        return self._key(key)  # that of discovery begins with a dot

    def _put_file(self, path: str, content: Content) -> None:
        target, more = self._object(self._key(path)), self._encryption | headers_of(path)
        if isinstance(content, bytes):
            with self._answers():
                self._client.put_object(**target, **more, Body=content)
            return
        if source := self._same_bucket(content.digest):
            with self._answers():
                self._client.copy_object(**target, **more, CopySource=source, MetadataDirective="REPLACE")
            return
        with store.open_blob(content.digest) as file:
            self._upload(target["Key"], file, more)

    def _same_bucket(self, digest: str) -> dict[str, str]:
        """Return where the blob is, if the server can copy it by itself."""
        if not settings.STORAGE_URL.startswith("s3:"):
            return {}
        held = S3Address.parse(settings.STORAGE_URL)
        if (held.bucket, held.endpoint, held.region) != (
            self._copied.bucket,
            self._copied.endpoint,
            self._copied.region,
        ):
            return {}
        prefix = f"{held.prefix}/" if held.prefix else ""
        return {"Bucket": held.bucket, "Key": f"{prefix}sha256/{digest[:2]}/{digest}"}

    def _delete_file(self, path: str) -> None:
        with suppress(Missing), self._answers():
            self._client.delete_object(**self._object(self._key(path)))

    def _key(self, path: str) -> str:
        return f"{self._prefix}{path}"

    def _all(self, act: Callable[[Any], None], given: Sequence[Any]) -> None:
        with ThreadPoolExecutor(min(REQUESTS_AT_ONCE, max(1, len(given)))) as pool:
            for _ in pool.map(act, given):
                pass


def headers_of(path: str) -> dict[str, str]:
    """The headers that a bucket gives with a file: clients insist on the type of discovery and of the mirror."""
    side, _, place = path.partition("/")
    rank = layout.rank_of(place)
    if not place.startswith("packages/"):
        seconds, kind = LIST_SECONDS, "application/json"
    else:
        # A version that is signed again has another signature under the same name.
        seconds = LIST_SECONDS if rank == Rank.SIGNATURE else FILE_SECONDS
        kind = "text/plain; charset=utf-8" if rank == Rank.SUMS else "application/octet-stream"
        kind = "application/zip" if place.endswith(".zip") else kind
    shared = "public" if side == "public" else "private"
    return {"ContentType": kind, "CacheControl": f"{shared}, max-age={seconds}"}
