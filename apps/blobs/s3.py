"""S3-compatible storage through the boto3 client of django-storages, with the usual credentials of boto3.

django-storages makes the connection: session and credentials, endpoint, addressing and transfer settings. Bytes go
through its client and not through `Storage.save` and `open`, which cannot create only, rename on a collision, spool
whole uploads, and make a resource for each thread.

`s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=eu-central-1&addressing=path`
"""

import base64
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from io import BytesIO
from typing import IO, Any, BinaryIO, cast
from urllib.parse import parse_qs, urlsplit

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

from apps.blobs.backends import STEP, Damaged, Missing, Steps, StorageUnavailable, checked, disk_errors

PART = 8 * 1024 * 1024  # bytes of one part of a staged upload; an upload costs the memory of two
RACE_ROUNDS = 5
_ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})


class _Conflict(StorageUnavailable):
    """The object exists (412), or another write is in progress (409)."""

    def __init__(self, status: int) -> None:
        super().__init__(f"Storage refused the request ({status}).")
        self.is_there = status == 412  # noqa: PLR2004


def open_backend(storage_url: str) -> "S3Backend":
    parts = urlsplit(storage_url)
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    endpoint = options.get("endpoint")
    storage = S3Storage(
        bucket_name=parts.netloc,
        endpoint_url=endpoint,
        region_name=options.get("region"),
        file_overwrite=False,
        default_acl=None,
        client_config=Config(
            # botocore's default of a minute per read is longer than any caller waits.
            connect_timeout=2,
            read_timeout=10,
            retries={"mode": "standard", "total_max_attempts": 3},
            # On compatible servers buckets rarely have host names of their own.
            s3={"addressing_style": options.get("addressing", "path" if endpoint else "auto")},
            # Compatible servers know no trailing checksums; `commit` sends the digest itself.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            max_pool_connections=64,
        ),
    )
    prefix = parts.path.strip("/")
    return S3Backend(storage, prefix=f"{checked(prefix)}/" if prefix else "")


