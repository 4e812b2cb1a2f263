"""The driver suite: each test runs on every kind of storage, and on an S3 server that ignores If-None-Match."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apps.blobs import backends
from apps.blobs.backends import Backend
from apps.blobs.backends.objects import ObjectBackend
from tests import clouds, s3
from tests.blobs import object_server


@pytest.fixture(autouse=True)
def database(db: None) -> None:
    """Putting a file aside looks at the connection, which may be open since another test."""


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    """Address of a running S3 server, in the query of a storage URL."""
    with s3.server() as port:
        yield f"endpoint=http://127.0.0.1:{port}&region=us-east-1"


@pytest.fixture(scope="session")
def plain_s3_url() -> Iterator[str]:
    """One that overwrites objects, whatever the request says."""
    with s3.server("--no-conditions") as port:
        yield f"endpoint=http://127.0.0.1:{port}&region=us-east-1"


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@pytest.fixture(scope="session")
def azure_key() -> str:
    return clouds.new_key()


@pytest.fixture(scope="session")
def azure_url(azure_key: str) -> Iterator[str]:
    with clouds.azurite(azure_key) as port:
        yield f"account={clouds.ACCOUNT}&endpoint=http://127.0.0.1:{port}/{clouds.ACCOUNT}"


@pytest.fixture(scope="session")
def gcs_url() -> Iterator[str]:
    with clouds.fake_gcs() as port:
        yield f"endpoint=http://127.0.0.1:{port}"


SCHEMES = {"s3": "s3", "plain_s3": "s3", "azure": "azure", "gcs": "gs"}
on_disk = pytest.mark.parametrize("backend", ["file"], indirect=True)  # where storage makes no difference
PLAIN_S3 = pytest.param("plain_s3", marks=pytest.mark.matrix)
AZURE = pytest.param("azure", marks=[pytest.mark.matrix, pytest.mark.needs("azurite-blob")])
GCS = pytest.param("gcs", marks=[pytest.mark.matrix, pytest.mark.needs("fake-gcs-server")])


@pytest.fixture(params=["file", "s3", PLAIN_S3, AZURE, GCS])
def backend(request: pytest.FixtureRequest, settings, tmp_path: Path, credentials) -> Backend:
    if request.param == "file":
        settings.STORAGE_URL = f"file://{tmp_path / 'blobs'}"
        return backends.current()
    if request.param == "azure":
        settings.STORAGE_AZURE_KEY = request.getfixturevalue("azure_key")
    # One bucket for all, because a client of its own costs each test half a second.
    options = request.getfixturevalue(f"{request.param}_url")
    settings.STORAGE_URL = f"{SCHEMES[request.param]}://{object_server.BUCKET}/some/prefix?{options}"
    found = backends.current()
    assert isinstance(found, ObjectBackend)
    object_server.make_empty_bucket(found)
    return found


@pytest.fixture
def keys(backend: Backend, tmp_path: Path) -> Callable[[], list[str]]:
    """Everything in storage, unfinished uploads included."""

    def listed() -> list[str]:
        if isinstance(backend, ObjectBackend):
            return object_server.listed(backend)
        files = (path for path in (tmp_path / "blobs").rglob("*") if path.is_file())
        return sorted(str(path.relative_to(tmp_path / "blobs")) for path in files)

    return listed


@pytest.fixture
def tomorrow() -> datetime:
    return timezone.now() + timedelta(hours=25)
