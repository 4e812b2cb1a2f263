"""Host keys of ssh servers: scanned by a worker, pinned at first sight, and trusted again only by an owner."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import Namespace, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.git import connecting, host_scanning, syncing
from apps.contrib.git.models import GitRepository
from apps.contrib.git.remote import host_keys, refs
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.tests.conftest import RULES, Git, work_off
from apps.jobs.models import Job
from apps.lib.errors import Conflict, Invalid, RegistryError, TooManyAttempts, Unavailable
from apps.notify.models import Letter, OutboxEvent
from apps.notify.outbox import dispatch
from tests.builders.git_servers import Repository
from tests.rows import for_each_row
from tests.sessions import in_browser

KEYS = ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",)
SSH_URL = "git@git.acme.example:team/vpc.git"
OTHER_KEYS = ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIbHUnL/2UoRdyqvMQUGUTI+pBZtEVr+ZQVXWXGq0lQX",)


@pytest.fixture
def ssh_server(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The answer of an ssh server to ssh-keyscan, which is a test of its own."""
    answers: list[Any] = [KEYS]

    def scanned(*_: Any) -> tuple[str, ...]:
        if isinstance(answers[-1], Exception):
            raise answers[-1]
        return answers[-1]

    monkeypatch.setattr(host_keys, "scanned", scanned)
    return answers


def connected(acme: Namespace, dora: User) -> GitRepository:
    """By ssh, and a worker has asked the server."""
    connecting.connect(namespace=acme, actor=in_browser(dora), url=SSH_URL)
    work_off()
    return GitRepository.objects.get()


@pytest.mark.both
def test_host_keys_are_pinned_at_first_sight_and_trusted_again_only_as_shown(
    acme: Namespace, dora: User, ssh_server: list[Any]
):
    actor, row = in_browser(dora), connected(acme, dora)
    known = [host_keys.fingerprint(KEYS[0])]
    assert row.host_keys == list(KEYS)
    assert connecting.host_fingerprints(row) == known
    first = AuditEvent.objects.get(kind=Kind.GIT_HOST_KEYS_TRUSTED)
    assert (first.actor_id, first.detail["known"], first.detail["found"]) == (dora.pk, [], known)

    ssh_server.append(OTHER_KEYS)
    host_scanning.ask(repository=row, actor=actor)
    with pytest.raises(Conflict, match="A worker is asking"):
        connecting.trust_host_keys(repository=row, actor=actor, fingerprints=known)
    work_off()
    with pytest.raises(Conflict, match="you confirmed"):
        connecting.trust_host_keys(repository=row, actor=actor, fingerprints=known)
    assert GitRepository.objects.get().host_keys == list(KEYS)
    shown = [host_keys.fingerprint(OTHER_KEYS[0])]
    GitRepository.objects.update(host_scanned_at=timezone.now() - host_scanning.MAX_AGE - timedelta(seconds=1))
    with pytest.raises(Conflict, match="within 10 minutes"):
        connecting.trust_host_keys(repository=row, actor=actor, fingerprints=shown)
    GitRepository.objects.update(host_scanned_at=timezone.now())
    connecting.trust_host_keys(repository=row, actor=actor, fingerprints=shown)
    assert GitRepository.objects.get().host_keys == list(OTHER_KEYS)
    event = AuditEvent.objects.filter(kind=Kind.GIT_HOST_KEYS_TRUSTED).latest("pk")
    assert (event.detail["known"], event.detail["found"]) == (known, shown)


@for_each_row(("is_final", "error"), [(True, Invalid), (False, Unavailable)])
def test_a_server_without_host_keys_is_told_with_how_to_fix_it(
    acme: Namespace, dora: User, ssh_server: list[Any], is_final: bool, error: type[RegistryError]
):
    ssh_server.append(GitFailed("no_answer", "nobody answers at port 22", hint="Look.", is_final=is_final))
    row = connected(acme, dora)

    assert (row.host_keys, host_scanning.state_of(row)) == ([], "failed")
    with pytest.raises(error, match="nobody answers"):
        connecting.trust_host_keys(repository=row, actor=in_browser(dora), fingerprints=["SHA256:x"])


