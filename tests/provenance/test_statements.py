"""A statement follows each publication: once, by a signing worker, and never in the way of the release."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
import structlog
from django.conf import settings
from django.utils import timezone

from apps.accounts.access.gate import NOBODY
from apps.audit.models import AuditEvent
from apps.blobs import store
from apps.jobs.claims import LostLease
from apps.jobs.models import Job
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import NotFound
from apps.modules import lifecycle
from apps.provenance import statements, tasks
from apps.provenance.models import Statement
from apps.releases.models import Release
from apps.releases.publishing import transitions
from apps.signing import statement_keys, vault
from apps.signing.models import StatementKey
from tests.provenance.conftest import said_in, state_all
from tests.rows import for_each_row
from tests.threads import at_once

KEK = Path(settings.DATA_DIR) / "signing" / "kek"


def job() -> Job:
    return Job.objects.get(kind=statements.JOB)


@pytest.mark.both
def test_a_publication_asks_for_a_statement_in_plain_dsse_once(published, state):
    release = published()
    assert (job().target, job().state) == (release.pk, "queued")
    assert not statements.late().exists()
    Release.objects.filter(pk=release.pk).update(published_at=timezone.now() - timedelta(hours=1))
    assert statements.late().get() == release
    statement = state(release)
    assert job().state == "succeeded"
    assert not statements.late().exists()
    document = json.loads(bytes(statement.envelope))
    assert sorted(document) == ["payload", "payloadType", "signatures"]
    assert document["payloadType"] == "application/vnd.in-toto+json"
    assert [sorted(one) for one in document["signatures"]] == [["keyid", "sig"]]
    assert transitions.this_process() not in json.dumps(document)
    assert statement.size == len(bytes(statement.envelope))

    statements.request(release)
    assert state(release) == statement
    [event] = AuditEvent.objects.filter(kind="namespace:release:stated")
    assert (event.subject, event.detail["digest"]) == ("acme/vpc/aws 1.2.0", statement.digest)
    assert event.detail["key_id"] == statement.key.key_id


@pytest.mark.both
def test_a_publication_that_does_not_commit_asks_for_nothing(published, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise LostLease

    monkeypatch.setattr("apps.modules.publishing.entries.refresh", fail)
    assert published().state == "checking"
    assert not Job.objects.filter(kind=statements.JOB).exists()


# --- Without a key ----------------------------------------------------------------------------------------------------


def test_without_a_signing_worker_the_release_is_published_and_the_statement_follows(published, db):
    release = published()
    assert release.state == "published"
    state_all()  # by a process that may not sign
    assert (job().state, job().attempts) == ("queued", 0)
    assert "only workers sign" in job().error
    with pytest.raises(statements.NotYet, match="not been signed yet"):
        statements.require(release)
    assert issubclass(statements.NotYet, NotFound)
    vault.unlock()
    state_all()
    vault.lock()
    assert said_in(statements.require(release))


@for_each_row("spoilt", ["away", "broken", "another"])
def test_a_key_encryption_key_that_is_away_or_broken_delays_the_statement_alone(published, state, spoilt):
    state(published(version="1.0.0"))
    whole = KEK.read_text()
    if spoilt == "away":
        KEK.unlink()
    else:
        KEK.write_text("ab" * 32 if spoilt == "another" else "no hex")
    release = published(version="1.1.0")
    assert release.state == "published"
    state_all()
    assert statements.statement_of(release) is None
    waits = Job.objects.get(kind=statements.JOB, target=release.pk)
    assert (waits.state, waits.attempts) == ("queued", 0)
    KEK.write_text(whole)
    assert state(release).key == StatementKey.objects.get()


def test_a_damaged_private_half_uses_up_the_attempts_and_a_rotation_helps(published, state, settings):
    state(published(version="1.0.0"))
    settings.JOB_ATTEMPTS = 2
    key = StatementKey.objects.get()
    type(key.private_key).objects.update(ciphertext=b"damaged")
    release = published(version="1.1.0")
    with structlog.testing.capture_logs() as logged:
        for _ in range(3):
            state_all()
    assert Job.objects.get(kind=statements.JOB, target=release.pk).state == "failed"
    assert {"private_key_tampered", "statement_gave_up"} <= {line["event"] for line in logged}
    assert statements.sweep() == 0  # not at once again
    statement_keys.rotate(actor=NOBODY)
    Job.objects.filter(state="failed").update(finished_at=timezone.now() - timedelta(hours=2))
    assert statements.sweep() == 1
    assert state(release).key != key


# --- Killed, twice, in between ----------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_between_signing_and_storing_leaves_nothing(published, state, monkeypatch):
    release = published()
    signed = []

    def sign_and_die(kind: str, payload: bytes) -> None:
        signed.append(original(kind, payload)[1])
        raise SystemExit

    original = statement_keys.sign
    monkeypatch.setattr(statement_keys, "sign", sign_and_die)
    with pytest.raises(SystemExit):
        state_all()
    monkeypatch.undo()
    assert not Statement.objects.exists()
    assert not AuditEvent.objects.filter(kind="namespace:release:stated").exists()
    assert bytes(state(release).envelope) == signed[0]  # the same bytes, so nobody holds two


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_store_one_statement(published, worker_host):
    release = published()
    run = [lambda: tasks.state_release(job_id=job().pk)] * 3
    at_once(*run)
    state_all()
    assert Statement.objects.get().release == release
    assert AuditEvent.objects.filter(kind="namespace:release:stated").count() == 1


@pytest.mark.both
def test_a_worker_that_lost_its_lease_stores_nothing(published, state, monkeypatch):
    published()
    original = statement_keys.sign

    def sign_and_sleep(kind: str, payload: bytes) -> tuple[StatementKey, bytes]:
        Job.objects.filter(kind=statements.JOB).update(fence=99)
        return original(kind, payload)

    monkeypatch.setattr(statement_keys, "sign", sign_and_sleep)
    state_all()
    assert not Statement.objects.exists()


def test_a_key_that_is_retired_while_it_signs_states_nothing(published, state, monkeypatch):
    release = published()
    original = statement_keys.sign
    used: list[StatementKey] = []

    def sign_and_rotate(kind: str, payload: bytes) -> tuple[StatementKey, bytes]:
        key, envelope = original(kind, payload)
        if not used:
            statement_keys.rotate(actor=NOBODY, key=key)
        used.append(key)
        return key, envelope

    monkeypatch.setattr(statement_keys, "sign", sign_and_rotate)
    assert state(release).key == used[1] != used[0]


def test_old_statements_verify_after_a_rotation(published, state):
    first = state(published(version="1.0.0"))
    statement_keys.rotate(actor=NOBODY)
    second = state(published(version="1.1.0"))
    assert first.key_id != second.key_id
    for statement in (first, second):
        statement.refresh_from_db()
        assert said_in(statement)["predicate"]["buildDefinition"]["externalParameters"]["address"] == "acme/vpc/aws"


# --- Releases of before -----------------------------------------------------------------------------------------------


@pytest.mark.both
def test_the_sweep_asks_for_old_releases_in_small_steps(published, state, monkeypatch):
    releases = [published(version=f"1.{number}.0") for number in range(5)]
    Job.objects.filter(kind=statements.JOB).delete()  # as of an older Larder
    monkeypatch.setattr(statements, "MOST_WAITING", 2)
    assert statements.sweep() == 2
    assert statements.sweep() == 0  # these two still wait
    assert sorted(Job.objects.filter(kind=statements.JOB).values_list("target", flat=True)) == [
        release.pk for release in releases[:2]
    ]
    for expected in (2, 1, 0):
        state_all()
        tasks.sweep()
        assert Job.objects.filter(kind=statements.JOB, state="queued").count() == expected
    assert Statement.objects.count() == 5


def test_a_purge_keeps_the_statement_with_the_tombstone(published, state):
    release = published()
    state(release)
    address = ModuleAddress.parse("acme/vpc/aws")
    lifecycle.purge_here(address=address, version="1.2.0", reason="A key.", confirm=str(release))
    assert statements.statement_of(release) is not None
    assert not statements.missing().exists()


def test_a_release_that_is_rejected_or_purged_while_a_worker_states_it_is_left_alone(published, state, monkeypatch):
    rejected = published(version="1.0.0")
    Release.objects.filter(pk=rejected.pk).update(state="rejected")
    state_all()
    assert not statements.missing().exists()
    release = published()
    monkeypatch.setattr("apps.provenance.statements.subjects.of_release", lambda _: [])
    state_all()
    assert not Statement.objects.exists()
    assert Job.objects.get(kind=statements.JOB, target=release.pk).state == "succeeded"


# --- The ledger -------------------------------------------------------------------------------------------------------


def test_a_number_that_the_ledger_has_with_other_bytes_is_not_stated(published, state, settings):
    """The database was changed, and with it what clients receive."""
    release = published()
    settings.JOB_ATTEMPTS = 1
    Release.objects.filter(pk=release.pk).update(uploaded_digest="ab" * 32)
    with structlog.testing.capture_logs() as logged:
        state_all()
        state_all()
    assert statements.statement_of(release) is None
    assert [line["event"] for line in logged].count("statement_refused") == 1
    assert job().state == "failed"


def test_storage_that_is_away_is_waited_for_and_a_release_from_before_the_ledger_is_stated(
    published, state, monkeypatch
):
    first = published(version="1.0.0")

    def away(*_: object) -> None:
        raise store.StorageUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr("apps.releases.publishing.ledger.store.get", away)
        state_all()
    assert (job().state, job().attempts) == ("queued", 0)
    assert state(first)
    monkeypatch.setattr("apps.provenance.statements.ledger.known_upload", lambda _: None)
    assert state(published(version="1.1.0"))
