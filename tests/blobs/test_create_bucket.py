"""`manage.py create_bucket`, which Compose runs before the parts that store."""

import pytest
from botocore.exceptions import ClientError
from django.core.management import CommandError, call_command

from apps.blobs.backends.s3 import S3Backend, open_backend

pytestmark = pytest.mark.slow


@pytest.fixture
def other(settings, s3_url: str, credentials: None) -> S3Backend:
    """A bucket that no other test has."""
    settings.STORAGE_URL = f"s3://created-here?{s3_url}"
    return open_backend(settings.STORAGE_URL)


def test_a_missing_bucket_is_created_once(other: S3Backend, capsys) -> None:
    call_command("create_bucket")
    call_command("create_bucket")

    assert capsys.readouterr().out == "The bucket is created.\nThe bucket exists.\n"
    other.probe()


def test_a_bucket_that_may_not_be_seen_is_not_created(other: S3Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be there: the error names what is missing, which is a right."""

    def refuse(**_: str) -> None:
        answer = {"Error": {"Code": "403"}, "ResponseMetadata": {"HTTPStatusCode": 403}}
        raise ClientError(answer, "HeadBucket")

    asked: list[str] = []
    monkeypatch.setattr(other._client, "head_bucket", refuse)
    monkeypatch.setattr(other._client, "create_bucket", lambda **given: asked.append(given["Bucket"]))
    monkeypatch.setattr("apps.blobs.backends.s3.open_backend", lambda _: other)

    with pytest.raises(CommandError, match=r"could not be created: Storage refused the request \(403\)"):
        call_command("create_bucket")
    assert asked == []


def test_other_storage_has_no_bucket_to_create(settings, tmp_path) -> None:
    settings.STORAGE_URL = f"file://{tmp_path}"

    with pytest.raises(CommandError, match="names no S3 bucket"):
        call_command("create_bucket")
