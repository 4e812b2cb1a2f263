"""The door of a former owner's repository: after a transfer nothing is listed, fetched or published from it, and its
webhook says why, until the new owner confirms it.
"""

import pytest
from django.utils import timezone

from apps.accounts.access import connections
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Role
from apps.contrib.git import (
    connecting,
    git_calls,
    host_scanning,
    monitoring,
    previewing,
    publishing,
    queueing,
    syncing,
    tasks,
)
from apps.contrib.git.models import GitRepository, RepositoryState, Tag, Verdict
from apps.contrib.git.remote import host_keys
from apps.contrib.git.tests.conftest import Git, module, work_off
from apps.contrib.git.tests.hooks.sending import Hook, connected, send
from apps.jobs.models import Job
from apps.lib.errors import Conflict
from apps.releases.models import Release, State
from apps.releases.publishing import approving
from tests.builders.approving import ask_for_approval
from tests.builders.connecting import hand_over
from tests.builders.git_servers import Repository
from tests.cast import person
from tests.sessions import in_browser


def waiting_jobs():
    return Job.objects.claimable().filter(kind__in=tasks.WORKS).exists()


def confirm(git, acme, alice):
    connections.confirm(namespace=acme, kind="git-repository", number=git.repository.pk, actor=Viewer(alice))


@pytest.mark.both
def test_a_transfer_closes_it_until_the_new_owner_confirms(git: Git, upstream: Repository, acme, dora, alice):
    upstream.tag("v1.0.0")
    assert git.sync() == {"v1.0.0": "published"}

    hand_over(acme, dora, alice)
    upstream.commit(module("of the former owner"))
    upstream.tag("v1.1.0")
    GitRepository.objects.update(next_at=timezone.now())

    assert (syncing.list_due(timezone.now()), queueing.queue_forgotten(), work_off()) == (0, 0, 0)
    git.repository.refresh_from_db()
    assert git.repository.state == RepositoryState.SUSPENDED
    for act in (
        lambda: syncing.sync(repository=git.repository, actor=Viewer(alice)),
        lambda: syncing.retry(tag=git.tag("v1.0.0"), actor=Viewer(alice)),
        lambda: previewing.ask(repository=git.repository, actor=Viewer(alice)),
    ):
        with pytest.raises(Conflict, match="suspended: The namespace was transferred"):
            act()
    assert not waiting_jobs()

    confirm(git, acme, alice)
    work_off()

    assert git.shown == {"v1.0.0": "published", "v1.1.0": "published"}


@pytest.mark.both
@pytest.mark.parametrize("moment", ["after:git-list", "before:git-fetch", "after:git-fetch"])
def test_what_a_worker_has_begun_ends_without_a_release(
    moment, git: Git, upstream: Repository, acme, dora, alice, monkeypatch
):
    """The transfer comes in the middle of a listing, or of the fetch of a tag. The tag goes on waiting."""
    upstream.tag("v1.0.0")

    def handed_over(name, _):
        if name == moment and acme.grants.filter(user=dora).exists():
            hand_over(acme, dora, alice)

    for room in (syncing, publishing):
        monkeypatch.setattr(room, "fault_point", handed_over)

    shown = git.sync()

    assert shown in ({}, {"v1.0.0": "waiting"})
    assert not Release.objects.filter(state=State.PUBLISHED).exists()
    assert not Tag.objects.exclude(verdict=Verdict.WAITING).exists()
    assert not waiting_jobs()

    confirm(git, acme, alice)
    work_off()
    assert git.shown == {"v1.0.0": "published"}


@pytest.mark.both
def test_its_webhook_is_refused_with_the_reason_and_counts_once_it_is_confirmed(acme, dora, alice):
    hook = Hook.recorded("github_push_tag").signed()
    repository = connected(acme, hook)
    GitRepository.objects.filter(pk=repository.pk).update(created_by=dora)
    hand_over(acme, dora, alice)

    answer = send(repository, hook)

    assert answer.status_code == 409
    assert answer.json()["error"]["message"] == "This repository is suspended: The namespace was transferred."
    assert not Job.objects.exists()
    assert send(repository, Hook.recorded("github_push_tag")).status_code == 401, "strangers read nothing of it"

    connections.confirm(namespace=acme, kind="git-repository", number=repository.pk, actor=Viewer(alice))
    assert send(repository, hook).status_code == 200, "it was no replay"


