"""The attacks on a second pair of eyes through Git, step by step: Dora connected the repository, Erin owns acme too.

Alice publishes, and takes no part.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.apps import apps
from django.utils import timezone

from apps.accounts.access import connections
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, MachineAct, Namespace, Role, User
from apps.audit.models import AuditEvent
from apps.contrib.git import connecting, previewing, syncing
from apps.contrib.git.git_places import GitPlace, Tags
from apps.contrib.git.models import GitRepository, Tag
from apps.contrib.git.tests.conftest import RULES, Git, module, work_off
from apps.lib.errors import RoleRequired
from apps.notify import outbox
from apps.notify.mail import preferences
from apps.notify.models import Letter
from apps.releases.models import Release, State
from apps.releases.publishing import approving, deciding
from tests.builders.approving import ask_for_approval
from tests.builders.git_servers import Repository, Site
from tests.cast import person
from tests.sessions import in_browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def erin(acme: Namespace) -> User:
    user = person("erin")
    Grant.objects.create(namespace=acme, user=user, role=Role.OWNER)
    return user


@pytest.fixture
def strict(git: Git, acme: Namespace) -> Git:
    ask_for_approval(acme)
    return git


@pytest.fixture
def waiting(strict: Git, upstream: Repository) -> Release:
    """Of a tag without a person, found by a poll: Dora connected the repository and started it."""
    strict.sync()
    return polled(strict, upstream, "v1.0.0")


def suspended_and_confirmed(row: GitRepository, actor: Viewer) -> None:
    """Suspend and confirm it, like after a transfer of the namespace."""
    GitRepository.objects.filter(pk=row.pk).update(suspended_at=timezone.now(), suspended_reason="Transferred.")
    connections.confirm(namespace=row.namespace, kind=connecting.CONNECTIONS.kind, number=row.pk, actor=actor)


def polled(git: Git, upstream: Repository, tag: str) -> Release:
    upstream.tag(tag)
    syncing.listen(git.repository)
    work_off()
    return Release.objects.get(version=tag.removeprefix("v"))


def why(user: User, release: Release) -> str:
    """Try to approve: what the audit says of the refusal; empty if nothing keeps this person from it."""
    release = Release.objects.select_related("namespace", "created_by").get(pk=release.pk)
    listed = approving.waiting_for(Viewer(user)).filter(pk=release.pk).exists()
    if deciding.refusal_of(release, Viewer(user)) is None:
        assert listed
        return ""
    assert not listed
    with pytest.raises(RoleRequired):
        approving.approve(release=release, viewer=in_browser(user), digest=release.digest)
    assert Release.objects.get(pk=release.pk).state == State.AWAITING_APPROVAL
    return str(AuditEvent.objects.filter(kind="namespace:release:approval-refused").latest("pk").detail["why"])


@pytest.mark.both
def test_who_connected_the_repository_does_not_approve_what_comes_from_it(
    waiting: Release, alice: User, dora: User, erin: User, strict: Git
) -> None:
    assert why(dora, waiting) == "connected-the-repository"
    assert why(erin, waiting) == ""

    connecting.disconnect(repository=strict.repository, actor=Viewer(dora))

    assert why(dora, waiting) == "connected-the-repository", "that it was disconnected changes nothing"
    approving.approve(release=waiting, viewer=in_browser(alice), digest=waiting.digest)
    work_off()
    assert Release.objects.get(pk=waiting.pk).state == State.PUBLISHED


def test_nor_after_another_owner_connected_it_again(
    waiting: Release, strict: Git, site: Site, acme: Namespace, dora: User, erin: User, alice: User
) -> None:
    """The tag's release is the one that waits, of the first repository's machine."""
    connecting.disconnect(repository=strict.repository, actor=Viewer(dora))
    found = connecting.connect(namespace=acme, actor=in_browser(erin), url=strict.repository.url, rules=RULES)
    Git(found.repository, in_browser(erin)).sync()

    assert Tag.objects.get(repository=found.repository, name="v1.0.0").release == waiting
    assert why(dora, waiting) == "connected-the-repository"
    assert why(alice, waiting) == ""


CHANGES: dict[str, tuple[str, Callable[[GitRepository, Viewer], Any]]] = {
    "rules": ("changed", lambda row, actor: connecting.change(repository=row, actor=actor, rules=RULES)),
    "interval": ("changed", lambda row, actor: connecting.change(repository=row, actor=actor, poll_minutes=5)),
    "secret": ("changed", lambda row, actor: connecting.renew_hook_secret(repository=row, actor=actor)),
    "confirmation": ("changed", suspended_and_confirmed),
    "scan": ("scanned", lambda row, actor: previewing.ask(repository=row, actor=actor)),
}


def test_nor_who_changed_or_scanned_it_before_or_afterwards(
    waiting: Release, strict: Git, upstream: Repository, acme: Namespace, alice: User
) -> None:
    owners = {change: person(f"{change}-owner") for change in CHANGES}
    for change, owner in owners.items():
        Grant.objects.create(namespace=acme, user=owner, role=Role.OWNER)
        CHANGES[change][1](strict.repository, in_browser(owner))
    work_off()
    upstream.commit(module("more"))
    later = polled(strict, upstream, "v1.1.0")

    for change, owner in owners.items():
        expected = f"{CHANGES[change][0]}-the-repository"
        assert [why(owner, one) for one in (waiting, later)] == [expected] * 2, change
    assert why(alice, waiting) == ""


def test_who_started_a_draft_takes_part_in_all_that_comes_of_it(
    strict: Git, upstream: Repository, dora: User, erin: User
) -> None:
    Git(strict.repository, in_browser(erin)).sync()

    assert why(erin, polled(strict, upstream, "v1.0.0")) == "started-the-repository"


@pytest.mark.both
def test_who_started_the_sync_takes_part_in_what_it_found_and_in_nothing_else(
    waiting: Release, strict: Git, upstream: Repository, erin: User, alice: User
) -> None:
    upstream.commit(module("more"))
    upstream.tag("v1.1.0")
    Git(strict.repository, in_browser(erin)).sync()
    found = Release.objects.get(version="1.1.0")

    assert why(erin, found) == "started-the-sync"
    assert why(alice, found) == ""
    assert why(erin, waiting) == "", "it was there before"
    upstream.commit(module("later"))
    assert why(erin, polled(strict, upstream, "v1.2.0")) == "", "a poll found it"


def test_a_sync_that_is_asked_for_while_tags_are_listed_is_answered_by_the_next_listing(
    strict: Git, upstream: Repository, erin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict.sync()
    upstream.tag("v1.0.0")
    listed = GitPlace.listed
    asked: list[bool] = []

    def listing(place: GitPlace) -> Tags:
        """Erin tags and asks when the first listing has been read."""
        found = listed(place)
        if not asked:
            asked.append(True)
            upstream.commit(module("more"))
            upstream.tag("v1.1.0")
            syncing.sync(repository=strict.repository, actor=in_browser(erin))
        return found

    monkeypatch.setattr(GitPlace, "listed", listing)
    syncing.listen(strict.repository)
    work_off()

    assert why(erin, Release.objects.get(version="1.1.0")) == "started-the-sync"


@pytest.mark.both
def test_who_retried_a_tag_takes_part_in_its_release(
    waiting: Release, strict: Git, dora: User, erin: User, alice: User
) -> None:
    """Also if somebody else retries it after them."""
    approving.decline(release=waiting, viewer=in_browser(alice), digest=waiting.digest, reason="Not now")
    Git(strict.repository, in_browser(erin)).retry("v1.0.0")
    again = Release.objects.exclude(pk=waiting.pk).get()

    assert why(erin, again) == "retried-the-tag"
    assert why(alice, again) == ""


@pytest.mark.both
@pytest.mark.parametrize("message", ["First", ""])
def test_who_made_the_tag_is_found_by_their_confirmed_address(
    message: str, strict: Git, upstream: Repository, erin: User, alice: User
) -> None:
    """Of a lightweight tag it is who made its commit. git writes the address as its user has set it."""
    User.objects.filter(pk=erin.pk).update(email="ALICE@acme.Example")
    strict.sync()
    upstream.tag("v1.0.0", message=message)
    release = _listed(strict)

    assert why(erin, release) == "made-the-tag"
    erin.refresh_from_db()
    preferences.ask_for_address(user=erin, address="")
    assert why(erin, release) == "made-the-tag", "an address that was removed is theirs still"
    assert why(alice, release) == ""
    assert "acme.example" not in str(release.origin.facts), "no page shows the address"


def test_a_sign_on_subject_that_is_an_address_counts_as_one(strict: Git, upstream: Repository, erin: User) -> None:
    SocialAccount.objects.create(user=erin, provider="https://idp.acme.example", uid="Alice@acme.example")
    strict.sync()

    assert why(erin, polled(strict, upstream, "v1.0.0")) == "made-the-tag"


def _listed(git: Git) -> Release:
    syncing.listen(git.repository)
    work_off()
    return Release.objects.get()


def test_mails_say_who_can_approve_it_and_to_the_others_why_they_cannot(
    waiting: Release, alice: User, dora: User
) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@larder.example")
    User.objects.filter(pk=dora.pk).update(email="dora@larder.example")
    outbox.dispatch()
    texts = {letter.user.username: letter.text for letter in Letter.objects.select_related("user") if letter.user}

    assert "someone else has to decide" not in texts["alice"]
    assert "You connected the repository that it comes from: someone else has to decide. Ask alice." in texts["dora"]


@pytest.mark.both
def test_an_upgrade_fills_in_who_acted_from_the_audit(git: Git, dora: User, erin: User) -> None:
    """The first sync started the repository; later ones are of releases that are there already."""
    connecting.change(repository=git.repository, actor=in_browser(erin), poll_minutes=5)
    for actor in (dora, erin):
        syncing.sync(repository=git.repository, actor=in_browser(actor))
    acts = list(MachineAct.objects.order_by("pk").values_list("machine", "user", "act"))
    assert acts == [(git.repository.user_id, erin.pk, "changed"), (git.repository.user_id, dora.pk, "started")]
    MachineAct.objects.all().delete()

    migration = import_module("apps.contrib.git.migrations.0005_requests")
    migration.fill_in_acts(apps, None)
    migration.fill_in_acts(apps, None)

    assert list(MachineAct.objects.order_by("pk").values_list("machine", "user", "act")) == acts
