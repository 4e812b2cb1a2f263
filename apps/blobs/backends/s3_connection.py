"""The boto3 client of django-storages for an address, with the usual credentials of AWS clients.

These are the variables `AWS_ACCESS_KEY_ID` and so on, a profile, a web identity, or the role of the container or host.
"""

from typing import Any

from botocore.config import Config
from storages.backends.s3 import S3Storage

from apps.lib.settings_values.storage_urls import S3Address


def client_for(address: S3Address, endpoint: str) -> Any:
    """Make a client. They are thread-safe, and each costs a tenth of a second."""
    storage = S3Storage(
        bucket_name=address.bucket,
        endpoint_url=endpoint or None,
        region_name=address.region or None,
        file_overwrite=False,
        default_acl=None,
        client_config=Config(
            # botocore's default of a minute per read is longer than any caller waits.
            connect_timeout=2,
            read_timeout=10,
            retries={"mode": "standard", "total_max_attempts": 3},
            # Or links for clients are signed by a version that newer regions and some servers refuse.
            signature_version="s3v4",
            s3={"addressing_style": address.addressing or _addressing(address.bucket, endpoint)},
            # Compatible servers know no trailing checksums; `commit` sends the digest itself.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            max_pool_connections=64,
        ),
    )
    return storage.connection.meta.client


def _addressing(bucket: str, endpoint: str) -> str:
    """On compatible servers buckets rarely have host names of their own, and a wildcard certificate ends at a dot.

    botocore's own default signs links for a host without the region, which newer regions redirect from.
    """
    return "path" if endpoint or "." in bucket else "virtual"


def encryption_of(address: S3Address) -> dict[str, str]:
    """The arguments that ask the server to encrypt a new object; none leave it to the bucket."""
    if not address.encryption:
        return {}
    key = {"SSEKMSKeyId": address.kms_key} if address.kms_key else {}
    return {"ServerSideEncryption": address.encryption, **key}


def encryption_headers(encryption: dict[str, str]) -> dict[str, str]:
    """The same as headers, for a request that somebody else sends."""
    names = {
        "ServerSideEncryption": "x-amz-server-side-encryption",
        "SSEKMSKeyId": "x-amz-server-side-encryption-aws-kms-key-id",
    }
    return {names[name]: value for name, value in encryption.items()}
