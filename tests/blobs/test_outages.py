"""Storage outages raise one error, with a sentence without paths and hosts."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from apps.blobs import backends, store
from apps.blobs.backends import azure, gcs, s3
from apps.blobs.models import Blob, State
from apps.lib.process import outside
from apps.lib.process.outside import MAX_OF_RECENT
from tests import clouds
from tests.chaos.faulty_storage import Proxy
from tests.postgres import free_port
from tests.rows import for_each_row


@pytest.fixture
def folder(settings, tmp_path: Path) -> Path:
    settings.STORAGE_URL = f"file://{tmp_path / 'blobs'}"
    return tmp_path / "blobs"


@pytest.fixture
def nobody_listens(settings, credentials) -> None:
    settings.STORAGE_URL = f"s3://larder?endpoint=http://127.0.0.1:{free_port()}&region=us-east-1"


# /dev/full answers every write with ENOSPC, as a disk does that has run out of room.
@pytest.mark.needs("linux")
def test_a_full_disk_is_called_by_its_name(folder):
    file = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(store.StorageUnavailable, match="full"), backends.disk_errors():
            os.write(file, b"x")
    finally:
        os.close(file)


def test_a_limit_in_the_middle_of_an_upload_leaves_nothing(folder):
    """A process of its own, because the limit on file sizes is one of the process."""
    script = (
        "import resource, signal, sys; from pathlib import Path; from apps.blobs.backends.local import LocalBackend\n"
        "from apps.blobs.backends import StorageUnavailable\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: LocalBackend(Path(sys.argv[1])).write('staging/x', [bytes(60_000)] * 3)\n"
        "except StorageUnavailable as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=True)

    assert "EFBIG" in done.stdout
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_errors_of_the_sender_stay_the_senders(folder):
    def leaves():
        yield b"x"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        store.stage("one", leaves())


def test_the_folder_is_private_and_blobs_are_read_only_and_what_a_killed_process_left_is_swept(db, folder):
    staged = store.stage("one", [b"x"])
    store.store_staged("one", digest=staged.digest, size=1)

    assert folder.stat().st_mode & 0o777 == 0o700
    blob = folder / "sha256" / staged.digest[:2] / staged.digest
    assert blob.stat().st_mode & 0o777 == 0o400
    (folder / "staging" / ".dead.part").write_bytes(b"x")
    assert store.sweep(now=timezone.now() + timedelta(hours=25)) == 2


def test_a_file_in_the_way_is_an_outage(folder):
    folder.write_bytes(b"not a folder")

    with pytest.raises(store.StorageUnavailable) as caught:
        store.ready()

    assert str(folder) not in str(caught.value)


@pytest.mark.slow
@for_each_row(
    "act",
    [
        lambda: store.stage("one", [b"x"]),
        lambda: store.stage("one", [bytes(9 * 1024 * 1024)]),
        lambda: store.open_staged("one"),
        lambda: store.put_once("ledger/x", b"x"),
        store.ready,
        lambda: store.store_staged("one", digest="0" * 64, size=1),
    ],
    ids=["stage", "stage in parts", "open", "put", "ready", "store"],
)
def test_s3_that_is_away_is_an_outage_and_leaves_no_more_than_the_intent(db, nobody_listens, act):
    began = time.monotonic()

    with pytest.raises(store.StorageUnavailable) as caught:
        act()

    assert "127.0.0.1" not in str(caught.value)
    assert time.monotonic() - began < 15
    assert not Blob.objects.exclude(state=State.PENDING).exists()


@pytest.mark.slow
@for_each_row("scheme", ["azure", "gs"])
def test_a_server_that_is_away_is_an_outage_whatever_it_speaks(settings, credentials, scheme, monkeypatch):
    monkeypatch.setitem(gcs._PATIENCE, "retry", gcs._PATIENCE["retry"].with_timeout(0.1))
    account = f"account=larder&endpoint=http://127.0.0.1:{free_port()}/larder" if scheme == "azure" else ""
    settings.STORAGE_AZURE_KEY = clouds.new_key()
    settings.STORAGE_URL = f"{scheme}://larder?{account or f'endpoint=http://127.0.0.1:{free_port()}'}"

    with pytest.raises(store.StorageUnavailable) as caught:
        store.get("ledger/x")

    assert "127.0.0.1" not in str(caught.value)


def test_a_package_that_is_missing_is_named(settings, monkeypatch):
    monkeypatch.setitem(backends._OPENERS, "gs", "no_such_package.gcs.open_backend")
    settings.STORAGE_URL = "gs://larder/without-its-package"

    with pytest.raises(ImproperlyConfigured, match="no_such_package is not installed") as caught:
        store.ready()

    assert "requirements-extras.txt" in str(caught.value)


def test_a_bucket_that_is_not_there_is_an_outage(settings, credentials, s3_url):
    settings.STORAGE_URL = f"s3://no-such-bucket-here?{s3_url}"

    with pytest.raises(store.StorageUnavailable):
        store.ready()
    with pytest.raises(store.StorageUnavailable):
        store.stage("one", [b"x"])


# --- How long storage is waited for ----------------------------------------------------------------------------------


@pytest.fixture
def proxy(settings, credentials, s3_url, monkeypatch) -> Iterator[Proxy]:
    """Before S3, of a client that is soon tired of waiting."""
    monkeypatch.setattr(s3, "READ_SECONDS", 0.2)
    found = Proxy(int(re.findall(r":(\d+)&", s3_url)[0]))
    settings.STORAGE_URL = f"s3://larder/hung?endpoint=http://127.0.0.1:{found.port}&region=us-east-1"
    yield found
    found.fault = ""


@pytest.mark.slow
def test_a_client_of_storage_repeats_what_failed_at_once_and_nothing_that_ran_out_of_time(proxy, monkeypatch):
    for fault, seconds in (("503", outside.REPEAT_SECONDS), ("hang", 0.1)):
        monkeypatch.setattr(s3, "REPEAT_SECONDS", seconds)
        proxy.fault, asked = fault, proxy.asked
        with pytest.raises(store.StorageUnavailable):
            backends.current().size("ledger/x")
        assert (proxy.asked - asked > 1) == (fault == "503"), fault


@pytest.mark.slow
def test_storage_of_which_every_second_answer_hangs_is_soon_left_alone(proxy, monkeypatch):
    monkeypatch.setattr(s3, "REPEAT_SECONDS", 0.1)
    proxy.fault = "half"
    for _ in range(2 * MAX_OF_RECENT):
        with suppress(store.StorageUnavailable):
            store.size_of("0" * 64)
    asked = proxy.asked
    with pytest.raises(store.StorageUnavailable):
        store.size_of("0" * 64)
    assert proxy.asked == asked


@pytest.fixture
def nobody_answers() -> Iterator[socket.socket]:
    """A server whose connections open, and to which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.mark.slow
