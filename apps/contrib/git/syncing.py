"""List the tags of a repository, and say what becomes of each. The job is short; `publishing` fetches each tag."""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.utils import timezone

from apps.accounts.access import machines
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Act
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.contrib.git import listing_changes, notifying, places, queueing, requesting, row_locks
from apps.contrib.git.models import MAX_REASON, POLICY, GitRepository, Precedence, Tag, Verdict
from apps.contrib.git.places import Found
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.tag_matching import TooManyVersions
from apps.jobs import database_availability, queue, turns
from apps.jobs.claims import Claim
from apps.lib.errors import Conflict, Invalid
from apps.releases.publishing.fault_injection import fault_point

JOB = requesting.LISTING
MAX_SELECTED = 50_000
# A repository whose server is away is asked again after 1, 2, 4 … 60 minutes.
MAX_BACKOFF_MINUTES = 60
# Webhooks that come while the tags are listed have it done again at once, at most so often.
MAX_ROUNDS = 5
HOST_KEY_CHANGED = "host_key_changed"
# After these nothing is fetched until an owner has confirmed the keys.
HOST_KEY_CODES = (HOST_KEY_CHANGED, "host_key_unknown")

log = structlog.get_logger("larder.sources")


@transaction.atomic
def sync(*, repository: GitRepository, actor: Viewer, tags: Collection[str] | None = None) -> None:
    """List now. The first time it is started by this: with `tags` only those are published of the tags that are there,
    and the others are ignored as not selected; None takes all that fit a rule. Later `tags` adds to the selection.

    Raises Conflict for a repository that was disconnected or has no rules, and Invalid.
    """
    row = row_locks.required_working(repository)
    if not row.rules.exists():
        raise Conflict("The repository has no rules, so no tag would be published.", hint="Add a rule first.")
    names = None if tags is None else sorted({str(name) for name in tags})
    if names is not None and len(names) > MAX_SELECTED:
        raise Invalid(f"{len(names):,} tags are selected, expected at most {MAX_SELECTED:,}.")
    now = timezone.now()
    if row.started_at is None:
        machines.acted(row.user_id, actor, Act.STARTED)
    requesting.ask(row, actor)
    if row.fetched_at is None:
        # Selected twice before the first listing: both count, and all stays all.
        if row.started_at is not None:
            names = None if names is None or row.selected is None else sorted({*names, *row.selected})
        row.selected = names
        row.started_at = row.started_at or now
        row.save(update_fields=["selected", "started_at"])
    elif names:
        chosen = Tag.objects.filter(repository=row, code=listing_changes.NOT_SELECTED, name__in=names)
        few = len(names) <= turns.FEW
        precedence = Precedence.AWAITED if few else Precedence.IMPORTED
        chosen.update(**queueing.AGAIN, precedence=precedence, changed_at=now)
        queueing.queue_waiting(row)
    actor.record(
        Kind.GIT_REPOSITORY_SYNC_REQUESTED,
        subject=row.namespace.name,
        repository=row.pk,
        selected=None if names is None else len(names),
    )
    listen(row)
    repository.refresh_from_db()


@transaction.atomic
def retry(*, tag: Tag, actor: Viewer) -> None:
    """Try a tag again that was refused, waits, or was ignored as not selected or by policy. Raises Conflict."""
    repository = row_locks.required_working(tag.repository)
    if repository.started_at is None:
        raise Conflict("The repository is a draft: nothing of it is published yet.", hint="Start it first.")
    row = Tag.objects.filter(pk=tag.pk).with_shown().first()
    if row is None:
        raise Conflict("This tag is no longer listed.", hint="Reload the page.")
    if not may_retry(row):
        raise Conflict(
            f"The tag {row.name} is {_words(row.shown)}: it cannot be tried again.", hint=_way_out(row.shown)
        )
    requesting.ask(repository, actor, row)
    Tag.objects.filter(pk=row.pk).update(
        **queueing.AGAIN,
        precedence=Precedence.AWAITED,
        release=None,
        published_commit="",
        changed_at=timezone.now(),
    )
    actor.record(
        Kind.GIT_TAG_RETRIED,
        subject=repository.namespace.name,
        repository=repository.pk,
        tag=row.name,
        module=row.module,
        commit=row.commit,
    )
    queueing.enqueue_publish(row.pk, repository, created_by_id=actor.user_id)
    tag.refresh_from_db()


def may_retry(tag: Tag) -> bool:
    """For a tag with its verdict as readers see it. While the pipeline has its release, it only waits."""
    if tag.shown == Verdict.IGNORED:
        return tag.code in (listing_changes.NOT_SELECTED, POLICY, "disconnected")
    return tag.shown == Verdict.REFUSED or (tag.shown == Verdict.WAITING and tag.release_id is None)


def listen(repository: GitRepository) -> None:
    """List as soon as possible: a webhook came, or it is due. Without effect on a draft, on one that is suspended, and
    while such a job waits.
    """
    rows = GitRepository.objects.filter(pk=repository.pk, ended_at=None, suspended_at=None).exclude(started_at=None)
    # A job that runs already may have listed before the push: it sees the new time, and lists again.
    if rows.update(next_at=timezone.now()):
        queue.enqueue_once(JOB, target=repository.pk, created_by_id=None)


def list_due(now: datetime) -> int:
    """List the repositories whose time has come; return how many."""
    due = GitRepository.objects.filter(ended_at=None, suspended_at=None, next_at__lte=now).exclude(started_at=None)
    numbers = due.order_by("next_at").values_list("pk", flat=True)
    return sum(queue.enqueue_once(JOB, target=number, created_by_id=None) for number in numbers)


