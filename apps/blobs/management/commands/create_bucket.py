"""`manage.py create_bucket`: the S3 bucket of LARDER_STORAGE_URL, unless it is there."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.blobs.backends import StorageUnavailable


class Command(BaseCommand):
    help = "Create the S3 bucket that LARDER_STORAGE_URL names, if it does not exist (docs/deployment.md)."

    def handle(self, *_: Any, **options: Any) -> None:  # noqa: ARG002
        if not settings.STORAGE_URL.startswith("s3:"):
            raise CommandError("LARDER_STORAGE_URL names no S3 bucket: expected s3://bucket.")
        from apps.blobs.backends.s3 import open_backend  # boto3, which other storage does not need

        try:
            is_new = open_backend(settings.STORAGE_URL).create_bucket()
        except StorageUnavailable as error:
            raise CommandError(f"The bucket could not be created: {error}") from error
        self.stdout.write("The bucket is created." if is_new else "The bucket exists.")
