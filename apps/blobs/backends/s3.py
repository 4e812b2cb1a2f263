"""S3-compatible storage through the boto3 client of django-storages.

django-storages makes the connection: session and credentials, endpoint, addressing and transfer settings. Bytes go
through its client and not through `Storage.save` and `open`, which cannot create only, rename on a collision, spool
whole uploads, and make a resource for each thread.

Credentials are the usual ones of AWS clients: the variables `AWS_ACCESS_KEY_ID` and so on, a profile, a web identity,
or the role of the container or host.
"""

import base64
import hashlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from functools import cached_property
from io import BytesIO
from threading import local
from typing import IO, Any
from urllib.parse import urlsplit

from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

from apps.blobs.backends import Missing, Steps, StorageUnavailable, UploadLink, checked
from apps.blobs.backends.objects import Conflict, ObjectBackend, Refused
from apps.lib.process import metrics
from apps.lib.process.outside import CONNECT_SECONDS, READ_SECONDS, REPEAT_SECONDS
from apps.lib.settings_values.storage_urls import S3Address

# One part at a time: each costs its memory.
_ONE_BY_ONE = TransferConfig(multipart_threshold=32 * 1024 * 1024, use_threads=False)
_ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})


def open_backend(storage_url: str) -> "S3Backend":
    return S3Backend(S3Address.parse(storage_url))


