"""POST /api/v1/git-hooks/<id>: what each forge sends is understood, and only a push that may change tags lists them."""

import json
from dataclasses import replace

import pytest
from django.utils import timezone

from apps.contrib.git import syncing
from apps.contrib.git.models import Delivery
from apps.contrib.git.tests.hooks.sending import RECORDED, Hook, connected, send
from apps.jobs.models import Job
from tests.rows import for_each_row

WITHOUT_EFFECT = {
    "github_ping": "ping",
    "github_issues": "issues",
    "gitlab_issue": "issue",
    "gitea_push_branch": "push",
    "bitbucket_push_branch": "repo:push",
    "azure_push_branch": "git.push",
}
LISTS = sorted({path.stem for path in RECORDED.glob("*.json")} - WITHOUT_EFFECT.keys())


@pytest.mark.parametrize("name", LISTS)
def test_a_push_of_a_tag_lists_the_tags(acme, listened, name):
    hook = Hook.recorded(name)
    repository = connected(acme, hook)

    answer = send(repository, hook.signed())

    assert answer.status_code == 200, answer.content
    assert answer.json()["is_listing"] is True
    assert listened == [repository]
    repository.refresh_from_db()
    assert repository.hooked_at is not None
    assert (timezone.now() - repository.hooked_at).total_seconds() < 60


@for_each_row(("name", "event"), WITHOUT_EFFECT.items())
def test_what_changes_no_tag_is_recorded_without_effect(acme, listened, name, event):
    hook = Hook.recorded(name)
    repository = connected(acme, hook)

    answer = send(repository, hook.signed())

    assert answer.status_code == 200, answer.content
    assert answer.json() == {"event": event, "is_listing": False}
    assert listened == []
    assert Delivery.objects.filter(repository=repository).exists()
    repository.refresh_from_db()
    assert repository.hooked_at is not None


@for_each_row("name", ["github_push_tag", "gitlab_tag_push"])
def test_a_push_of_a_branch_lists_where_many_tags_at_once_come_without_an_event(acme, listened, name):
    hook = Hook.recorded(name)
    repository = connected(acme, hook)
    branch = hook.changed(ref="refs/heads/main", event_name="push", object_kind="push")

    assert send(repository, branch.signed()).json()["is_listing"] is True


def test_gitlab_may_sign_instead_of_sending_the_token(acme, listened):
    hook = Hook.recorded("gitlab_tag_push")
    repository = connected(acme, hook)

    assert send(repository, hook.signed_as_standard_webhooks()).status_code == 200
    assert listened == [repository]


def test_a_plain_git_server_sends_the_secret_and_what_it_likes(acme, listened):
    hook = Hook("ssh://git@git.acme.example/vpc.git", "git", {}, b"0000 82b3 refs/tags/v1.0.0\n")
    repository = connected(acme, hook)

    assert send(repository, hook.signed()).status_code == 200
    assert send(repository, Hook(hook.url, "git", {}, b"").signed()).status_code == 200
    assert send(repository, Hook(hook.url, "git", {}, b"").signed()).status_code == 200  # nothing to be told apart by
    assert listened == [repository] * 3
    assert send(repository, hook.signed()).status_code == 409


@for_each_row("url", ["git@github.com:acme/terraform-aws-vpc.git", "https://github.com/ACME/Terraform-aws-vpc.git"])
def test_the_repository_is_known_by_each_of_its_urls(acme, listened, url):
    hook = Hook.recorded("github_push_tag")
    repository = connected(acme, Hook(url, hook.forge, {}, b""))

    assert send(repository, hook.signed()).status_code == 200


def test_a_push_becomes_a_job_that_is_rung_for_at_once_unless_it_is_of_a_draft(
    acme, django_capture_on_commit_callbacks
):
    hook = Hook.recorded("github_push_tag")
    repository = connected(acme, hook, started_at=None)
    assert send(repository, hook.signed()).json() == {"event": "push", "is_listing": False}
    repository.refresh_from_db()
    assert repository.hooked_at is not None
    assert not Job.objects.exists()

    repository.started_at = timezone.now()
    repository.save()
    again = hook.changed(zen="Again.").with_headers(X_GitHub_Delivery="another").signed()
    with django_capture_on_commit_callbacks() as after:
        assert send(repository, again).json()["is_listing"] is True
    assert Job.objects.get(kind=syncing.JOB).target == repository.pk
    assert [callback.func.__name__ for callback in after] == ["ring"]


@pytest.mark.parametrize(
    "name", ["gitea_push_tag", "forgejo_push_tag", "github_enterprise_push_tag", "gitlab_tag_push"]
)
def test_a_forge_that_its_host_does_not_name_is_known_by_how_it_signs(acme, listened, name):
    hook = Hook.recorded(name)
    ours = connected(acme, replace(hook, forge="git"))
    other = connected(acme, replace(hook, forge="git", url="https://git.acme.example/other"))

    assert send(ours, hook.signed()).json()["is_listing"] is True
    assert send(other, hook.signed()).status_code == 422
    assert send(ours, hook.changed(zen=1).signed("whsec_b3RoZXI=")).status_code == 401
    assert listened == [ours]


def test_bitbucket_data_center_signs_as_bitbucket_does(acme, listened):
    """Its hosts have names of their owners. https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html"""
    changes = [{"ref": {"id": "refs/tags/v1.0.0", "displayId": "v1.0.0", "type": "TAG"}, "type": "ADD"}]
    project = {"key": "ACME", "id": 7}
    body = {"eventKey": "repo:refs_changed", "repository": {"slug": "vpc", "project": project}, "changes": changes}
    headers = {"X-Event-Key": "repo:refs_changed", "X-Request-Id": "7", "Content-Type": "application/json"}
    url = "https://bitbucket.acme.example/scm/acme/vpc.git"
    repository = connected(acme, Hook(url, "git", {}, b""))

    answer = send(repository, Hook(url, "bitbucket", headers, json.dumps(body).encode()).signed())

    assert answer.status_code == 200, answer.content
    assert listened == [repository]
