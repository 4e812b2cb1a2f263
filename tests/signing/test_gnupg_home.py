"""Temporary homes: private, short, removed afterwards, also after their process was killed."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from apps.signing import gnupg_home
from apps.signing.gpg import Gpg
from tests.builders.keys import signing_key
from tests.signing.conftest import agents_in, homes_of
from tests.site.processes import eventually

# Signs for ever in as many processes as it is told, and says their numbers.
SIGNERS = """
import os, sys
import django
django.setup()
from apps.signing import signer
from apps.signing.models import SigningKey
fingerprint, armor, secret = sys.stdin.read().split("|")
key = SigningKey(fingerprint=fingerprint, armor=armor)
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if not child:
        while True:
            signer._verify(key, signer._sign(key, secret.encode(), b"data" * 250_000), b"data" * 250_000)
    print(child, flush=True)
os.wait()
"""


def test_a_home_is_short_private_and_in_memory() -> None:
    with gnupg_home.home(private=True) as home:
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert len(str(home)) <= gnupg_home.MAX_PATH_BYTES
        assert home.name.startswith(f"larder-gpg-{os.getpid()}-")
        if os.access("/dev/shm", os.W_OK):
            assert home.parent == Path("/dev/shm")
    assert not home.exists()


def test_the_agent_goes_with_the_home_also_after_an_error() -> None:
    def fail() -> None:
        with gnupg_home.home(private=True) as home:
            Gpg(home, private=True).import_keys(signing_key().secret_armor)
            assert agents_in(home.name)
            raise ValueError(home.name)

    with pytest.raises(ValueError, match="larder-gpg-") as failed:
        fail()
    # It has been told to end when the home is removed, and needs a moment for it.
    eventually(lambda: not agents_in(str(failed.value)), what="the end of the agent")
    assert homes_of(os.getpid()) == []


def test_a_public_home_starts_no_agent() -> None:
    with gnupg_home.home() as home:
        gpg = Gpg(home)
        gpg.import_keys(signing_key("rsa4096").armor)
        assert gpg.import_keys(signing_key().secret_armor).sec_imported == 0
        assert agents_in(home.name) == []


def test_a_long_temporary_folder_is_avoided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gnupg_home, "MEMORY", tmp_path / "none")
    long = tmp_path / ("x" * 60)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    assert gnupg_home.base() == Path("/tmp")
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    assert gnupg_home.base() == Path("/var/tmp")


def test_the_sweep_leaves_the_living_and_what_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # pytest's own folders are too long for an agent
        place = Path(short)
        monkeypatch.setattr(gnupg_home, "MEMORY", place)
        others = [place / "larder-gpg-readme", place / "larder-gpg-1", place / "gnupg-99999-1-x"]
        dead = [place / f"larder-gpg-{ended.pid}-123-abc", place / f"larder-gpg-{os.getpid()}-1-reborn"]
        target = place / "decoy"
        for folder in (*others, *dead, target):
            folder.mkdir()
        (place / f"larder-gpg-{ended.pid}-124-link").symlink_to(target)
        with gnupg_home.home() as living:
            gnupg_home.sweep()
            assert living.is_dir()
        assert all(folder.is_dir() for folder in others)
        assert not any(folder.exists() for folder in dead)
        assert target.is_dir()


@pytest.mark.slow
def test_no_private_key_outlives_signers_that_were_killed(tmp_path: Path) -> None:
    """Twenty processes are killed in the middle of signing; the next worker's start leaves no home and no agent."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LARDER_", "DJANGO_"))},
        "LARDER_DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "registry_site.settings",
    }
    made = signing_key("rsa4096")
    parent = subprocess.Popen(
        [sys.executable, "-c", SIGNERS, "20"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    with parent.stdin, parent.stdout:
        parent.stdin.write(f"{made.fingerprint}|{made.armor}|{made.secret_armor}")
        parent.stdin.close()
        signers = [int(parent.stdout.readline()) for _ in range(20)]
        caught = 0
        for number, process in enumerate(signers):
            wait_for_a_home(process)
            time.sleep(0.01 * number)
            os.kill(process, signal.SIGKILL)
            caught += bool(homes_of(process))
        parent.kill()
        parent.wait()
    assert caught > 5, "hardly any was killed while it had a home: this test tests nothing"

    # The gpg of a killed signer goes on for a moment, and a worker does not start the moment one dies either.
    def nothing_is_left() -> bool:
        gnupg_home.sweep()
        return not any(homes_of(process) or agents_in(f"larder-gpg-{process}-") for process in signers)

    eventually(nothing_is_left, seconds=30, what="the end of all homes and agents")


def wait_for_a_home(process: int) -> None:
    deadline = time.monotonic() + 60
    while not homes_of(process):
        assert time.monotonic() < deadline
        time.sleep(0.005)
