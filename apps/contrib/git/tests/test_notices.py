"""Notices of what happens to a tag: owners get them by mail."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.models import AuditEvent
from apps.contrib.git import syncing, tasks
from apps.contrib.git.models import GitRepository, Verdict
from apps.contrib.git.tests.conftest import Connect, Git, module, work_off
from apps.jobs.models import Job
from apps.notify.events import NAMES
from apps.notify.models import Letter
from apps.notify.notices import Notice, notices_of
from apps.notify.outbox import dispatch
from apps.releases.models import Release, State
from apps.releases.publishing import reserving, transitions
from tests.builders.git_servers import Repository, Site

EVENTS = ["tag.refused", "tag.moved", "tag.deleted", "repository.failing", "release.held", "release.rejected"]


@pytest.fixture
def mailed(dora: User, bob: User) -> None:
    for user in (dora, bob):
        User.objects.filter(pk=user.pk).update(email=f"{user.username}@acme.example")


def told() -> list[Notice]:
    dispatch()
    events = AuditEvent.objects.filter(kind__in=[kind for kind, name in NAMES.items() if name in EVENTS])
    return notices_of(events.order_by("pk"))


@pytest.mark.usefixtures("mailed")
def test_a_tag_that_moves_or_is_deleted_is_told_with_both_commits(git: Git, upstream: Repository):
    first = upstream.head
    upstream.tag("v1.0.0")
    git.sync()
    second = upstream.commit(module("second"))
    upstream.tag("v1.0.0")
    git.sync()

    [moved] = told()
    assert moved.event == "tag.moved"
    assert moved.address == "acme/vpc/aws"
    assert moved.version == "1.0.0"
    assert moved.kind == "module"
    assert (moved.more["tag"], moved.more["known"], moved.more["found"]) == ("v1.0.0", first, second)
    assert moved.url.endswith(f"/namespaces/acme/git/{git.repository.pk}")
    letter = Letter.objects.get(topic="git", user__username="dora")
    assert letter.subject == "Git tag v1.0.0 of acme/vpc/aws 1.0.0 moved"
    assert first in letter.text
    assert second in letter.text

    upstream.delete_tag("v1.0.0")
    git.sync()
    assert [one.event for one in told()] == ["tag.moved", "tag.deleted"]


@pytest.mark.usefixtures("mailed")
def test_owners_are_told_of_a_release_from_git_that_waits_for_an_answer_or_was_refused(git: Git, upstream: Repository):
    """Its publisher is a machine, which reads no mail."""
    upstream.commit({"modules/a/main.tf": "# a\n", "modules/b/main.tf": "# b\n"})
    upstream.tag("v1.0.0")
    assert git.sync() == {"v1.0.0": "held"}
    dispatch()

    letter = Letter.objects.get(user__username="dora")
    assert Letter.objects.count() == 1
    assert letter.subject == "acme/vpc/aws 1.0.0 needs your answer"
    assert Release.objects.get().questions


@pytest.mark.slow
@pytest.mark.usefixtures("mailed")
def test_owners_are_notified_of_a_tag_that_is_refused_before_the_pipeline(git: Git, upstream: Repository):
    upstream.commit({"README.md": "# No module\n"})
    upstream.tag("v1.0.0")
    assert git.sync() == {"v1.0.0": "refused"}

    [refused] = told()
    assert refused.event == "tag.refused"
    assert (refused.address, refused.version) == ("acme/vpc/aws", "1.0.0")
    assert (refused.more["tag"], refused.more["code"]) == ("v1.0.0", "no_module")
    assert "no .tf or .tofu file" in refused.reason
    assert refused.url.endswith(f"/namespaces/acme/git/{git.repository.pk}")
    letter = Letter.objects.get()
    assert letter.user is not None
    assert (letter.user.username, letter.topic) == ("dora", "git")
    assert letter.subject == "Git tag v1.0.0 of acme/vpc/aws 1.0.0 was refused"
    assert "no .tf or .tofu file" in letter.text

    git.sync()
    assert len(told()) == 1
    assert git.retry("v1.0.0") == {"v1.0.0": "refused"}
    assert len(told()) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("mailed")
def test_a_first_run_that_refuses_many_tags_is_one_mail(git: Git, upstream: Repository):
    upstream.commit({"README.md": "# No module\n"})
    names = [f"v1.{number}.0" for number in range(3)]
    for name in names:
        upstream.tag(name)
    upstream.commit(module("second"))
    upstream.tag("v2.0.0")
    git.sync()
    assert list(git.shown.values()).count("refused") == 3

    [refused] = [one for one in told() if one.event == "tag.refused"]
    assert sorted(refused.more["tags"]) == sorted(names)
    assert "3 versions" in refused.reason
    assert "3 no_module" in refused.reason
    letter = Letter.objects.get()
    assert letter.subject == "Git tags of acme were refused"


@pytest.mark.usefixtures("mailed")
def test_owners_are_notified_of_a_tag_that_a_listing_refuses(connect: Connect, upstream: Repository):
    git = connect(rules=[{"tag": "{name}-v{version}", "folder": "", "module": "{name}/aws"}])
    upstream.tag("modules-v1.0.0")
    assert git.sync() == {"modules-v1.0.0": "refused"}
    dispatch()

    assert "modules-v1.0.0" in Letter.objects.get().text


@pytest.mark.usefixtures("mailed")
def test_a_release_that_the_pipeline_rejected_is_no_refused_tag_as_well(connect: Connect, site: Site):
    mono = site.repository("acme/mono")
    mono.commit({"vpc/main.tf": 'module "dns" {\n  source = "../dns"\n}\n', "dns/main.tf": "# dns\n"})
    mono.tag("v1.0.0")
    git = connect("acme/mono", rules=[{"tag": "v{version}", "folder": "vpc", "module": "vpc/aws"}])
    assert git.sync() == {"v1.0.0": "held"}
    transitions.reject(Release.objects.get(), [reserving.SUPERSEDED], sources=[State.HELD], actor_id=None)
    assert git.sync() == {"v1.0.0": "refused"}
    assert git.tag("v1.0.0").verdict == Verdict.REFUSED

    assert [one.event for one in told()] == ["release.held", "release.rejected"]


def fail_again() -> None:
    """Fail again, like the next poll."""
    GitRepository.objects.update(next_at=timezone.now() - timedelta(seconds=1))
    tasks.poll_due()
    work_off()


@pytest.mark.usefixtures("mailed")
def test_owners_are_notified_once_of_a_repository_that_fails_for_an_hour(git: Git, upstream: Repository, site: Site):
    upstream.tag("v1.0.0")
    git.sync()
    for _ in range(2):
        told_before = len(told())
        site.token = "another"
        fail_again()
        fail_again()
        assert len(told()) == told_before
        earlier = timezone.now() - timedelta(hours=1, minutes=1)
        GitRepository.objects.update(failing_since=earlier, failed_at=earlier + timedelta(minutes=50))
        fail_again()
        fail_again()
        assert len(told()) == told_before + 1
        site.token = ""
        fail_again()
        assert GitRepository.objects.get().failing_since is None

    failing = told()[-1]
    assert (failing.event, failing.more["code"]) == ("repository.failing", "unauthorized")
    assert git.repository.url in failing.reason
    assert failing.url.endswith(f"/namespaces/acme/git/{git.repository.pk}")
    letter = Letter.objects.order_by("pk").last()
    assert letter is not None
    assert letter.subject == "A Git repository of acme can't be read"
    assert "unauthorized" not in letter.subject


@pytest.mark.slow
@pytest.mark.usefixtures("mailed")
def test_refused_tags_wait_for_a_repository_that_fails_and_are_then_notified(
    git: Git, upstream: Repository, site: Site
):
    upstream.commit({"README.md": "# No module\n"})
    upstream.tag("v1.0.0")
    upstream.commit(module("second"))
    upstream.tag("v1.1.0")
    syncing.sync(repository=git.repository, actor=git.actor)
    tasks.run_here(Job.objects.get().pk)
    tasks.run_here(Job.objects.filter(kind="publish-git-tag").order_by("pk")[0].pk)
    site.is_down = True
    work_off()
    assert git.shown == {"v1.0.0": "refused", "v1.1.0": "waiting"}
    assert told() == []

    site.is_down = False
    fail_again()
    assert git.shown == {"v1.0.0": "refused", "v1.1.0": "published"}
    assert [one.event for one in told()] == ["tag.refused"]