@for_each_row("scheme", ["s3", "azure", "gs"])
def test_each_kind_of_storage_is_waited_for_once_and_for_the_declared_time(
    nobody_answers, settings, credentials, scheme, monkeypatch
):
    """A second try would come over a second connection. (Google's client asks about the bucket meanwhile.)"""
    for driver in (s3, azure):
        assert driver.READ_SECONDS == outside.READ_SECONDS or scheme != "s3"
        monkeypatch.setattr(driver, "READ_SECONDS", 0.2)
    assert gcs._PATIENCE["timeout"] == (outside.CONNECT_SECONDS, outside.READ_SECONDS) or scheme != "s3"
    monkeypatch.setattr(s3, "REPEAT_SECONDS", 0.1)
    monkeypatch.setitem(gcs._PATIENCE, "timeout", (2, 0.2))
    monkeypatch.setitem(gcs._PATIENCE, "retry", gcs._PATIENCE["retry"].with_timeout(0.1))
    account = "/larder" if scheme == "azure" else ""
    settings.STORAGE_AZURE_KEY = clouds.new_key()
    more = {"azure": "account=larder&", "s3": "region=us-east-1&"}.get(scheme, "")
    port = nobody_answers.getsockname()[1]
    settings.STORAGE_URL = f"{scheme}://larder?{more}endpoint=http://127.0.0.1:{port}{account}"

    with pytest.raises(store.StorageUnavailable):
        backends.current().size("ledger/x")

    nobody_answers.settimeout(0)
    tries = []
    with suppress(BlockingIOError):
        while True:
            with nobody_answers.accept()[0] as connection:
                tries.append(b"ledger" in connection.recv(1024).partition(b"\n")[0])
    assert tries.count(True) == 1
