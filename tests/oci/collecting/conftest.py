"""A client that pushes, and the passing of days."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import F

from apps.artifacts.models import Manifest, RepositoryBlob, Tag, UploadSession
from apps.blobs.models import Blob

DAYS = timedelta(days=3)


@pytest.fixture
def days_pass() -> Callable[[], None]:
    """Everything that is here was pushed some days ago."""

    def pass_() -> None:
        Blob.objects.update(created_at=F("created_at") - DAYS)
        RepositoryBlob.objects.update(seen_at=F("seen_at") - DAYS)
        Manifest.objects.update(seen_at=F("seen_at") - DAYS)
        Tag.objects.update(moved_at=F("moved_at") - DAYS)
        UploadSession.objects.update(expires_at=F("expires_at") - DAYS)

    return pass_
