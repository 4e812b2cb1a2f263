"""An import of many tags: what comes first, how much is queued, how far it is, and that nobody else waits for it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import BreakingChanges, Namespace
from apps.contrib.git import estimating, listing_changes, queueing, syncing, tasks
from apps.contrib.git.models import GitRepository, Tag, Verdict
from apps.contrib.git.remote.refs import Ref
from apps.contrib.git.tests.conftest import Git, module, work_off
from apps.jobs import turns
from apps.jobs.models import WORKING, Job
from apps.releases.models import Release
from tests.builders.git_servers import Repository
from tests.rows import for_each_row

FIRST = [f"v1.{minor}.0" for minor in range(1, 13)]


def listed(git: Git, *names: str) -> None:
    """Leave what a listing that finds these tags leaves, and has queued."""
    git.repository.refresh_from_db()  # rows of a table share it
    found = [Ref(name, "1" * 40) for name in names]
    listing_changes.apply(git.repository, found, now=timezone.now())
    GitRepository.objects.filter(pk=git.repository.pk).update(fetched_at=timezone.now())


def queued() -> list[tuple[str, bool]]:
    """The tags whose fetches are queued, whose turn comes first, and whether they are in bulk."""
    jobs = Job.objects.rung().in_turn()
    names = dict(Tag.objects.values_list("pk", "name"))
    return [(names[job.target], bool(job.source)) for job in jobs]


@pytest.mark.both
@for_each_row(
    ("before", "then", "order"),
    [
        # The newest version first, then the oldest; a pre-release is not the newest.
        ([], [*FIRST, "v2.0.0-rc.1"], [("v1.12.0", True), *((name, True) for name in FIRST[:7])]),
        ([], ["v1.0.0", "v1.1.0"], [("v1.0.0", False), ("v1.1.0", False)]),  # somebody waits for few
        (FIRST, [*FIRST, "v1.13.0"], [("v1.13.0", False), ("v1.12.0", True), *((name, True) for name in FIRST[:7])]),
    ],
)
def test_which_tags_come_first(git: Git, before: list[str], then: list[str], order: list[tuple[str, bool]]):
    if before:
        listed(git, *before)
    listed(git, *then)
    queueing.queue_waiting(git.repository)

    assert queued() == order


def test_of_many_tags_that_are_pushed_at_once_somebody_waits_for_the_newest(git: Git):
    listed(git, *FIRST)
    listed(git, *FIRST, *(f"v2.{minor}.0" for minor in range(20)))
    queueing.queue_waiting(git.repository)

    awaited = [name for name, in_bulk in queued() if not in_bulk]
    assert awaited == [f"v2.{minor}.0" for minor in range(12, 20)]


@pytest.mark.parametrize("rule", [BreakingChanges.ASK, BreakingChanges.REFUSE])
def test_where_the_guard_decides_each_version_comes_after_the_one_it_is_compared_with(git: Git, rule: str):
    Namespace.objects.filter(pk=git.repository.namespace_id).update(breaking_changes=rule)
    git.repository.namespace.refresh_from_db()
    listed(git, *FIRST)
    queueing.queue_waiting(git.repository)

    assert [name for name, _ in queued()] == FIRST[:8]


@pytest.mark.slow
def test_a_repository_has_eight_tags_fetched_or_checked_at_once_and_waits_for_no_statement(
    git: Git, upstream: Repository
):
    for name in FIRST:
        upstream.tag(name)
    syncing.sync(repository=git.repository, actor=git.actor)
    while job := Job.objects.claimable().filter(kind__in=tasks.WORKS).order_by("pk").first():
        tasks.run_here(job.pk)
        kinds = turns.kinds_under_way(queueing.source_of(git.repository.pk))
        assert len(kinds) <= 8
    assert sorted(set(kinds)) == ["publish-module"], "eight were fetched, and none is checked yet"
    assert Tag.objects.filter(verdict=Verdict.WAITING).count() == 4

    work_off()
    assert set(git.shown.values()) == {"published"}
    statements = Job.objects.filter(kind="state-release", state__in=WORKING)
    assert statements.count() == 8, "a sweep asks for the others"
    assert set(statements.values_list("source", flat=True)) == {queueing.source_of(git.repository.pk)}


@pytest.mark.slow
def test_the_newest_of_an_import_is_compared_with_its_predecessor_once_that_arrives(git: Git, upstream: Repository):
    """It was published without: nothing to compare with. Each version before it arrives, and the last one counts."""
    upstream.commit(module("newest") | {"inputs.tf": ""})
    upstream.tag("v1.10.0")
    git.sync()

    for number in (1, 9):
        upstream.commit(module(str(number)) | {"inputs.tf": 'variable "size" {\n  type = string\n}\n'})
        upstream.tag(f"v1.{number}.0")
        git.sync()
        notes = dict(Release.objects.values_list("version", "notes"))
        found = notes["1.10.0"]["guard"]
        assert (found["against"], found["breaking"], found["is_late"]) == (f"1.{number}.0", 1, True)
    assert notes["1.9.0"]["guard"]["against"] == "1.1.0"
    assert "is_late" not in notes["1.9.0"]["guard"]


@pytest.mark.slow
def test_what_was_compared_in_time_stays_as_it_was_judged(git: Git, upstream: Repository):
    upstream.tag("v1.0.0")
    upstream.tag("v1.2.0")
    git.sync()
    upstream.tag("v1.1.0")
    git.sync()

    assert Release.objects.get(version="1.2.0").notes["guard"]["against"] == "1.0.0"


@pytest.mark.both
def test_how_far_an_import_is_and_how_long_the_rest_takes(git: Git):
    listed(git, *FIRST, "nightly")
    now = timezone.now()
    for number, name in enumerate(FIRST[:4]):
        done = now - timedelta(seconds=60 - 10 * number)
        Tag.objects.filter(name=name).update(verdict=Verdict.REFUSED, changed_at=done)
    Tag.objects.filter(name=FIRST[4]).update(code="cooling_down")
    Tag.objects.filter(name=FIRST[5]).update(verdict=Verdict.MOVED, changed_at=now - timedelta(days=1))
    GitRepository.objects.filter(pk=git.repository.pk).update(started_at=now)
    git.repository.refresh_from_db()

    found = estimating.progress_of([git.repository])[git.repository.pk]
    assert (found.done, found.total) == (5, 11)
    assert found.seconds_left == pytest.approx(6 * 20, abs=4), "six wait, and one took 20 seconds"

    Tag.objects.filter(verdict=Verdict.REFUSED).update(changed_at=now - timedelta(hours=1))
    assert estimating.progress_of([git.repository])[git.repository.pk].seconds_left is None
