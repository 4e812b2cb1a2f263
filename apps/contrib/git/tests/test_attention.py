"""What home shows of repositories: owners act on alarms and failures, publishers learn of a failure."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.contrib.git.models import GitRepository, Tag, Verdict
from apps.notify.attention import table
from apps.notify.attention.matter import Item, Person


@pytest.fixture
def repository(acme: Namespace, dora: User) -> GitRepository:
    machine = User.objects.create(username="acme:git-1[bot]", is_service=True)
    url, now = "https://git.example.com/acme/vpc", timezone.now()
    fields = {"namespace": acme, "user": machine, "created_by": dora, "hook_id": "x"}
    return GitRepository.objects.create(url=url, started_at=now, **fields)


def seen(user: User) -> tuple[list[Item], list[Item]]:
    return table.lines_for(Person.of(Viewer(user)))


@pytest.mark.both
def test_a_repository_that_fails_for_long_is_for_owners_to_fix_and_publishers_to_know(
    repository: GitRepository, alice: User, bob: User, dora: User
):
    failing = GitRepository.objects.filter(pk=repository.pk)
    failing.update(failing_since=timezone.now() - timedelta(minutes=50), failure="The token was rejected.")
    assert seen(dora) == ([], [])
    failing.update(failing_since=timezone.now() - timedelta(hours=2))

    [[asked], []] = seen(dora)
    assert (asked.act, asked.url) == ("Fix it", f"/namespaces/acme/git/{repository.pk}")
    assert asked.text == "https://git.example.com/acme/vpc: The token was rejected."
    [[], [told]] = seen(alice)
    assert told.title == asked.title == "A Git repository of acme can't be read"
    assert "token" not in told.text
    assert seen(bob) == ([], [])


@pytest.mark.both
def test_tags_with_an_alarm_are_counted_for_owners_for_two_weeks(repository: GitRepository, alice: User, dora: User):
    now = timezone.now()
    for number, verdict in enumerate([Verdict.MOVED, Verdict.REFUSED, Verdict.REFUSED, Verdict.PUBLISHED]):
        Tag.objects.create(
            repository=repository, name=f"v{number}", commit="1" * 40, verdict=verdict, seen_at=now, changed_at=now
        )

    to_do, to_know = seen(dora)
    assert [one.title for one in to_do] == [
        "A Git tag of acme points to another commit than its release",
        "2 Git tags of acme were refused",
    ]
    assert {one.act for one in to_do} == {"Review"}
    assert to_know == []
    assert seen(alice) == ([], [])
    Tag.objects.update(changed_at=now - timedelta(days=15))
    assert seen(dora) == ([], [])
