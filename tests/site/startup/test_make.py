"""The two commands of the README, from a fresh copy of the checkout and an empty home."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import need
from tests.live import CHECKOUT
from tests.postgres import free_port
from tests.site.processes import descendants, eventually, parents
from tests.site.startup.test_first_run import paste, printed_lines

pytestmark = pytest.mark.once


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone would hold, with what is not committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    copy = tmp_path / "larder"
    for name in filter(None, listed.split("\0")):
        if (CHECKOUT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, copy / name)
    return copy


@pytest.mark.live
@pytest.mark.timeout(600)
def test_make_run_from_a_fresh_clone_ends_in_apply_complete(clone: Path, tmp_path: Path) -> None:
    client = need("terraform")
    home = tmp_path / "home"
    home.mkdir()
    output = tmp_path / "output.txt"
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LARDER_LISTEN": f"127.0.0.1:{free_port()}"}
    with output.open("wb") as sink:
        make = subprocess.Popen(
            ["make", "run"], cwd=clone, env=environment, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        eventually(lambda: "Ctrl-C stops it." in output.read_text() or make.poll() is not None, seconds=400)
        assert make.poll() is None, output.read_text()[-3000:]
        assert "Apply complete!" in paste(printed_lines(output), tmp_path, client=client)
        everyone = descendants(make.pid)
    finally:
        # Ctrl-C: the terminal sends it to the whole foreground group.
        os.killpg(make.pid, signal.SIGINT)
        make.wait(timeout=20)
    eventually(lambda: not everyone & parents().keys(), seconds=10)
    assert "Larder has stopped." in output.read_text()


def test_what_is_missing_is_named_with_the_command_to_type(clone: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "dirname", "paste", "sed", "cmp", "id", "cat"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    # Fedora, as far as the script can see; dnf is never run.
    (programs / "dnf").write_text("#!/bin/sh\nexit 1\n")
    (programs / "dnf").chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "bin/prepare", "requirements.txt"],
        cwd=clone,
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Larder needs: python 3.11 to 3.14 with venv, gpg and gpgv." in done.stderr
    assert "sudo dnf install -y python3.13 gnupg2" in done.stderr
    assert not (clone / ".venv").exists()
