"""bin/prepare: which Python it takes, and what installs the packages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import CHECKOUT
from tests.rows import for_each_row
from tests.site.commands import run_python

# A Python that says it is of another version, to whoever asks by -c; in all else the one that runs these tests.
OTHER_PYTHON = """#!/bin/sh
if [ "$1" = -c ]; then shift; exec {python} -c "import sys; sys.version_info = (3, {minor}, 0, 'final', 0)
$1"; fi
exec {python} "$@"
"""
UV = """#!/bin/sh
echo "$@" >> "{called}"
exit {status}
"""


class Machine:
    """A checkout with an empty lock, and a PATH on which only the named programs are."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.programs, self.uv_called = folder / "larder", folder / "programs", folder / "uv-called"
        self.venv = self.checkout / ".venv"
        (self.checkout / "bin").mkdir(parents=True)
        (self.checkout / "bin" / "prepare").write_text((CHECKOUT / "bin" / "prepare").read_text())
        (self.checkout / "empty.txt").write_text("# nothing==0\n")
        self.programs.mkdir()
        # No apt-get: nothing may be installed.
        for name in ("sh", "dirname", "paste", "sed", "cmp", "cp", "grep"):
            (self.programs / name).symlink_to(f"/usr/bin/{name}")
        self.program("gpg", "#!/bin/sh\n")
        self.program("gpgv", "#!/bin/sh\n")

    def program(self, name: str, script: str) -> None:
        (self.programs / name).write_text(script)
        (self.programs / name).chmod(0o755)

    def python(self, minor: int) -> None:
        self.program("python3", OTHER_PYTHON.format(python=os.path.realpath(sys.executable), minor=minor))

    def uv(self, *, works: bool) -> None:
        self.program("uv", UV.format(called=self.uv_called, status=0 if works else 1))

    def prepare(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(self.checkout / "bin" / "prepare"), "empty.txt"],
            env={"PATH": str(self.programs)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@for_each_row("minor", [11, 12, 13, 14])
def test_the_only_python_may_be_any_of_those_that_are_supported(machine: Machine, minor: int) -> None:
    machine.python(minor)
    machine.uv(works=True)

    done = machine.prepare()

    assert done.returncode == 0, done.stderr
    assert (machine.venv / "bin" / "python").exists()


def test_a_python_that_is_too_new_gets_advice_that_can_work(machine: Machine) -> None:
    """Installing the system's python3 again would bring the same one."""
    machine.python(15)
    machine.program("apt-get", "#!/bin/sh\nexit 1\n")

    done = machine.prepare()

    assert done.returncode == 1
    assert "Larder needs: python 3.11 to 3.14 with venv." in done.stderr
    assert "uv python install 3.14" in done.stderr
    assert "apt-get" not in done.stderr


def test_what_is_missing_is_named_with_the_command_to_type(machine: Machine) -> None:
    """On Fedora, as far as the script can see; dnf is never run."""
    for name in ("gpg", "gpgv"):
        (machine.programs / name).unlink()
    machine.program("dnf", "#!/bin/sh\nexit 1\n")
    machine.program("id", "#!/bin/sh\necho 10001\n")

    done = machine.prepare()

    assert done.returncode == 1
    assert "Larder needs: python 3.11 to 3.14 with venv, gpg and gpgv." in done.stderr
    assert "sudo dnf install -y python3.13 gnupg2" in done.stderr
    assert not machine.venv.exists()


def test_gpgv_is_asked_for_where_debian_packages_it_apart(machine: Machine) -> None:
    """Without it everything starts, and no provider is ever signed."""
    machine.python(14)
    (machine.programs / "gpgv").unlink()
    machine.program("apt-get", "#!/bin/sh\nexit 1\n")
    machine.program("id", "#!/bin/sh\necho 10001\n")

    done = machine.prepare()

    assert done.returncode == 1
    assert "Larder needs: gpg and gpgv." in done.stderr
    assert "gnupg gpgv" in done.stderr


def test_uv_installs_where_it_is_with_hashes_and_only_when_the_lock_changed(machine: Machine) -> None:
    machine.python(13)
    machine.uv(works=True)

    assert "with uv" in machine.prepare().stdout
    assert "--require-hashes -r empty.txt" in machine.uv_called.read_text()
    machine.uv_called.unlink()
    assert machine.prepare().stdout == ""
    assert not machine.uv_called.exists()


@pytest.mark.slow
def test_pip_takes_over_where_uv_fails(machine: Machine) -> None:
    """uv knows nothing of pip's own settings, an index inside a company above all."""
    machine.python(13)
    machine.uv(works=False)

    done = machine.prepare()

    assert done.returncode == 0, done.stderr
    assert "trying pip" in done.stderr
    assert (machine.venv / "installed-empty.txt").exists()


@pytest.mark.slow
@for_each_row(
    "code",
    [
        "import registry_site.wsgi",
        # A thread that computes lets readers go on sooner than by Python's default.
        "import registry_site.server.asgi, sys; assert sys.getswitchinterval() <= 0.001",
    ],
)
def test_a_web_process_needs_nothing_that_its_parent_has_loaded(tmp_path: Path, code: str) -> None:
    """Since Python 3.14 worker processes are no forks: they import the application from nothing."""
    (tmp_path / "key").write_text("k" * 64)
    done = run_python(code, LARDER_DATA_DIR=str(tmp_path), LARDER_SECRET_KEY_FILE=str(tmp_path / "key"))
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_failed_installation_is_not_taken_for_done(machine: Machine) -> None:
    machine.python(13)
    (machine.checkout / "empty.txt").write_text("./no-such-package==1\n")

    done = machine.prepare()

    assert done.returncode != 0
    assert not (machine.venv / "installed-empty.txt").exists()