class S3Backend:
    def __init__(self, storage: S3Storage, *, prefix: str) -> None:
        # One client for all threads: clients are thread-safe, and each costs a tenth of a second to make.
        self._client: Any = storage.connection.meta.client
        self._bucket: str = storage.bucket_name
        self._prefix = prefix

    def write(self, key: str, chunks: Iterable[bytes]) -> None:
        target = self._object(key)
        upload: dict[str, str] | None = None
        done: list[dict[str, Any]] = []
        try:
            for part in _in_parts(chunks):
                if upload is None and len(part) < PART:
                    with _answers():
                        self._client.put_object(**target, Body=part)
                    return
                upload = upload or self._begin(target)
                done.append(self._send_part(upload, len(done) + 1, part))
            with _answers():
                self._client.complete_multipart_upload(**(upload or {}), MultipartUpload={"Parts": done})
        except BaseException:
            if upload is not None:
                # Parts of an unfinished upload are invisible and cost money; the sweep deletes what stays.
                with suppress(StorageUnavailable, Missing), _answers():
                    self._client.abort_multipart_upload(**upload)
            raise

    def _begin(self, target: dict[str, str]) -> dict[str, str]:
        with _answers():
            return {**target, "UploadId": self._client.create_multipart_upload(**target)["UploadId"]}

    def _send_part(self, upload: dict[str, str], number: int, part: bytes) -> dict[str, Any]:
        # A file, because botocore would copy bytes once more to send them together with the headers.
        with _answers():
            answer = self._client.upload_part(**upload, PartNumber=number, Body=BytesIO(part))
        return {"PartNumber": number, "ETag": answer["ETag"]}

    def open(self, key: str) -> BinaryIO | None:
        """Spool to an unnamed file: readers of archives seek, and the checking child takes a descriptor."""
        try:
            steps = self.read(key, 0, None)
        except Missing:
            return None
        with closing(cast("Any", steps)), disk_errors():
            spool = cast("BinaryIO", tempfile.TemporaryFile(buffering=STEP))  # noqa: SIM115  # the caller closes it
            try:
                for step in steps:
                    spool.write(step)
                spool.seek(0)
            except BaseException:
                spool.close()
                raise
            return spool

    def read(self, key: str, start: int, stop: int | None) -> Iterator[bytes]:
        if stop is not None and stop <= start:
            return iter(())
        wanted = {}
        if start or stop is not None:
            wanted["Range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
        with _answers():
            body = self._client.get_object(**self._object(key), **wanted)["Body"]
        return Steps(body, left=None, errors=_answers)

    def size(self, key: str) -> int | None:
        try:
            with _answers():
                return int(self._client.head_object(**self._object(key))["ContentLength"])
        except Missing:
            return None

    def identity(self, key: str) -> None:
        """No server can send it as a file."""

    def path(self, key: str) -> None: ...

    def put_once(self, key: str, data: bytes) -> bool:
        return self._create(key, data)

    def commit(self, source: str, target: str, digest: str, *, is_hashed: bool = False) -> bool:  # noqa: ARG002  # see below
        """Send the bytes once more, and hash them on the way: on most servers CopyObject cannot create only."""
        spool = self.open(source)
        if spool is None:
            raise Missing("The uploaded bytes are no longer in storage.")
        with spool:
            found = hashlib.sha256()
            while step := spool.read(STEP):
                found.update(step)
            if found.hexdigest() != digest:
                raise Damaged(
                    f"The uploaded bytes have changed: found sha256:{found.hexdigest()}, expected sha256:{digest}."
                )
            return self._create(target, spool, ChecksumSHA256=base64.b64encode(found.digest()).decode())

    @contextmanager
    def receiving(self, key: str, chunks: Iterable[bytes]) -> Iterator[Callable[[str, str], bool]]:
        self.write(key, chunks)
        try:
            yield lambda target, digest: self.commit(key, target, digest)
        finally:
            self.delete(key)

    def delete(self, key: str) -> None:
        with suppress(Missing), _answers():
            self._client.delete_object(**self._object(key))

    def older(self, prefix: str, before: datetime) -> Iterator[str]:
        where = {"Bucket": self._bucket, "Prefix": f"{self._prefix}{checked(prefix)}"}
        with _answers():
            for page in self._client.get_paginator("list_objects_v2").paginate(**where):
                for item in page.get("Contents", ()):
                    if item["LastModified"] < before:
                        yield item["Key"].removeprefix(self._prefix)

    def drop_older(self, folder: str, before: datetime) -> int:
        where = {"Bucket": self._bucket, "Prefix": f"{self._prefix}{checked(folder)}/"}
        dropped = 0
        with _answers():
            for page in self._client.get_paginator("list_objects_v2").paginate(**where):
                for item in page.get("Contents", ()):
                    if item["LastModified"] < before:
                        self._client.delete_object(Bucket=self._bucket, Key=item["Key"])
                        dropped += 1
            for page in self._client.get_paginator("list_multipart_uploads").paginate(**where):
                for item in page.get("Uploads", ()):
                    if item["Initiated"] < before:
                        self._client.abort_multipart_upload(
                            Bucket=self._bucket, Key=item["Key"], UploadId=item["UploadId"]
                        )
                        dropped += 1
        return dropped

    def probe(self) -> None:
        try:
            with _answers():
                self._client.head_bucket(Bucket=self._bucket)
        except Missing:
            raise StorageUnavailable("The storage bucket does not exist.") from None

    def free_bytes(self) -> None:
        """Object storage does not say."""

    def _object(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": f"{self._prefix}{checked(key)}"}

    def _create(self, key: str, body: bytes | IO[bytes], **more: str) -> bool:
        """Create the object; False may also mean our own write, whose answer was lost and which botocore repeated."""
        for round_ in range(RACE_ROUNDS):
            if not isinstance(body, bytes):
                body.seek(0)
            try:
                with _answers():
                    self._client.put_object(**self._object(key), Body=body, IfNoneMatch="*", **more)
            except _Conflict as conflict:
                if conflict.is_there:
                    return False
                time.sleep(0.1 * 2**round_)
            else:
                return True
        raise StorageUnavailable("Storage could not settle a race of two writes.")


def _in_parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join chunks to parts of exactly PART bytes; the last may be shorter, and there is at least one."""
    buffer = bytearray()
    count = 0
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= PART:
            with memoryview(buffer) as view:
                part = bytes(view[:PART])
            del buffer[:PART]
            count += 1
            yield part
    if buffer or not count:
        yield bytes(buffer)


@contextmanager
def _answers() -> Iterator[None]:
    """Map errors of storage, by their code: their texts name hosts and buckets."""
    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if status in (409, 412):
            raise _Conflict(status) from error
        if code in _ABSENT or (status == 404 and code != "NoSuchBucket"):  # noqa: PLR2004
            raise Missing("There is no such object in storage.") from error
        raise StorageUnavailable(f"Storage refused the request ({code or status}).") from error
    except (BotoCoreError, Boto3Error) as error:
        raise StorageUnavailable(f"Storage does not answer ({type(error).__name__}).") from error
