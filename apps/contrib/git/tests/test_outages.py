from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.contrib.git import publishing, syncing, tasks
from apps.contrib.git.models import GitRepository, Tag
from apps.contrib.git.remote import refs
from apps.contrib.git.tests.conftest import Git, module, work_off
from apps.jobs.models import Job
from apps.releases.models import Release, State
from tests.builders.git_servers import Repository, Site


def test_a_webhook_while_the_tags_are_listed_has_them_listed_again(
    git: Git, upstream: Repository, monkeypatch: pytest.MonkeyPatch
):
    rounds: list[int] = []
    listed = refs.listed

    def slowly(*arguments: Any) -> Any:
        found = listed(*arguments)
        if not rounds:
            upstream.tag("v1.0.0")  # after the listing, and before its end
            syncing.listen(git.repository)
        rounds.append(1)
        return found

    monkeypatch.setattr(refs, "listed", slowly)

    assert git.sync() == {"v1.0.0": "published"}
    assert len(rounds) == 2


def test_a_forge_that_is_down_is_asked_less_often_and_all_is_caught_up(git: Git, upstream: Repository, site: Site):
    upstream.tag("v1.0.0")
    git.sync()
    site.is_down = True
    upstream.commit(module("second"))
    upstream.tag("v1.1.0")
    pauses = []
    for _ in range(8):
        GitRepository.objects.update(next_at=timezone.now() - timedelta(seconds=1))
        tasks.poll_due()
        work_off()
        row = GitRepository.objects.get()
        assert row.next_at is not None
        pauses.append(round((row.next_at - timezone.now()).total_seconds() / 60))
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert row.failure_code
    assert "Failed" in row.log

    site.is_down = False
    GitRepository.objects.update(next_at=timezone.now())
    tasks.poll_due()
    work_off()

    assert git.shown == {"v1.0.0": "published", "v1.1.0": "published"}
    assert Release.objects.count() == 2
    row.refresh_from_db()
    assert (row.failure_code, row.failure, row.failures, row.failed_at) == ("", "", 0, None)


def test_a_forge_that_goes_down_between_listing_and_fetching_costs_no_tag(git: Git, upstream: Repository, site: Site):
    upstream.tag("v1.0.0")
    syncing.sync(repository=git.repository, actor=git.actor)
    tasks.run_here(Job.objects.get().pk)
    site.is_down = True
    work_off()
    assert git.shown == {"v1.0.0": "waiting"}
    assert "503" in git.reason("v1.0.0") or git.reason("v1.0.0")
    assert GitRepository.objects.get().failed_at is not None
    tasks.poll_due()
    assert not Job.objects.claimable().filter(kind="publish-git-tag").exists()

    site.is_down = False
    GitRepository.objects.update(next_at=timezone.now())
    Job.objects.filter(kind="publish-git-tag").delete()  # as if a worker had left it behind
    tasks.poll_due()
    work_off()

    assert git.shown == {"v1.0.0": "published"}


def test_an_expired_token_refuses_no_tag(git: Git, upstream: Repository, site: Site):
    upstream.tag("v1.0.0")
    syncing.sync(repository=git.repository, actor=git.actor)
    tasks.run_here(Job.objects.get().pk)
    site.token = "another"
    work_off()
    row = GitRepository.objects.get()
    assert (git.shown, row.failure_code) == ({"v1.0.0": "waiting"}, "unauthorized")
    assert "private" in git.reason("v1.0.0")

    site.token = ""
    assert git.sync() == {"v1.0.0": "published"}
    assert git.reason("v1.0.0") == "Published as acme/vpc/aws 1.0.0."


def test_a_tag_that_moves_between_listing_and_fetching_is_listed_again(git: Git, upstream: Repository):
    upstream.tag("v1.0.0")
    syncing.sync(repository=git.repository, actor=git.actor)
    tasks.run_here(Job.objects.get().pk)
    second = upstream.commit(module("second"))
    upstream.tag("v1.0.0")
    work_off()
    assert git.shown == {"v1.0.0": "waiting"}
    row = GitRepository.objects.get()
    assert row.failed_at is None
    assert row.next_at is not None
    assert row.next_at <= timezone.now() + timedelta(minutes=1)

    GitRepository.objects.update(next_at=timezone.now())
    tasks.poll_due()
    work_off()

    assert git.shown == {"v1.0.0": "published"}
    assert git.tag("v1.0.0").published_commit == second


@pytest.mark.slow
def test_refs_that_lie_are_refused_after_some_tries(git: Git, upstream: Repository, monkeypatch: pytest.MonkeyPatch):
    """A server that lists another commit than it has is not asked for ever."""
    upstream.tag("v1.0.0")
    listed = refs.listed

    def lying(*arguments: Any) -> Any:
        found = listed(*arguments)
        return replace(found, tags=tuple(replace(tag, commit="1" * 40) for tag in found.tags))

    monkeypatch.setattr(refs, "listed", lying)
    for _ in range(publishing.MAX_TRIES):
        assert set(git.shown.values()) <= {"waiting"}
        git.sync()

    assert git.shown == {"v1.0.0": "refused"}
    assert f"Tried {publishing.MAX_TRIES} times" in git.reason("v1.0.0")
    assert not Release.objects.exists()


def test_a_reservation_that_a_dead_worker_left_or_gave_up_is_no_refusal(git: Git, upstream: Repository):
    """Killed after the reservation, and the next worker again, after it had ended that and before it made another."""
    upstream.tag("v1.0.0")
    assert git.sync() == {"v1.0.0": "published"}
    left = Release.objects.get()
    since = left.created_at - timedelta(seconds=1)
    Tag.objects.update(verdict="waiting", release=None, published_commit="", changed_at=since)
    Release.objects.update(
        state=State.RECEIVING, received_at=None, receiving_until=timezone.now() + timedelta(minutes=1)
    )
    assert publishing._made_before(git.tag("v1.0.0")) is None
    left.refresh_from_db()
    assert left.state == State.REJECTED

    assert publishing._made_before(git.tag("v1.0.0")) is None