def test_owners_of_a_suspended_one_may_change_it_first_and_nothing_is_listed(git: Git, acme, dora, alice):
    git.sync()
    hand_over(acme, dora, alice)
    connecting.change(repository=git.repository, actor=Viewer(alice), rules=[], poll_minutes=60)

    assert not waiting_jobs()
    assert connections.waiting_in(acme)[0].names == ["dora", "alice"]


def test_metrics_and_the_check_up_count_it_apart(git: Git, acme, dora, alice):
    GitRepository.objects.update(started_at=timezone.now(), failed_at=timezone.now(), failure_code="x")
    hand_over(acme, dora, alice)

    gauge = next(monitoring.families())
    assert {sample.labels["state"]: sample.value for sample in gauge.samples} == {
        "draft": 0,
        "active": 0,
        "failing": 0,
        "suspended": 1,
    }
    assert [state for state, _, _ in monitoring.repositories()] == ["ok"]


def queued(git: Git, dora):
    """Of each kind of job that Dora can have waiting."""
    GitRepository.objects.update(url="ssh://git@git.acme.example/acme/vpc.git", host_keys=[])
    git.repository.refresh_from_db()
    for ask in (previewing.ask, host_scanning.ask):
        ask(repository=git.repository, actor=in_browser(dora))
    Job.objects.create(kind=syncing.JOB, target=git.repository.pk)


def test_what_was_queued_before_asks_no_server_and_says_why(git: Git, acme, dora, alice, monkeypatch):
    queued(git, dora)

    def ask(*_, **__):
        raise AssertionError("the server was asked")

    monkeypatch.setattr(host_keys, "scanned", ask)
    monkeypatch.setattr(git_calls, "listed", ask)
    hand_over(acme, dora, alice)

    assert work_off() == 3
    row = GitRepository.objects.get()
    assert (row.host_keys, row.log, row.failures) == ([], "", 0)
    failures = (host_scanning.failure_of(row) or {}, row.preview["failure"])
    assert [failure["code"] for failure in failures] == ["suspended"] * 2
    with pytest.raises(Conflict, match="is suspended"):
        host_scanning.ask(repository=row, actor=in_browser(alice))


def test_keys_that_a_server_shows_after_the_transfer_are_not_pinned(git: Git, acme, dora, alice, monkeypatch):
    queued(git, dora)
    Job.objects.exclude(kind=host_scanning.JOB).delete()

    def scanned(*_):
        hand_over(acme, dora, alice)
        return ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",)

    monkeypatch.setattr(host_keys, "scanned", scanned)
    work_off()

    row = GitRepository.objects.get()
    assert (row.host_keys, host_scanning.state_of(row)) == ([], "failed")


@pytest.mark.both
def test_what_it_sent_before_and_nobody_published_yet_is_refused(git: Git, upstream: Repository, acme, dora, alice):
    """One release is queued, and one awaits approval: nobody can approve it."""
    ask_for_approval(acme)
    upstream.tag("v1.0.0")
    git.sync()
    upstream.commit(module("more"))
    upstream.tag("v1.1.0")
    syncing.listen(git.repository)
    for kind in (syncing.JOB, "publish-git-tag"):
        tasks.run_here(Job.objects.claimable().get(kind=kind).pk)
    hand_over(acme, dora, alice)
    bob = person("rob")
    Grant.objects.create(namespace=acme, user=bob, role=Role.PUBLISHER)
    waiting = Release.objects.get(state=State.AWAITING_APPROVAL)

    work_off()
    with pytest.raises(Conflict, match="suspended"):
        approving.approve(release=waiting, viewer=in_browser(bob), digest=waiting.digest)
    refused = Release.objects.get(version="1.1.0")
    assert (refused.state, [reason["code"] for reason in refused.reasons]) == (State.REJECTED, ["suspended"])

    confirm(git, acme, alice)
    approving.approve(release=waiting, viewer=in_browser(bob), digest=waiting.digest)
    work_off()
    assert Release.objects.get(pk=waiting.pk).state == State.PUBLISHED
