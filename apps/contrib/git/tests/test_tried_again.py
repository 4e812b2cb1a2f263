"""Whoever has something of a repository tried again takes part in the release that comes of it, by whatever way."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from apps.accounts.models import Grant, Namespace, Role, User
from apps.contrib.git import syncing
from apps.contrib.git.models import GitRepository, Tag
from apps.contrib.git.tests.conftest import Git, module, work_off
from apps.contrib.git.tests.test_took_part import strict, waiting, why
from apps.jobs.models import Job
from apps.releases.models import Release, State
from apps.releases.publishing import approving
from tests.builders.git_servers import Repository
from tests.sessions import in_browser

__all__ = ["strict", "waiting"]

pytestmark = pytest.mark.django_db

JOBS: dict[str, tuple[str, Callable[[Release, GitRepository], int]]] = {
    "publish-module": ("retried-the-tag", lambda release, _: release.pk),
    "publish-git-tag": ("retried-the-tag", lambda release, _: Tag.objects.get(release=release).pk),
    "list-git-tags": ("started-the-sync", lambda _, row: row.pk),
    "preview-git": ("scanned-the-repository", lambda _, row: row.pk),
    "scan-host-keys": ("scanned-the-repository", lambda _, row: row.pk),
}


@pytest.mark.parametrize(("way", "kind"), [("api", "publish-module"), *(("admin", kind) for kind in JOBS)])
def test_an_operator_who_has_a_job_tried_again_takes_part_in_what_comes_of_it(
    way: str,
    kind: str,
    waiting: Release,
    strict: Git,
    upstream: Repository,
    olga: User,
    acme: Namespace,
    alice: User,
    browser_of: Any,
    tofu: Any,
) -> None:
    """Of each kind of job whose end is a release, of that which waits and of what is found by it."""
    said, target = JOBS[kind]
    Grant.objects.create(namespace=acme, user=olga, role=Role.PUBLISHER)
    job = Job.objects.create(kind=kind, target=target(waiting, strict.repository), state="failed")
    if kind == "list-git-tags":
        upstream.commit(module("more"))
        upstream.tag("v1.1.0")
    if kind == "publish-git-tag":
        approving.decline(release=waiting, viewer=in_browser(alice), digest=waiting.digest, reason="No")
        Tag.objects.update(verdict="waiting", release=None, published_commit="")
    if way == "admin":
        page = reverse("admin:jobs_job_change", args=[job.pk])
        assert browser_of(olga).post(page, {"action": "retry"}).status_code == 302
    else:
        assert tofu(olga).post(f"/api/v1/jobs/{job.pk}/retry").status_code == 200
    work_off()

    assert why(olga, Release.objects.filter(state=State.AWAITING_APPROVAL).latest("pk")) == said


def test_a_publisher_who_syncs_before_the_first_listing_takes_part_in_what_it_finds(
    strict: Git, upstream: Repository, alice: User, acme: Namespace, browser_of: Any
) -> None:
    """What was selected for it stays."""
    upstream.tag("v1.0.0")
    upstream.tag("v0.9.0")
    syncing.sync(repository=strict.repository, actor=strict.actor, tags=["v1.0.0"])
    page = browser_of(alice).post(f"/namespaces/acme/git/{strict.repository.pk}/sync")
    assert page.status_code == 303
    work_off()

    assert strict.shown == {"v1.0.0": "held", "v0.9.0": "ignored"}
    assert why(alice, Release.objects.get()) == "started-the-sync"
