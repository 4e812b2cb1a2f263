"""The health of publishing from Git, for /metrics, the check-up and the status page. No Git server is asked."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from apps.contrib.git import host_scanning, previewing, queueing, syncing
from apps.contrib.git.models import GitRepository
from apps.jobs.models import Job

QUEUE = "upstream"
KINDS = (syncing.JOB, queueing.PUBLISH_JOB, previewing.JOB, host_scanning.JOB)
LEAST_GIT = (2, 37)  # http.curloptResolve, by which the checked address is pinned
# Longer than the backlog of a first run: no worker takes the job, or its servers hang.
LONG_WAIT = timedelta(minutes=10)
MAX_NAMED = 10
OK, WARN, FAIL = "ok", "warn", "fail"
# State, what was found, and how to fix it.
Told = tuple[str, str, str]


# --- /metrics ---------------------------------------------------------------------------------------------------------


def families() -> Iterator[Metric]:
    """Yield nothing while no repository is connected."""
    works = Q(suspended_at=None)
    states = {
        "draft": works & Q(started_at=None),
        "active": works & Q(started_at__isnull=False, failed_at=None),
        "failing": works & Q(started_at__isnull=False, failed_at__isnull=False),
        "suspended": ~works,
    }
    found = _connected().aggregate(**{state: Count("pk", filter=which) for state, which in states.items()})
    if not any(found.values()):
        return
    gauge = GaugeMetricFamily(
        "larder_git_repositories", "Connected Git repositories, by their state.", labels=["state"]
    )
    for state, number in found.items():
        gauge.add_metric([state], number)
    yield gauge
    age = _oldest_wait().total_seconds()
    yield GaugeMetricFamily("larder_git_oldest_job_seconds", "Age of the oldest listing or fetch that waits.", age)


# --- The status page --------------------------------------------------------------------------------------------------


def part_states() -> dict[str, bool]:
    """Return whether workers take what waits; empty if no repository is connected.

    A repository that fails is for its owners: they get a mail, and other repositories are published.
    """
    return {"git": _oldest_wait() < LONG_WAIT} if _connected().exists() else {}


# --- The check-up -----------------------------------------------------------------------------------------------------


def programs() -> Iterator[Told]:
    """Yield whether this host can fetch from Git. Only workers of the queue do; others need no program."""
    if QUEUE not in settings.WORKER_QUEUES:
        yield OK, "this host does not fetch from Git (LARDER_WORKER_QUEUES)", ""
        return
    hint = "Install git 2.37 or later and the OpenSSH client where workers of the queue upstream run."
    missing = [name for name in ("git", "ssh") if shutil.which(name) is None]
    if missing:
        state = FAIL if _connected().exists() else WARN
        yield state, f"not installed: {' and '.join(missing)}; nothing is published from Git", hint
        return
    done = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=10, check=False)  # noqa: S607
    found = re.search(r"(\d+)\.(\d+)", done.stdout)
    if found is None or tuple(map(int, found.groups())) < LEAST_GIT:
        said = (done.stdout or done.stderr).strip()[:80]
        yield FAIL if _connected().exists() else WARN, f"{said or 'git says no version'}, expected 2.37 or later", hint
        return
    yield OK, done.stdout.strip()[:80], ""


def repositories() -> Iterator[Told]:
    """Yield what workers last found; a repository whose owners must act does not fail the check-up."""
    found = failing().select_related("namespace").order_by("failed_at", "pk")
    count = found.count()
    if not count:
        number = _connected().count()
        yield OK, f"{number:,} connected, none fails" if number else "none is connected", ""
        return
    named = [f"{row.url} of {row.namespace} ({row.failure_code})" for row in found[:MAX_NAMED]]
    more = f" and {count - MAX_NAMED:,} more" if count > MAX_NAMED else ""
    yield WARN, f"{count:,} cannot be read: {', '.join(named)}{more}", "docs/git.md, Codes of a repository that fails."


def _oldest_wait() -> timedelta:
    since = Job.objects.filter(kind__in=KINDS).waiting_since()
    return timedelta() if since is None else max(timedelta(), timezone.now() - since)


def failing() -> QuerySet[GitRepository]:
    return _connected().filter(suspended_at=None).exclude(failed_at=None)


def why(repository: GitRepository) -> str:
    """Say to operators why a repository cannot be read, and since when."""
    since = repository.failing_since or repository.failed_at
    return f"Of {repository.namespace}, since {since:%d %b %H:%M} UTC: {repository.failure or repository.failure_code}"


def _connected() -> QuerySet[GitRepository]:
    return GitRepository.objects.filter(ended_at=None, namespace__deleted_at=None)
