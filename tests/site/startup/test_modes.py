"""Only the owner can read Larder's files on its host, under any umask."""

import os
import stat

import pytest

from apps.blobs.backends.local import LocalBackend
from registry_site.server import files
from registry_site.startup import bootstrap, certificates, startup_message
from tests.blobs.test_power_cut import DIGEST, KEY, WHOLE
from tests.site.backends.test_folder_broker import connect, ring


@pytest.fixture(autouse=True)
def generous_umask():
    """Set the most careless umask: every mode is what the code asked for."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(folder):
    """Everything below that somebody else may read, or write into."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if mode(path) & 0o077}


@pytest.mark.parametrize("exists", [False, True])
def test_the_data_folder_is_for_its_owner(tmp_path, exists):
    folder = tmp_path / "var"
    if exists:
        folder.mkdir(mode=0o777)

    bootstrap.data_folder(folder)

    assert mode(folder) == 0o700


def test_the_secret_key_is_for_its_owner(tmp_path, settings, monkeypatch):
    monkeypatch.delenv("LARDER_SECRET_KEY_FILE", raising=False)
    before = settings.SECRET_KEY

    bootstrap.secret_key(tmp_path)

    assert mode(tmp_path / "secret_key") == 0o600
    assert len((tmp_path / "secret_key").read_text()) >= 64
    assert before != settings.SECRET_KEY, "this process uses it as well"


def test_the_keys_of_tls_are_for_their_owner(tmp_path):
    assert certificates.served("auto", data_dir=tmp_path, listen_host="127.0.0.1", public_url="https://127.0.0.1:8443")

    assert mode(tmp_path / "tls") == 0o700
    assert open_to_others(tmp_path / "tls") == {"ca.pem", "server.pem", "bundle.pem"}


def test_the_queue_is_for_its_owner(tmp_path):
    with connect(tmp_path / "queue" / "messages") as broker:
        ring(broker, "one")

    assert {mode(tmp_path / "queue"), mode(tmp_path / "queue" / "messages")} == {0o700}


def test_bytes_in_storage_are_for_their_owner(tmp_path):
    backend = LocalBackend(tmp_path / "blobs")
    backend.write("staging/one", [WHOLE])
    backend.commit("staging/one", KEY, DIGEST)
    backend.put_once("ledger/a", WHOLE)

    assert open_to_others(tmp_path) == set()


def test_the_client_configuration_that_may_hold_a_token_is_for_its_owner(tmp_path):
    assert mode(startup_message.write_client_configuration("http://127.0.0.1:8080", tmp_path)) == 0o600


def test_a_file_that_was_open_to_all_is_closed_when_it_is_written_again(tmp_path):
    (tmp_path / "x").write_bytes(b"same")
    (tmp_path / "x").chmod(0o666)

    files.replace(tmp_path / "x", b"same", mode=0o600)

    assert mode(tmp_path / "x") == 0o600
