"""The checker after each fault sees what it is there to see: each of its points, broken by hand."""

import pytest
from django.utils import timezone

from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.audit.recorder import record
from apps.blobs import backends, store
from apps.jobs.models import Job
from apps.releases.models import Release, State
from apps.releases.publishing import ledger
from tests.audit import tampering
from tests.cast import BLOBS
from tests.chaos import invariants

pytestmark = pytest.mark.both


@pytest.fixture
def release(shelf, published):
    return published("acme/vpc/aws", "1.2.0")


def say(kind, release, **more):
    record(kind, actor_id=None, subject=str(release), release=release.pk, **more)


def two_digests(release):
    say(Kind.RELEASE_PUBLISHED, release, digest="f" * 64)


def another_ledger_entry(release):
    (BLOBS / ledger.key_of(release)).chmod(0o600)
    (BLOBS / ledger.key_of(release)).write_text('{"digest": "f"}')


def no_bytes(release):
    backends.current().delete(f"sha256/{release.digest[:2]}/{release.digest}")


def still_checked(release):
    Release.objects.filter(pk=release.pk).update(state=State.CHECKING)


def upload_long_over(release):
    Release.objects.filter(pk=release.pk).update(
        state=State.RECEIVING, receiving_until=timezone.now() - 2 * invariants.PATIENCE
    )


def still_queued(release):
    Job.objects.filter(target=release.pk).update(state="queued")


def failed(release):
    Release.objects.filter(pk=release.pk).update(state=State.FAILED, published_at=None)


def rejected_without_reason(release):
    Release.objects.filter(pk=release.pk).update(state=State.REJECTED, published_at=None)


def no_row_of_the_publish(release):
    Release.objects.filter(pk=release.pk).update(published_at=None, state=State.REJECTED, reasons=[{"code": "x"}])


def a_second_row(release):
    say(Kind.RELEASE_RECEIVED, release)


def a_row_changed(release):
    invariants.problems()  # links the rows
    [event] = AuditEvent.objects.filter(kind=Kind.RELEASE_PUBLISHED, subject=str(release))
    tampering.change(event, subject="acme/other/aws 1.0.0")


BROKEN = {
    two_digests: "(i) module acme/vpc/aws 1.2.0 was published with 2 digests",
    another_ledger_entry: "(i) acme/vpc/aws 1.2.0 has",
    no_bytes: "(ii) acme/vpc/aws 1.2.0: ",
    still_checked: "(iii) acme/vpc/aws 1.2.0 is still checking",
    upload_long_over: "(iii) acme/vpc/aws 1.2.0 still waits for an upload",
    still_queued: "(iii) the job of release",
    failed: "(v) acme/vpc/aws 1.2.0 is failed",
    rejected_without_reason: "(v) acme/vpc/aws 1.2.0 is rejected: []",
    no_row_of_the_publish: "(vi) acme/vpc/aws 1.2.0 is rejected, and the log has 1 of namespace:release:published",
    a_second_row: "(vi) acme/vpc/aws 1.2.0 is published, and the log has 2 of namespace:release:received",
    a_row_changed: "was changed",
}


def test_it_finds_nothing_where_nothing_is_wrong(release, alice):
    assert invariants.problems() == []
    assert invariants.newest() == release.pk


@pytest.mark.parametrize("act", BROKEN, ids=lambda act: act.__name__)
def test_it_sees(release, act):
    act(release)

    found = invariants.problems()
    assert any(BROKEN[act] in problem for problem in found), found


def test_it_reads_no_bytes_of_what_was_checked_before_nor_rows_of_other_namespaces(release, published):
    no_bytes(release)
    failed(published("acme/vpc/aws", "1.1.0"))

    assert [problem[:4] for problem in invariants.problems(after=invariants.newest())] == ["(v) ", "(vi)", "(vi)"]
    assert invariants.problems(["pantry"]) == []


def test_it_sees_what_lies_in_staging_for_too_long(release, time_machine):
    store.stage("0123", [b"left"])
    assert invariants.problems() == []

    time_machine.move_to(timezone.now() + store.STAGING_LIFETIME * 2)
    assert [problem[:4] for problem in invariants.problems()] == ["(iv)"]
    assert invariants.left_after_sweep() == []
    assert invariants.problems() == []