def test_a_scan_is_asked_for_once_and_not_of_a_disconnected_repository(
    acme: Namespace, dora: User, ssh_server: list[Any]
):
    row, actor = connected(acme, dora), in_browser(dora)
    host_scanning.ask(repository=row, actor=actor, unless_within=timedelta(minutes=1))
    assert host_scanning.state_of(row) == "done"
    for _ in range(2):
        host_scanning.ask(repository=row, actor=actor)
    assert Job.objects.filter(kind=host_scanning.JOB, state="queued").count() == 1

    connecting.disconnect(repository=row, actor=actor)
    work_off()
    assert host_scanning.state_of(GitRepository.objects.get()) == "waiting", "its worker wrote nothing"
    with pytest.raises(Conflict, match="was disconnected"):
        host_scanning.ask(repository=row, actor=actor)


def test_a_worker_that_is_killed_each_time_leaves_a_failure(acme: Namespace, dora: User, ssh_server: list[Any]):
    connecting.connect(namespace=acme, actor=in_browser(dora), url=SSH_URL)
    Job.objects.update(attempts=100)
    work_off()

    told: Any = GitRepository.objects.get().host_scan
    assert (told["state"], told["failure"]["code"], told["keys"]) == ("failed", "interrupted", [])


@pytest.mark.both
def test_one_account_has_few_scans_in_progress_and_another_account_its_own(
    acme: Namespace, dora: User, olga: User, ssh_server: list[Any]
):
    def connect(number: int, user: User) -> GitRepository:
        url = f"git@git.acme.example:team/vpc-{number}.git"
        return connecting.connect(namespace=acme, actor=in_browser(user), url=url).repository

    rows = [connect(number, dora) for number in range(host_scanning.MAX_OF_ONE_ACCOUNT)]
    with pytest.raises(TooManyAttempts, match="5 ssh servers are being asked"):
        connect(6, dora)
    assert GitRepository.objects.count() == len(rows)
    host_scanning.ask(repository=rows[0], actor=in_browser(dora))  # it waits already
    connect(7, olga)
    work_off()
    connect(6, dora)


def test_a_changed_host_key_is_one_alarm_that_owners_and_webhooks_hear_of(
    git: Git, upstream: Repository, dora: User, monkeypatch: pytest.MonkeyPatch
):
    dora.email = "dora@acme.example"
    dora.save()

    def refuse(*_: Any) -> None:
        raise GitFailed("host_key_changed", "the server shows another key.", hint="Compare it.")

    monkeypatch.setattr(refs, "listed", refuse)
    for _ in range(2):
        syncing.sync(repository=git.repository, actor=git.actor)
        work_off()

    assert AuditEvent.objects.filter(kind=Kind.GIT_HOST_KEYS_CHANGED).count() == 1
    assert GitRepository.objects.get().failure == "the server shows another key. Compare it."
    assert OutboxEvent.objects.count() == 1
    dispatch()
    letter = Letter.objects.get(user=dora)
    assert letter.topic == "git"
    assert letter.subject == "The host keys of a Git server of acme changed"
    assert "another key" in letter.text


@for_each_row(("then", "alarms"), [("host_key_changed", 2), ("unreachable", 1)])
def test_keys_that_change_again_before_the_next_listing_are_another_alarm(
    acme: Namespace, dora: User, ssh_server: list[Any], monkeypatch: pytest.MonkeyPatch, then: str, alarms: int
):
    """The hours of the first alarm do not count towards another failure."""
    codes = [then, "host_key_changed"]

    def refuse(*_: Any) -> None:
        raise GitFailed(codes.pop(), "it fails.")

    monkeypatch.setattr(refs, "listed", refuse)
    ssh_server[:] = [KEYS]
    actor, url = in_browser(dora), f"git@git.acme.example:team/{then}.git"
    row = connecting.connect(namespace=acme, actor=actor, url=url, rules=RULES).repository
    work_off()
    syncing.sync(repository=row, actor=actor)
    work_off()
    ssh_server.append(OTHER_KEYS)
    host_scanning.ask(repository=row, actor=actor)
    work_off()
    GitRepository.objects.filter(pk=row.pk).update(failing_since=timezone.now() - timedelta(hours=5))
    row.refresh_from_db()
    connecting.trust_host_keys(repository=row, actor=actor, fingerprints=[host_keys.fingerprint(OTHER_KEYS[0])])
    work_off()

    row.refresh_from_db()
    assert row.failure_code == then
    assert [one.detail["repository"] for one in of_kind(Kind.GIT_HOST_KEYS_CHANGED)].count(row.pk) == alarms
    assert not of_kind(Kind.GIT_REPOSITORY_FAILING)


def of_kind(kind: str) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(kind=kind))
