"""The progress of an import, and an estimate of the time that the rest takes."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Q
from django.utils import timezone

from apps.contrib.git.models import COOLING_DOWN, GitRepository, RepositoryState, Tag, Verdict

# By the tags that were done lately: an import waits for others, and then does not.
LATELY = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` tags have a verdict. `seconds_left` is None if nothing tells: none waits, or too few are done.

    Tags that no rule fits, and those that policy holds back, do not count.
    """

    done: int
    total: int
    seconds_left: int | None

    @property
    def left(self) -> int:
        return self.total - self.done


def progress_of(repositories: Collection[GitRepository]) -> dict[int, Progress]:
    """Return the progress of each repository, by its primary key. One query."""
    now = timezone.now()
    is_waiting = Q(shown=Verdict.WAITING)
    lately = ~is_waiting & Q(changed_at__gt=now - LATELY)
    rows = Tag.objects.filter(repository__in=repositories).with_shown().exclude(verdict=Verdict.IGNORED)
    counted = rows.exclude(verdict=Verdict.WAITING, code=COOLING_DOWN).order_by().values("repository")
    found: dict[int, dict[str, Any]] = {
        row["repository"]: dict(row)
        for row in counted.annotate(
            total=Count("pk"),
            left=Count("pk", filter=is_waiting),
            lately=Count("pk", filter=lately),
            since=Min("changed_at", filter=lately),
        )
    }
    return {one.pk: _progress(one, found.get(one.pk), now) for one in repositories}


def _progress(repository: GitRepository, row: dict[str, Any] | None, now: datetime) -> Progress:
    if row is None:
        return Progress(0, 0, None)
    left, done = row["left"], row["total"] - row["left"]
    # The first one tells when to begin, and nothing about how long it took.
    if not left or row["lately"] <= 1 or repository.state != RepositoryState.ACTIVE:
        return Progress(done, row["total"], None)
    each = (now - row["since"]) / (row["lately"] - 1)
    return Progress(done, row["total"], round(left * each.total_seconds()))
