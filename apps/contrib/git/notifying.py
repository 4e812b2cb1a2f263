"""Notices to owners: tags that were refused, all of a run in one event, and a repository that fails for long."""

from collections import Counter
from datetime import datetime, timedelta

from django.db import transaction

from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.contrib.git import row_locks
from apps.contrib.git.models import COOLING_DOWN, GitRepository, Tag, TagQuerySet, Verdict

# Most servers that restart are back by then.
FAILING_FOR_LONG = timedelta(hours=1)
MAX_TAGS = 100


def notify_refused(number: int) -> None:
    """Record one event for the tags of a repository that were refused since the last one, once no tag waits.

    So 200 refusals of 300 tags are one mail. After a crash the next listing calls it again.
    """
    if _waiting(number).exists() or not Tag.objects.filter(repository=number, verdict=Verdict.REFUSED).exists():
        return
    with transaction.atomic():
        row = row_locks.working(number)
        # Another worker may have come first.
        if row is None or _waiting(number).exists():
            return
        # What the pipeline rejected has a release, or had one, and a mail for it.
        refused = Tag.objects.filter(
            repository=row,
            verdict=Verdict.REFUSED,
            release=None,
            published_commit="",
            changed_at__gt=row.notified_until,
        )
        found = list(
            refused.order_by("sort_key", "pk").only("name", "module", "version", "code", "reason", "changed_at")
        )
        if not found:
            return
        _record_refused(row, found)
        # Not the time of now: clocks of workers differ.
        row.notified_until = max(tag.changed_at for tag in found)
        row.save(update_fields=["notified_until"])


def record_failing(row: GitRepository, *, before: datetime | None, at: datetime) -> None:
    """Record once that a repository has failed for long. `before`: of the failure before the one `at`."""
    since = row.failing_since
    if since is None or at - since < FAILING_FOR_LONG or (before is not None and before - since >= FAILING_FOR_LONG):
        return
    record(
        Kind.GIT_REPOSITORY_FAILING,
        actor_id=None,
        subject=row.namespace.name,
        repository=row.pk,
        code=row.failure_code,
        reason=f"{row.url} has failed since {since:%Y-%m-%d %H:%M} UTC: {row.failure}"[:500],
    )


def _waiting(number: int) -> TagQuerySet:
    return Tag.objects.filter(repository=number, verdict=Verdict.WAITING).exclude(code=COOLING_DOWN)


def _record_refused(row: GitRepository, found: list[Tag]) -> None:
    first, namespace = found[0], row.namespace.name
    if len(found) == 1:
        record(
            Kind.GIT_REFUSALS_NOTIFIED,
            actor_id=None,
            subject=f"{namespace}/{first.module} {first.version}",
            repository=row.pk,
            tag=first.name,
            code=first.code,
            reason=f"{first.name} of {row.url}: {first.reason}"[:500],
        )
        return
    codes = ", ".join(f"{count:,} {code}" for code, count in Counter(tag.code for tag in found).most_common())
    record(
        Kind.GIT_REFUSALS_NOTIFIED,
        actor_id=None,
        subject=namespace,
        repository=row.pk,
        tags=list(dict.fromkeys(tag.name for tag in found))[:MAX_TAGS],
        reason=f"{len(found):,} versions from {row.url} were refused ({codes}). Its page has the reason of each."[:500],
    )
