"""Read what became of tags."""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import Count, Q

from apps.contrib.git.models import GitRepository, Tag, TagQuerySet, Verdict
from apps.lib.errors import Reason
from apps.releases.models import State

_IN_PIPELINE = "Checking."
_IN_APPROVAL = "Awaiting approval by another person."
_WAITS = "Queued."


def tags_of(repository: GitRepository, *, verdict: str = "", q: str = "") -> TagQuerySet:
    """Return the tags with `shown` (their verdict), and their releases, the newest version first.

    `q` is a part of a tag, a module, a commit's beginning or a version.
    """
    rows = Tag.objects.filter(repository=repository).with_shown()
    if verdict:
        by_shown: dict[str, str] = {"shown": verdict}  # annotated
        rows = rows.filter(**by_shown)
    if word := q.strip():
        rows = rows.filter(
            Q(name__icontains=word) | Q(module__icontains=word) | Q(version=word) | Q(commit__startswith=word.lower())
        )
    return rows.select_related("release__namespace").order_by("-sort_key", "name", "pk")


def counts(repositories: Collection[GitRepository]) -> dict[int, dict[str, int]]:
    """Return how many tags of each repository, by its primary key, have each verdict. All verdicts are there. One
    query.
    """
    found = {row.pk: dict.fromkeys(Verdict.values, 0) for row in repositories}
    tags = Tag.objects.filter(repository__in=found).with_shown().order_by()
    columns = ("repository", "shown")  # annotated
    for repository, verdict, number in tags.values_list(*columns).annotate(number=Count("pk")):
        found[repository][verdict] = number
    return found


def reason_of(tag: Tag) -> str:
    """Say why, in a sentence or more: the tag's own reason, or that of its release. The tag comes from `tags_of`."""
    release = tag.release
    if release is None or tag.verdict in (Verdict.MOVED, Verdict.GONE):
        return tag.reason or (_WAITS if tag.verdict == Verdict.WAITING else "")
    if release.state == State.PURGED:
        return release.removal
    if release.state == State.HELD:
        return sentences(map(Reason.from_dict, release.questions))
    if release.state in (State.REJECTED, State.FAILED):
        return sentences(map(Reason.from_dict, release.reasons)) or tag.reason
    if release.state == State.PUBLISHED:
        return f"Published as {release}."
    return _IN_APPROVAL if release.state == State.AWAITING_APPROVAL else _IN_PIPELINE


def changed_at(tag: Tag) -> datetime:
    """Return when its verdict or commit last changed; of a published one, when its version was published.

    The row says only when the tag was listed, matched or fetched: what follows is in its release. The tag comes from
    `tags_of`.
    """
    release = tag.release
    if release is None or tag.verdict in (Verdict.MOVED, Verdict.GONE):
        return tag.changed_at
    return release.published_at or release.finished_at or tag.changed_at


def sentences(reasons: Iterable[Reason]) -> str:
    return " ".join(reason.sentence for reason in reasons)
