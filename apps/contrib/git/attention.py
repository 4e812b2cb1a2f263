"""The rows of repositories in the table of what needs attention: tags with an alarm, and repositories that fail."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Count
from django.urls import reverse
from django.utils import timezone

from apps.contrib.git.models import GitRepository, Tag, Verdict
from apps.contrib.git.notifying import FAILING_FOR_LONG
from apps.notify.attention import readers
from apps.notify.attention.matter import MOST, Item, Matter, Person
from apps.notify.attention.perhaps import Questions, moment
from apps.notify.models import Topic

# Nothing ends the alarm of a tag, so home forgets it; the page of the repository does not.
SHOWN_FOR = timedelta(days=14)
_CHANGED_SINCE = moment(-SHOWN_FOR)
_FAILING_SINCE = moment(-FAILING_FOR_LONG)
# Of one tag, and of several.
_DONE = {
    Verdict.MOVED: ("points to another commit than its release", "point to other commits than their releases", "bad"),
    Verdict.GONE: ("was deleted", "were deleted", "warn"),
    Verdict.REFUSED: ("was refused", "were refused", "warn"),
}


def tags(person: Person) -> Iterator[Item]:
    if not person.owned_names:
        return
    rows = Tag.objects.filter(
        repository__namespace__in=person.owned,
        repository__ended_at=None,
        verdict__in=list(_DONE),
        changed_at__gt=timezone.now() - SHOWN_FOR,
    ).exclude(verdict=Verdict.REFUSED, release__isnull=False)  # the release has a line already
    names = ("repository", "repository__namespace__name", "repository__url", "verdict")
    counted = rows.values_list(*names).annotate(count=Count("pk")).order_by("repository", "verdict")
    for number, namespace, url, verdict, count in counted[:MOST]:
        one, many, tone = _DONE[Verdict(verdict)]
        yield Item(
            f"A Git tag of {namespace} {one}" if count == 1 else f"{count:,} Git tags of {namespace} {many}",
            reverse("portal:git-repository", args=[namespace, number]),
            url,
            act="Review",
            tone=tone,
            picture="triangle-alert",
        )


def perhaps_tags() -> Questions:
    return (Tag.objects.filter(verdict__in=list(_DONE), changed_at__gt=_CHANGED_SINCE, repository__ended_at=None),)


def perhaps_repositories() -> Questions:
    return (GitRepository.objects.filter(failing_since__lt=_FAILING_SINCE, ended_at=None),)


def repositories(person: Person) -> Iterator[Item]:
    """Yield those that fail: owners fix them, publishers learn why no tag becomes a version."""
    if not person.publishes:
        return
    failing = GitRepository.objects.filter(
        namespace__in=person.publishing,
        ended_at=None,
        suspended_at=None,
        started_at__isnull=False,
        failing_since__lt=timezone.now() - FAILING_FOR_LONG,
    )
    for row in failing.select_related("namespace").order_by("failing_since", "pk")[:MOST]:
        may_act = row.namespace.name in person.owned_names
        yield Item(
            f"A Git repository of {row.namespace} can't be read",
            reverse("portal:git-repository", args=[row.namespace.name, row.pk]),
            f"{row.url}: {row.failure}" if may_act else f"{row.url}: no new tag is published. Its owners can fix it.",
            act="Fix it" if may_act else "",
            tone="bad" if may_act else "warn",
            picture="triangle-alert",
        )


TAGS = Matter(
    "tag",
    Topic.GIT,
    ("tag.refused", "tag.moved", "tag.deleted"),
    can_act=readers.owners,
    act="Open the repository",
    at_home=tags,
    perhaps=perhaps_tags,
    rank=3,
)
REPOSITORIES = Matter(
    "repository",
    Topic.GIT,
    ("repository.failing", "repository.host-keys-changed"),
    can_act=readers.owners,
    act="Fix the repository",
    at_home=repositories,
    perhaps=perhaps_repositories,
    rank=3,
)
