"""Google Cloud Storage through the client of django-storages.

django-storages makes the connection; bytes go through its client, for the reasons that `s3.py` names.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from io import RawIOBase
from typing import IO, Any

from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import (
    GoogleAPICallError,
    GoogleAPIError,
    NotFound,
    PreconditionFailed,
    RequestRangeNotSatisfiable,
    RetryError,
)
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import GoogleAuthError
from google.cloud.storage import Client
from google.cloud.storage.retry import DEFAULT_RETRY
from requests.exceptions import RequestException
from storages.backends.gcloud import GoogleCloudStorage

from apps.blobs.backends import Missing, StorageUnavailable
from apps.blobs.backends.objects import PART, Conflict, ObjectBackend, Refused, in_ranges
from apps.lib.process import metrics
from apps.lib.process.outside import CONNECT_SECONDS, READ_SECONDS, REPEAT_SECONDS
from apps.lib.settings_values.storage_urls import GoogleAddress

# For each request: how long it may take, and for how long it is repeated.
_PATIENCE: dict[str, Any] = {
    "timeout": (CONNECT_SECONDS, READ_SECONDS),
    "retry": DEFAULT_RETRY.with_timeout(REPEAT_SECONDS),
}


def open_backend(storage_url: str) -> "GoogleBackend":
    return GoogleBackend(GoogleAddress.parse(storage_url))


class GoogleBackend(ObjectBackend):
    condition = "ifGenerationMatch"
    unanswered = (RetryError, GoogleAuthError, RequestException)
    largest_put = PART  # the client sends larger ones in parts

    def __init__(self, address: GoogleAddress) -> None:
        super().__init__(address.prefix, bucket=address.bucket)
        storage = GoogleCloudStorage(bucket_name=address.bucket)
        if address.endpoint:
            # A test server. Credentials do not go there.
            options = ClientOptions(api_endpoint=address.endpoint)
            storage._client = Client(  # noqa: SLF001
                project="larder", credentials=AnonymousCredentials(), client_options=options
            )
        self._bucket: Any = storage.bucket

    def _put(self, name: str, file: IO[bytes], *, only_new: bool, sha256: str = "") -> None:  # noqa: ARG002  # it knows crc32c
        length = file.seek(0, 2)
        file.seek(0)
        with self._answers():
            self._bucket.blob(name).upload_from_file(file, size=length, **_condition(only_new), **_PATIENCE)

    def _put_parts(self, name: str, parts: Iterable[bytes], *, only_new: bool) -> None:
        """An upload that is not ended stays invisible, and Google removes it after a week."""
        with self._answers():
            self._bucket.blob(name, chunk_size=PART).upload_from_file(
                _Stream(iter(parts)), **_condition(only_new), **_PATIENCE
            )

    def read(self, key: str, start: int, stop: int | None) -> Iterator[bytes]:
        if stop is not None and stop <= start:
            return iter(())
        blob = self._bucket.blob(self._name(key))

        def fetch(first: int, last: int) -> bytes:
            try:
                data = blob.download_as_bytes(start=first, end=last, raw_download=True, checksum=None, **_PATIENCE)
            except RequestRangeNotSatisfiable:
                return b""
            return bytes(data)

        return in_ranges(fetch, start, stop, errors=self._answers)

    def size(self, key: str) -> int | None:
        with self._answers():
            blob = self._bucket.get_blob(self._name(key), **_PATIENCE)
        return None if blob is None else int(blob.size)

    def delete(self, key: str) -> None:
        with suppress(Missing), self._answers():
            self._bucket.blob(self._name(key)).delete(**_PATIENCE)

    def link(self, key: str, *, seconds: int, headers: Mapping[str, str]) -> None:
        """No test server compares signatures, so Larder sends the bytes."""

    def _listed(self, start: str) -> Iterator[tuple[str, datetime]]:
        for blob in self._bucket.list_blobs(prefix=start, **_PATIENCE):
            yield blob.name, blob.updated

    def _errors(self) -> AbstractContextManager[None]:
        return _errors()


def _condition(only_new: bool) -> dict[str, int]:  # noqa: FBT001
    return {"if_generation_match": 0} if only_new else {}


class _Stream(RawIOBase):
    """The parts as a file without an end that is known before."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        super().__init__()
        self._parts = parts
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next part: PART bytes, as many as the client asks for."""
        part = next(self._parts, b"")
        if len(part) > size >= 0:
            raise ValueError(f"a part has {len(part)} bytes, but the client wants {size}")
        self._at += len(part)
        return part

    def tell(self) -> int:
        return self._at


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except PreconditionFailed as error:
        raise Conflict(412, is_there=True) from error
    except GoogleAPICallError as error:
        if isinstance(error, NotFound) and "bucket does not exist" not in str(error.message):
            raise Missing("There is no such object in storage.") from error
        metrics.storage_errors.labels("refused").inc()
        raise Refused(str(int(error.code or 0))) from error
    except (GoogleAPIError, GoogleAuthError, RequestException) as error:
        metrics.storage_errors.labels("no_answer").inc()
        raise StorageUnavailable(f"Storage is unreachable ({type(error).__name__}).") from error
