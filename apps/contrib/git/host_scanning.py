"""Have a worker ask an ssh server for its host keys: pages and the API never wait for a server that says nothing.

The first keys are pinned at first sight. Later ones wait for an owner who compares them (`connecting.trust_host_keys`).
"""

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from apps.accounts.access import machines
from apps.accounts.access.gate import Viewer
from apps.accounts.access.people_only import people_only
from apps.accounts.models import Act
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.contrib.git import credentials, row_locks
from apps.contrib.git.models import GitRepository
from apps.contrib.git.remote import host_keys, remotes
from apps.contrib.git.remote.access import GitFailed
from apps.jobs import database_availability, queue
from apps.jobs.claims import Claim
from apps.jobs.models import WORKING, Job
from apps.lib.errors import Conflict, Invalid, RegistryError, TooManyAttempts, Unavailable

JOB = "scan-host-keys"
NONE, WAITING, DONE, FAILED = "none", "waiting", "done", "failed"
# Of one account in progress. A worker does one at a time of each account, so that others get their turn.
MAX_OF_ONE_ACCOUNT = 5
# Keys that were read longer ago are not pinned: the server is asked again.
MAX_AGE = timedelta(minutes=10)
_INTERRUPTED = {
    "code": "interrupted",
    "text": "Larder was stopped while it requested the host keys.",
    "hint": "Ask again.",
    "is_final": False,
}

# Of work that was asked for before a transfer.
SUSPENDED = {
    "code": "suspended",
    "text": "The repository was suspended before a worker began.",
    "hint": "Confirm it on the page of the namespace's connections, then ask again.",
    "is_final": False,
}

log = structlog.get_logger("larder.sources")


@people_only("read host keys")
def ask(*, repository: GitRepository, actor: Viewer, unless_within: timedelta = timedelta()) -> None:
    """Have a worker scan, unless one does already, or did so with success `unless_within` that time.

    `repository.host_scan` has the result: {"state": "waiting" | "done" | "failed", "keys": […], "failure": {"code",
    "text", "hint", "is_final"}}; None if none was asked for. While it waits, the rest is that of the scan before.
    Raises Conflict, also for one that is suspended, and TooManyAttempts for an account that has too many scans in
    progress.
    """
    if remotes.parse(repository.url).scheme != "ssh":
        raise Conflict("Only ssh servers have host keys.", hint="Servers over https are trusted by their certificates.")
    at = repository.host_scanned_at
    if state_of(repository) == DONE and at is not None and timezone.now() - at < unless_within:
        return
    with transaction.atomic():
        row = row_locks.required_working(repository)
        machines.acted(row.user_id, actor, Act.SCANNED)
        enqueue(row, actor)
    repository.host_scan, repository.host_scanned_at = row.host_scan, row.host_scanned_at


def enqueue(row: GitRepository, actor: Viewer) -> None:
    """Enqueue a scan like `ask`, in the caller's transaction, which has locked the row."""
    theirs = Job.objects.filter(kind=JOB, created_by_id=actor.user_id, state__in=WORKING)
    if theirs.exclude(target=row.pk).count() >= MAX_OF_ONE_ACCOUNT:
        raise TooManyAttempts(
            f"{MAX_OF_ONE_ACCOUNT} ssh servers are being asked for their host keys for you, the maximum.",
            hint="Wait until one of them has answered.",
            wait=TooManyAttempts.max_retry_after,
        )
    if not queue.enqueue_once(JOB, target=row.pk, created_by_id=actor.user_id):
        return
    row.host_scan = {"keys": [], **(row.host_scan or {}), "state": WAITING, "failure": None}
    row.save(update_fields=["host_scan"])


