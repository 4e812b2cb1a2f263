"""Azure Blob Storage through the client of django-storages.

django-storages makes the connection; bytes go through its client, for the reasons that `s3.py` names.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import IO, Any

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, HttpResponseError, ServiceRequestError, ServiceResponseError
from azure.storage.blob import BlobBlock, BlobSasPermissions, BlobServiceClient, generate_blob_sas
from django.conf import settings
from django.utils import timezone
from storages.backends.azure_storage import AzureStorage

from apps.blobs.backends import Missing, StorageUnavailable
from apps.blobs.backends.objects import DOWNLOAD_BYTES, Conflict, ObjectBackend, Refused, in_ranges
from apps.lib.process import metrics
from apps.lib.process.outside import CONNECT_SECONDS, READ_SECONDS
from apps.lib.settings_values.storage_urls import AzureAddress

_EXISTS = frozenset({"BlobAlreadyExists", "ConditionNotMet", "TargetConditionNotMet"})
# A link may be used on a host whose clock is a little behind.
_EARLIER = timedelta(minutes=5)


def open_backend(storage_url: str) -> "AzureBackend":
    return AzureBackend(AzureAddress.parse(storage_url), settings.STORAGE_AZURE_KEY)


class AzureBackend(ObjectBackend):
    condition = "If-None-Match"
    unanswered = (ServiceRequestError, ServiceResponseError)

    def __init__(self, address: AzureAddress, account_key: str) -> None:
        super().__init__(address.prefix, bucket=address.container)
        self._address = address
        self._account_key = account_key
        # Make a client, which is safe for threads.
        options = {
            "connection_timeout": CONNECT_SECONDS,
            "read_timeout": READ_SECONDS,
            "retry_total": 2,
            "retry_connect": 1,
            "retry_read": 0,  # a time-out
            "initial_backoff": 0.2,
            "increment_base": 1,
            "random_jitter_range": 0.2,
            "max_single_put_size": self.largest_put,
            "max_single_get_size": DOWNLOAD_BYTES,
            "max_chunk_get_size": DOWNLOAD_BYTES,
        }
        storage = AzureStorage(
            account_name=address.account,
            account_key=account_key,
            azure_container=address.container,
            client_options=options,
        )
        if address.endpoint:  # django-storages knows the hosts of Microsoft's clouds alone
            credential = {"account_name": address.account, "account_key": account_key}
            storage._service_client = BlobServiceClient(address.endpoint, credential=credential, **options)  # noqa: SLF001
        self._client: Any = storage.client

    def _put(self, name: str, file: IO[bytes], *, only_new: bool, sha256: str = "") -> None:  # noqa: ARG002  # it knows md5
        length = file.seek(0, 2)
        file.seek(0)
        with self._answers():
            self._blob(name).upload_blob(file, length=length, overwrite=not only_new)

    def _put_parts(self, name: str, parts: Iterable[bytes], *, only_new: bool) -> None:
        """Blocks that are never committed stay invisible, and Azure removes them after a week."""
        blob, upload = self._blob(name), uuid.uuid4().hex
        blocks: list[BlobBlock] = []
        for part in parts:
            block = f"{upload}-{len(blocks):06}"  # all names of a blob's blocks have one length
            with self._answers():
                blob.stage_block(block, part, length=len(part), validate_content=True)
            blocks.append(BlobBlock(block_id=block))
        condition = {"match_condition": MatchConditions.IfMissing} if only_new else {}
        with self._answers():
            blob.commit_block_list(blocks, **condition)

    def read(self, key: str, start: int, stop: int | None) -> Iterator[bytes]:
        if stop is not None and stop <= start:
            return iter(())
        blob = self._blob(self._name(key))

        def fetch(first: int, last: int) -> bytes:
            try:
                return bytes(blob.download_blob(offset=first, length=last - first + 1).readall())
            except HttpResponseError as error:
                if error.status_code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                    raise
                return b""

        return in_ranges(fetch, start, stop, errors=self._answers)

    def size(self, key: str) -> int | None:
        try:
            with self._answers():
                return int(self._blob(self._name(key)).get_blob_properties().size)
        except Missing:
            return None

    def delete(self, key: str) -> None:
        with suppress(Missing), self._answers():
            self._blob(self._name(key)).delete_blob()

    def link(self, key: str, *, seconds: int, headers: Mapping[str, str]) -> str:
        now = timezone.now()
        name = self._name(key)
        signature = generate_blob_sas(
            account_name=self._address.account,
            container_name=self._address.container,
            blob_name=name,
            account_key=self._account_key,
            permission=BlobSasPermissions(read=True),
            start=now - _EARLIER,
            expiry=now + timedelta(seconds=seconds),
            **{name.lower().replace("-", "_"): value for name, value in headers.items()},
        )
        return f"{self._blob(name).url}?{signature}"

    def _listed(self, start: str) -> Iterator[tuple[str, datetime]]:
        for blob in self._client.list_blobs(name_starts_with=start):
            yield blob.name, blob.last_modified

    def _blob(self, name: str) -> Any:
        return self._client.get_blob_client(name)

    def _errors(self) -> AbstractContextManager[None]:
        return _errors()


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except HttpResponseError as error:
        status = error.status_code or 0
        code = getattr(error, "error_code", None) or str(status)
        code = str(getattr(code, "value", code))  # known ones are members of an enumeration
        if status in (409, 412):
            raise Conflict(status, is_there=code in _EXISTS) from error
        if status == 404 and code != "ContainerNotFound":  # noqa: PLR2004
            raise Missing("There is no such object in storage.") from error
        metrics.storage_errors.labels("refused").inc()
        raise Refused(code) from error
    except AzureError as error:
        metrics.storage_errors.labels("no_answer").inc()
        raise StorageUnavailable(f"Storage is unreachable ({type(error).__name__}).") from error
