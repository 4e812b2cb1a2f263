"""Each test here runs twice: on a folder, and on S3 as moto's server speaks it on a loopback port."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apps.blobs import backends
from apps.blobs.backends import Backend
from apps.blobs.s3 import S3Backend
from tests.blobs import s3_server


@pytest.fixture(scope="session")
def s3_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a running S3 server, in the query of a storage URL."""
    port = s3_server.free_port()
    with (tmp_path_factory.mktemp("s3") / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log
        )
        try:
            s3_server.wait_for(port)
            yield f"endpoint=http://127.0.0.1:{port}&region=us-east-1"
        finally:
            server.terminate()
            server.wait(10)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@pytest.fixture(params=["file", "s3"])
def backend(request: pytest.FixtureRequest, settings, tmp_path: Path, credentials) -> Backend:
    if request.param == "file":
        settings.STORAGE_URL = f"file://{tmp_path / 'blobs'}"
        return backends.current()
    # One bucket for all, because a client of its own costs each test half a second.
    settings.STORAGE_URL = f"s3://larder/some/prefix?{request.getfixturevalue('s3_url')}"
    found = backends.current()
    assert isinstance(found, S3Backend)
    s3_server.make_empty_bucket(found)
    return found


@pytest.fixture
def keys(backend: Backend, tmp_path: Path) -> Callable[[], list[str]]:
    """Everything in storage, unfinished uploads included."""

    def listed() -> list[str]:
        if isinstance(backend, S3Backend):
            return s3_server.listed(backend)
        files = (path for path in (tmp_path / "blobs").rglob("*") if path.is_file())
        return sorted(str(path.relative_to(tmp_path / "blobs")) for path in files)

    return listed


@pytest.fixture
def tomorrow() -> datetime:
    return timezone.now() + timedelta(hours=25)
