"""Requests of the tests to object storage that bypass the backend."""

from contextlib import suppress

from apps.blobs.backends import StorageUnavailable
from apps.blobs.backends.objects import ObjectBackend
from apps.blobs.backends.s3 import S3Backend

BUCKET = "larder"


def make_empty_bucket(backend: ObjectBackend) -> None:
    with suppress(StorageUnavailable), backend._answers():  # it is there
        if isinstance(backend, S3Backend):
            backend._client.create_bucket(Bucket=BUCKET)
        elif type(backend).__name__ == "AzureBackend":
            backend._client.create_container()  # type: ignore[attr-defined]
        else:
            backend._bucket.create()  # type: ignore[attr-defined]
    for name, _ in list(backend._listed("")):
        backend.delete(name.removeprefix(backend._prefix))
    if isinstance(backend, S3Backend):
        for upload in _unfinished(backend):
            backend._client.abort_multipart_upload(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])


def listed(backend: ObjectBackend) -> list[str]:
    """Keys without the prefix; on S3, an upload that was begun and not ended counts as `(unfinished) key`."""
    found = [name for name, _ in backend._listed("")]
    if isinstance(backend, S3Backend):
        found += [f"(unfinished) {upload['Key']}" for upload in _unfinished(backend)]
    return sorted(name.replace(backend._prefix, "", 1) for name in found)


def _unfinished(backend: S3Backend) -> list[dict[str, str]]:
    uploads: list[dict[str, str]] = backend._client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
    return uploads