def work(claim: Claim, is_ending: Callable[[], bool]) -> None:  # noqa: ARG001  # it has its own limit of time
    repository = GitRepository.objects.filter(pk=claim.target, ended_at=None).first()
    if repository is None:
        return
    found: dict[str, Any] = {"state": FAILED, "failure": _INTERRUPTED}
    if not claim.exhausted and repository.suspended_at is None:
        database_availability.release_connection()
        try:
            found = {"state": DONE, "keys": list(_scanned(repository)), "failure": None}
        except GitFailed as error:
            found = {"state": FAILED, "failure": _told(error)}
    with transaction.atomic():
        claim.guard()
        row = row_locks.connected(repository.pk)
        if row is None:
            return
        if row.suspended_at is not None:  # by now
            found = {"state": FAILED, "failure": SUSPENDED}
        row.host_scan, row.host_scanned_at = {"keys": [], **(row.host_scan or {}), **found}, timezone.now()
        row.save(update_fields=["host_scan", "host_scanned_at"])
        _pin_first(row, found.get("keys", []))


def pin_first(repository: GitRepository) -> None:
    """In a worker, before the first look: pin what the server shows if nothing is pinned. Raises GitFailed.

    For scripts that preview before the scan of the connection has ended, or after it has failed.
    """
    if repository.host_keys or remotes.parse(repository.url).scheme != "ssh":
        return
    database_availability.release_connection()
    keys = _scanned(repository)
    with transaction.atomic():
        row = row_locks.working(repository.pk)
        if row is not None:
            _pin_first(row, keys)
            repository.host_keys = row.host_keys


def found(row: GitRepository) -> list[str]:
    """Return the keys of the last scan. Raises Conflict if it is not of the last minutes, or what it failed with."""
    state, at = state_of(row), row.host_scanned_at
    if state == FAILED:
        raise refusal(row)
    if state == WAITING:
        raise Conflict("A worker is asking the server for its host keys.", hint="Wait until it has answered.")
    if state != DONE or at is None or timezone.now() - at > MAX_AGE:
        minutes = MAX_AGE.seconds // 60
        raise Conflict(
            f"Larder could not request the host keys within {minutes} minutes.",
            hint="Ask the server again, then confirm the keys that it shows.",
        )
    return list((row.host_scan or {})["keys"])


def refusal(row: GitRepository) -> RegistryError:
    """Return the error with which the last scan failed: Invalid, or Unavailable if it may work later."""
    failure = failure_of(row) or _INTERRUPTED
    error: type[RegistryError] = Invalid if failure["is_final"] else Unavailable
    host = remotes.parse(row.url).host
    return error(f"The host keys of {host} could not be read: {failure['text']}", hint=str(failure["hint"]))


def state_of(row: GitRepository) -> str:
    return str((row.host_scan or {}).get("state") or NONE)


def failure_of(row: GitRepository) -> dict[str, Any] | None:
    return (row.host_scan or {}).get("failure") if state_of(row) == FAILED else None


def states_of(rows: Collection[int]) -> Mapping[int, object]:
    """Return the states in the form of `jobs.waiting`."""
    return dict(GitRepository.objects.filter(pk__in=rows).values_list("pk", "host_scan__state"))


def _scanned(repository: GitRepository) -> tuple[str, ...]:
    """Raises GitFailed."""
    remote = remotes.parse(repository.url)
    try:
        return host_keys.scanned(remote, credentials.open_access())
    except GitFailed as failed:
        log.warning("git_host_keys_not_scanned", repository=repository.pk, host=remote.host, code=failed.code)
        raise


def _told(failed: GitFailed) -> dict[str, Any]:
    return {"code": failed.code, "text": str(failed), "hint": failed.hint, "is_final": failed.is_final}


def _pin_first(row: GitRepository, keys: Collection[str]) -> None:
    """The keys that the server shows first are trusted by the person who connected it; pages show them."""
    if row.host_keys or not keys:
        return
    row.host_keys = list(keys)
    row.save(update_fields=["host_keys"])
    record(
        Kind.GIT_HOST_KEYS_TRUSTED,
        actor_id=row.created_by_id,
        token_id=row.created_by_token_id,
        subject=row.namespace.name,
        repository=row.pk,
        known=[],
        found=sorted(map(host_keys.fingerprint, keys)),
    )