class S3Backend(ObjectBackend):
    condition = "If-None-Match"
    unanswered = (BotoCoreError, Boto3Error)

    def __init__(self, address: S3Address) -> None:
        super().__init__(address.prefix, bucket=address.bucket)
        self._address = address
        self._client: Any = _client_for(address, address.endpoint)
        self._bucket = address.bucket
        # The arguments that ask the server to encrypt a new object; none leave it to the bucket.
        asked = {"ServerSideEncryption": address.encryption, "SSEKMSKeyId": address.kms_key}
        self._encryption = {name: value for name, value in asked.items() if value}

    def _put(self, name: str, file: IO[bytes], *, only_new: bool, sha256: str = "") -> None:
        more = _condition(only_new) | ({"ChecksumSHA256": sha256} if sha256 else {})
        with self._answers():
            self._client.put_object(**self._object(name), **self._encryption, **more, Body=file)

    def _put_parts(self, name: str, parts: Iterable[bytes], *, only_new: bool) -> None:
        target, condition = self._object(name), _condition(only_new)
        with self._answers():
            begun = self._client.create_multipart_upload(**target, **self._encryption)
        upload = {**target, "UploadId": begun["UploadId"]}
        done: list[dict[str, Any]] = []
        try:
            for number, part in enumerate(parts, 1):
                # Every server compares this one; it is no proof against anybody, only against a bad line.
                md5 = base64.b64encode(hashlib.md5(part, usedforsecurity=False).digest()).decode()
                # A file, because botocore would copy bytes once more to send them together with the headers.
                with self._answers():
                    answer = self._client.upload_part(**upload, PartNumber=number, Body=BytesIO(part), ContentMD5=md5)
                done.append({"PartNumber": number, "ETag": answer["ETag"]})
            try:
                with self._answers():
                    self._client.complete_multipart_upload(**upload, **condition, MultipartUpload={"Parts": done})
            except Missing:
                # Perhaps a first request was carried out and its answer lost: the caller's next try will see.
                raise StorageUnavailable("Storage no longer knows the upload.") from None
        except BaseException:
            # Parts of an unfinished upload are invisible and cost money; the sweep deletes what stays.
            with suppress(StorageUnavailable, Missing), self._answers():
                self._client.abort_multipart_upload(**upload)
            raise

    def read(self, key: str, start: int, stop: int | None) -> Iterator[bytes]:
        if stop is not None and stop <= start:
            return iter(())
        wanted = {}
        if start or stop is not None:
            wanted["Range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
        with self._answers():
            body = self._client.get_object(**self._object(self._name(key)), **wanted)["Body"]
        return Steps(body, left=None, errors=self._answers)

    def size(self, key: str) -> int | None:
        try:
            with self._answers():
                return int(self._client.head_object(**self._object(self._name(key)))["ContentLength"])
        except Missing:
            return None

    def delete(self, key: str) -> None:
        with suppress(Missing), self._answers():
            self._client.delete_object(**self._object(self._name(key)))

    def _listed(self, start: str) -> Iterator[tuple[str, datetime]]:
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=start):
            for item in page.get("Contents", ()):
                yield item["Key"], item["LastModified"]

    def drop_older(self, folder: str, before: datetime, *, kept: Collection[str] = ()) -> int:
        """Unfinished uploads as well."""
        dropped = super().drop_older(folder, before, kept=kept)
        where = {"Bucket": self._bucket, "Prefix": f"{self._prefix}{checked(folder)}/"}
        with self._answers():
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
            with self._answers():
                self._client.head_bucket(Bucket=self._bucket)
        except Missing:
            raise StorageUnavailable("The storage bucket does not exist.") from None

    def _upload(self, name: str, file: IO[bytes], headers: Mapping[str, str]) -> None:
        """Store a file of any size under a name, which may exist, with arguments of `put_object`: in flat memory."""
        with self._answers():
            self._client.upload_fileobj(file, self._bucket, name, ExtraArgs=dict(headers), Config=_ONE_BY_ONE)

    def create_bucket(self) -> bool:
        """Return False if it is there already."""
        try:
            with self._answers():
                self._client.head_bucket(Bucket=self._bucket)
        except Missing:
            region = self._client.meta.region_name
            # The oldest region is the one that may not be named.
            named = region not in (None, "us-east-1")
            place = {"CreateBucketConfiguration": {"LocationConstraint": region}} if named else {}
            with self._answers():
                self._client.create_bucket(Bucket=self._bucket, **place)
            return True
        return False

    def link(self, key: str, *, seconds: int, headers: Mapping[str, str]) -> str:
        overrides = {f"Response{name.replace('-', '')}": value for name, value in headers.items()}
        with self._errors():
            url = self._clients.generate_presigned_url(
                "get_object", Params=self._object(self._name(key)) | overrides, ExpiresIn=seconds
            )
        return str(url)

    def upload_link(self, key: str, *, size: int, seconds: int) -> UploadLink | None:
        """None where the server would overwrite. The size is signed: browsers send it by themselves."""
        if not self._refuses_existing:
            return None
        params = self._object(self._name(key)) | self._encryption | _condition(only_new=True)
        with self._errors():
            url = self._clients.generate_presigned_url(
                "put_object", Params={**params, "ContentLength": size}, ExpiresIn=seconds
            )
        # The signed arguments again, as headers that the browser has to send.
        names = {
            "ServerSideEncryption": "x-amz-server-side-encryption",
            "SSEKMSKeyId": "x-amz-server-side-encryption-aws-kms-key-id",
        }
        encrypted = {names[name]: value for name, value in self._encryption.items()}
        return UploadLink(str(url), {"If-None-Match": "*"} | encrypted)

    def upload_origin(self) -> str:
        return self._upload_origin

    @cached_property
    def _upload_origin(self) -> str:
        with self._errors():
            url = self._clients.generate_presigned_url("put_object", Params=self._object(self._name("probe")))
        return "{0.scheme}://{0.netloc}".format(urlsplit(url))

    @cached_property
    def _clients(self) -> Any:
        """Signs links for the address under which clients reach the storage: the host is part of the signature."""
        public = self._address.public_endpoint
        return _client_for(self._address, public) if public else self._client

    def _object(self, name: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": name}

    def _errors(self) -> AbstractContextManager[None]:
        return _errors()


def _client_for(address: S3Address, endpoint: str) -> Any:
    """Make a client. They are thread-safe, and each costs a tenth of a second."""
    # On compatible servers buckets rarely have host names of their own, and a wildcard certificate ends at a dot.
    # botocore's own default signs links for a host without the region, which newer regions redirect from.
    addressing = address.addressing or ("path" if endpoint or "." in address.bucket else "virtual")
    storage = S3Storage(
        bucket_name=address.bucket,
        endpoint_url=endpoint or None,
        region_name=address.region or None,
        file_overwrite=False,
        default_acl=None,
        client_config=Config(
            # botocore's default of a minute per read is longer than any caller waits.
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": 3},
            # Or links for clients are signed by a version that newer regions and some servers refuse.
            signature_version="s3v4",
            s3={"addressing_style": addressing},
            # Compatible servers know no trailing checksums; `commit` sends the digest itself.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            max_pool_connections=64,
        ),
    )
    client = storage.connection.meta.client
    client.meta.events.register("before-call.s3", _note_call)
    client.meta.events.register("before-send.s3", _repeat_only_soon)
    return client


_call = local()


class _TooLate(BotoCoreError):  # type: ignore[misc]  # botocore has no types
    """None of the errors after which botocore sends the request again."""

    fmt = "An earlier try took too long."


def _note_call(**_: Any) -> None:
    """Called by botocore before the first try of a call."""
    _call.began = time.monotonic()


def _repeat_only_soon(**_: Any) -> None:
    """Called before each try: after a time-out the caller has waited long enough."""
    if time.monotonic() - _call.began > REPEAT_SECONDS:
        raise _TooLate


def _condition(only_new: bool) -> dict[str, str]:  # noqa: FBT001
    return {"IfNoneMatch": "*"} if only_new else {}


@contextmanager
def _errors() -> Iterator[None]:
    """Map errors of storage, by their code: their texts name hosts and buckets."""
    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if status in (409, 412):
            raise Conflict(status, is_there=status == 412) from error  # noqa: PLR2004
        if code in _ABSENT or (status == 404 and code != "NoSuchBucket"):  # noqa: PLR2004
            raise Missing("There is no such object in storage.") from error
        metrics.storage_errors.labels("refused").inc()
        raise Refused(code or str(status)) from error
    except S3Backend.unanswered as error:
        metrics.storage_errors.labels("no_answer").inc()
        raise StorageUnavailable(f"Storage is unreachable ({type(error).__name__}).") from error
