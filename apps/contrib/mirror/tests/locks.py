"""A folder with providers to lock, for real clients, and what Larder makes of the same."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from django.utils import timezone

from apps.accounts.access.gate import NOBODY, Viewer
from apps.contrib.mirror.ahead import lock_requests, locking, run_threads
from apps.contrib.mirror.tests.fetched import work
from apps.jobs.models import Job
from tests.builders.misbehaving import HOST, Registry

LOCK = ".terraform.lock.hcl"
PLATFORMS = ("linux_amd64", "darwin_arm64")


class Folder:
    """A folder in which a client runs `providers lock` and `init`, asking the registry directly."""

    def __init__(self, path: Path, client: str, registry: Registry, more: str = "") -> None:
        self.path, self.client = path / f"folder-{time.monotonic_ns()}", client
        self.path.mkdir(parents=True)
        (self.path / "ca.pem").write_text(registry.ca)
        (self.path / "rc").write_text(registry.cli_host + more)

    def require(self, block: str) -> None:
        (self.path / "main.tf").write_text(f"terraform {{\n  required_providers {{\n{block}\n  }}\n}}\n")

    @property
    def lock(self) -> str:
        return (self.path / LOCK).read_text()

    def write_lock(self, text: str) -> None:
        (self.path / LOCK).write_text(text)

    def run(self, *words: str, is_right: bool = True) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "LARDER_"))}
        environment = kept | {
            "TF_CLI_CONFIG_FILE": str(self.path / "rc"),
            "SSL_CERT_FILE": str(self.path / "ca.pem"),
            "CHECKPOINT_DISABLE": "1",
            "HOME": str(self.path),
            "PATH": f"{os.environ['PATH']}:/tmp/bin",
        }
        words = (self.client, *words, "-no-color")
        done = subprocess.run(words, cwd=self.path, env=environment, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        assert (done.returncode == 0) is is_right, said
        return said

    def locked(self, *platforms: str) -> str:
        self.run("providers", "lock", *(f"-platform={platform}" for platform in platforms))
        return self.lock


def complete(
    *, lock="", block="", platforms=PLATFORMS, client="", viewer: Viewer = NOBODY, required_providers=""
) -> str:
    """Return Larder's answer, with a worker at its side."""
    request = lock_requests.read(
        lock=lock,
        required_providers=required_providers or block,
        platforms=platforms,
        client=client,
    )
    own, since = locking.own_versions(request, viewer), timezone.now()
    for _ in range(20):
        done = locking.at_once(request, own, by=viewer.user_id, since=since)
        if done is not None:
            return str(done)
        assert work()
    raise AssertionError("it is fetched again and again")


def finish(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a worker with threads: what the run waits for is fetched meanwhile."""
    monkeypatch.setattr("apps.contrib.mirror.ahead.locking.time.sleep", lambda _: work())
    run_threads.run_here(Job.objects.filter(kind=locking.JOB).latest("pk").pk)


def entry(name: str, address: str, constraint: str = "") -> str:
    version = f', version = "{constraint}"' if constraint else ""
    return f'{name} = {{ source = "{address}"{version} }}'


__all__ = ["HOST", "LOCK", "PLATFORMS", "Folder", "complete", "entry", "finish"]
