"""Who hears of what happens to a tag: owners by mail, and webhooks."""

import json
from typing import Any

import pytest

from apps.accounts.models import User
from apps.notify.models import Delivery, Letter, Webhook
from apps.notify.outbox import dispatch
from apps.releases.models import Release
from tests.builders.git_servers import Repository
from tests.sources.conftest import Git, module

EVENTS = ["tag.moved", "tag.deleted", "release.held", "release.rejected"]


@pytest.fixture
def hook(git: Git) -> Webhook:
    return Webhook.objects.create(
        namespace=git.repository.namespace, url="https://hooks.acme.example/git", events=EVENTS, sealed_secret=""
    )


@pytest.fixture
def mailed(dora: User, bob: User) -> None:
    for user in (dora, bob):
        User.objects.filter(pk=user.pk).update(email=f"{user.username}@acme.example")


def told() -> list[dict[str, Any]]:
    dispatch()
    return [json.loads(row.body) for row in Delivery.objects.order_by("pk")]


@pytest.mark.usefixtures("mailed", "hook")
def test_a_tag_that_moves_or_is_deleted_is_told_with_both_commits(git: Git, upstream: Repository):
    first = upstream.head
    upstream.tag("v1.0.0")
    git.sync()
    second = upstream.commit(module("second"))
    upstream.tag("v1.0.0")
    git.sync()

    [moved] = told()
    assert moved["type"] == "tag.moved"
    assert moved["data"]["address"] == "acme/vpc/aws"
    assert moved["data"]["version"] == "1.0.0"
    assert moved["data"]["kind"] == "module"
    assert (moved["data"]["tag"], moved["data"]["known"], moved["data"]["found"]) == ("v1.0.0", first, second)
    assert moved["data"]["url"].endswith(f"/namespaces/acme/git/{git.repository.pk}")
    letter = Letter.objects.get(topic="git", user__username="dora")
    assert letter.subject == "acme/vpc/aws 1.0.0 has a Git tag that moved"
    assert first in letter.text
    assert second in letter.text

    upstream.delete_tag("v1.0.0")
    git.sync()
    assert [one["type"] for one in told()] == ["tag.moved", "tag.deleted"]


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
