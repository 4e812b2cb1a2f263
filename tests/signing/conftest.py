from collections.abc import Callable
from pathlib import Path

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.jobs.models import Job
from apps.signing import gnupg_home, keys
from apps.signing.tasks import make_signing_key


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
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        if "gpg-agent" in words and marks in words:
            found.append(words)
    return found
