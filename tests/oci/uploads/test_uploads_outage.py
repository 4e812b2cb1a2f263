"""An outage of storage while an upload is finished: 503, which clients retry, and the upload continues."""

import pytest

from tests.oci.manifests.documents import code_of
from tests.oci.uploading import sha256
from tests.postgres import free_port
from tests.rows import for_each_row

DATA = b"a layer" * 100


@pytest.fixture
def away(settings, monkeypatch):
    """Nobody listens where the bucket should be."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "larder")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "larder")
    here = settings.STORAGE_URL

    def switch(is_away: bool) -> None:
        gone = f"s3://larder?endpoint=http://127.0.0.1:{free_port()}&region=us-east-1"
        settings.STORAGE_URL = gone if is_away else here

    return switch


@pytest.mark.slow
@for_each_row("chunks", [0, 1, 2])
def test_the_session_is_kept_for_the_next_try(uploader, away, chunks):
    url, data = uploader.begin(), DATA + b"%d" % chunks  # each row stores bytes of its own
    for _ in range(chunks):
        assert uploader.patch(url, data).status_code == 202
    last, whole = (b"" if chunks else data), data * (chunks or 1)
    digest = sha256(whole)

    away(True)
    answer = uploader.put(url, last, digest)
    assert code_of(answer) == (503, "UNAVAILABLE")
    assert answer.headers["Retry-After"]
    assert uploader.post(whole, digest).status_code == 503

    away(False)
    status = uploader.client.get(url)
    assert (status.status_code, status.headers["Range"]) == (204, f"0-{max(0, chunks * len(data) - 1)}")
    assert uploader.head(digest).status_code == 404
    assert uploader.put(url, last, digest).status_code == 201
    assert uploader.get(digest).getvalue() == whole
    assert uploader.post(whole, digest).status_code == 201