def work(claim: Claim, is_ending: Callable[[], bool]) -> None:
    for _ in range(MAX_ROUNDS):
        rows = GitRepository.objects.select_related("namespace").exclude(started_at=None)
        repository = rows.filter(pk=claim.target, ended_at=None, suspended_at=None).first()
        if repository is None or _list(claim, repository) or is_ending():
            return


# --- In a worker ------------------------------------------------------------------------------------------------------


class _Log:
    """A line for each step, with its time."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, text: str) -> None:
        self.lines.append(f"{timezone.now():%Y-%m-%d %H:%M:%S} UTC  {text}")

    def __str__(self) -> str:
        return "\n".join(self.lines)


def _list(claim: Claim, repository: GitRepository) -> bool:
    """List once; False if another listing was asked for meanwhile."""
    said = _Log()
    if claim.exhausted:
        problem = GitFailed("internal_error", "Larder could not list the tags because of an internal error.")
        return _fail(claim, repository, problem, said)
    place = places.of(repository)
    said.add(f"Listing the {place.noun} of {repository.url}")
    asked = requesting.open_ones(repository)
    database_availability.release_connection()
    try:
        found = place.listed()
    except GitFailed as failed:
        return _fail(claim, repository, failed, said)
    fault_point("after:git-list", Tag())
    said.add(f"Found {found}")
    try:
        return _apply(claim, repository, found, said, asked)
    except TooManyVersions as problem:
        return _fail(claim, repository, GitFailed(problem.code, str(problem), hint=problem.hint), said)


def _apply(claim: Claim, repository: GitRepository, found: Found, said: _Log, asked: Collection[int]) -> bool:
    now = timezone.now()
    with transaction.atomic():
        claim.guard()
        row = row_locks.working(repository.pk)
        if row is None:
            return True
        tags, match = found.matched(row, now)
        changes = listing_changes.apply(row, tags, now=now, match=match)
        requesting.answered(asked, now=now)
        queued = queueing.queue_waiting(row)
        said.add(str(changes))
        if queued:
            said.add(f"Queued {queued} {'tag' if queued == 1 else 'tags'} to be fetched and published")
        GitRepository.objects.filter(pk=row.pk).update(
            fetched_at=now,
            failed_at=None,
            failing_since=None,
            failures=0,
            failure_code="",
            failure="",
            selected=None,
            log=str(said),
        )
        is_last = _set_next(repository, now + timedelta(minutes=row.poll_minutes))
        notifying.notify_refused(row.pk)
    if any(changes.counts.values()):
        log.info("git_tags_changed", repository=repository.pk, **changes.counts)
    return is_last


def _fail(claim: Claim, repository: GitRepository, failed: GitFailed, said: _Log) -> bool:
    said.add(f"Failed: {failed} {failed.hint}".rstrip())
    with transaction.atomic():
        claim.guard()
        row = row_locks.working(repository.pk)
        if row is None:
            return True
        note_failure(row, failed, log_text=str(said))
        return _set_next(repository, timezone.now() + backoff(row))


def note_failure(row: GitRepository, failed: GitFailed, *, log_text: str | None = None) -> None:
    """Write what its server did, in the caller's transaction. A host key that changed is an alarm."""
    before, now = row.failed_at, timezone.now()
    text = f"{failed} {failed.hint}".strip()[:MAX_REASON]
    if failed.code == HOST_KEY_CHANGED and row.failure_code != HOST_KEY_CHANGED:
        record(
            Kind.GIT_HOST_KEYS_CHANGED,
            actor_id=None,
            subject=row.namespace.name,
            repository=row.pk,
            reason=f"{row.url}: {text}"[:300],
        )
    log.warning("git_repository_failed", repository=row.pk, code=failed.code, text=text)
    row.failures, row.failed_at, row.failure_code, row.failure = row.failures + 1, now, failed.code, text
    row.failing_since = row.failing_since or now
    if failed.code != HOST_KEY_CHANGED:
        notifying.record_failing(row, before=before, at=now)
    columns = ["failures", "failed_at", "failing_since", "failure_code", "failure"]
    if log_text is not None:
        row.log = log_text
        columns.append("log")
    row.save(update_fields=columns)


def end_host_key_alarm(row: GitRepository) -> list[str]:
    """Take back what listings and previews said of the keys that an owner confirmed now; return the changed columns.

    Otherwise keys that change again before the next listing would raise no second alarm.
    """
    columns = []
    if row.failure_code in HOST_KEY_CODES:
        row.failures, row.failed_at, row.failing_since, row.failure_code, row.failure = 0, None, None, "", ""
        columns += ["failures", "failed_at", "failing_since", "failure_code", "failure"]
    if (row.preview.get("failure") or {}).get("code") in HOST_KEY_CODES:
        row.preview = {**row.preview, "state": "", "failure": None}
        columns.append("preview")
    return columns


def backoff(row: GitRepository) -> timedelta:
    return timedelta(minutes=min(2 ** max(0, min(row.failures, 10) - 1), MAX_BACKOFF_MINUTES))


def _set_next(repository: GitRepository, at: datetime) -> bool:
    """Set the next run; False if another time was set since this run read it, which stays."""
    return bool(GitRepository.objects.filter(pk=repository.pk, next_at=repository.next_at).update(next_at=at))


def _words(verdict: str) -> str:
    return Verdict(verdict).label.lower()


def _way_out(verdict: str) -> str:
    if verdict == Verdict.HELD:
        return "Answer the questions on its release's page."
    if verdict in (Verdict.PUBLISHED, Verdict.MOVED, Verdict.GONE):
        return "A published version never changes. Publish the new state under a new tag."
    if verdict == Verdict.IGNORED:
        return "Change the rules of the repository so that one matches the tag."
    return "Wait until it is checked."
