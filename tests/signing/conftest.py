from collections.abc import Callable
from pathlib import Path

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.jobs.models import Job
from apps.signing import gnupg_home, keys
from apps.signing.tasks import make_signing_key
from tests.lib.sandbox.processes import commands


@pytest.fixture
def owner(dora: User) -> Viewer:
    return Viewer(dora)


@pytest.fixture
def make_keys() -> Callable[[], None]:
    """Do what a worker would with each request for a key."""

    def run() -> None:
        for job in Job.objects.filter(kind=keys.JOB, state="queued").order_by("pk"):
            make_signing_key(job_id=job.pk)

    return run


def homes_of(process: int) -> list[Path]:
    return sorted(gnupg_home.base().glob(f"larder-gpg-{process}-*"))


def agents_in(marks: str) -> list[str]:
    """The command lines of running agents that name it."""
    return [command for command in commands() if "gpg-agent" in command and marks in command]
