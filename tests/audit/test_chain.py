"""`manage.py audit verify`: a row that was changed, added or deleted behind Larder is named."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.audit import chain
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent, Link
from apps.audit.recorder import record
from apps.audit.tasks import link
from registry_site.celery import app
from tests.audit import tampering
from tests.audit.tampering import age
from tests.rows import for_each_row


@pytest.fixture
def rows(db):
    """Five events, linked."""
    events = [
        record(Kind.USER_SIGNED_IN, actor_id=10_000, subject=f"user/{900 + number}", price=1.5) for number in range(5)
    ]
    chain.link()
    return events


def verified(*arguments):
    return tampering.verified(*arguments)[0]


@pytest.mark.both
def test_rows_that_nobody_touched_are_as_they_were_written(rows):
    head = Link.objects.get(event_id=rows[-1].pk).digest

    assert verified() == f"5 rows are unchanged. The newest digest is {head}.\n"
    record(Kind.USER_SIGNED_IN, actor_id=1, subject="user/9")
    assert verified("--head", head).startswith("6 rows are unchanged.")


CHANGES: dict[str, Any] = {
    "at": datetime(2020, 1, 1, tzinfo=UTC),
    "kind": Kind.USER_JOINED,
    "actor_id": 2,
    "token_id": 3,
    "address": "192.0.2.1",
    "namespace": "pantry",
    "subject": "user/7",
    "detail": {"price": 1},
    "request_id": "another",
}


def test_the_chain_covers_every_column():
    columns = {field.attname for field in AuditEvent._meta.concrete_fields}
    assert columns == set(chain.FIELDS) == {"id", *CHANGES}


@pytest.mark.both
@for_each_row("column", CHANGES)
def test_a_changed_row_is_named(rows, column):
    tampering.change(rows[2], **{column: CHANGES[column]})

    assert verified() == f"Row {rows[2].pk} of {rows[2].at:%Y-%m-%d %H:%M:%S} was changed.\n"


@pytest.mark.both
def test_a_row_that_is_gone_is_named_with_its_link_or_without(rows):
    tampering.delete(AuditEvent.objects.filter(pk=rows[1].pk))
    assert verified() == f"Row {rows[1].pk} of {rows[1].at:%Y-%m-%d %H:%M:%S} is missing.\n"

    tampering.delete(Link.objects.filter(event_id=rows[1].pk))
    assert verified() == f"The link before row {rows[2].pk} is missing or was changed.\n"


def test_a_cut_off_end_is_found_by_a_digest_kept_elsewhere_and_a_cut_off_beginning_is_named(rows):
    def cut_off(event):
        tampering.delete(AuditEvent.objects.filter(pk=event.pk))
        tampering.delete(Link.objects.filter(event_id=event.pk))

    head = Link.objects.get(event_id=rows[-1].pk).digest
    cut_off(rows[-1])
    assert verified().startswith("4 rows")
    assert verified("--head", head).startswith(f"No link has the digest {head}")

    cut_off(rows[0])
    cut_off(rows[1])
    assert verified() == f"The rows before {rows[2].pk} are missing, and were not pruned.\n"


def test_a_row_of_a_slow_transaction_is_linked_after_later_ones_and_one_added_to_the_past_is_named(rows, monkeypatch):
    late = AuditEvent.objects.create(pk=rows[0].pk - 1, kind=Kind.USER_SIGNED_IN, subject="user/6")
    assert verified().startswith("6 rows")
    assert Link.objects.order_by("-pk")[0].event_id == late.pk
    assert link.name in {entry["task"] for entry in app.conf.beat_schedule.values()}, "the clock links them too"

    monkeypatch.setattr(chain, "_OUT_OF_ORDER", 0)
    added = AuditEvent.objects.create(pk=rows[0].pk - 2, kind=Kind.USER_SIGNED_IN, subject="user/6")
    age([added], days=1)
    assert verified().startswith(f"Row {added.pk} of ")


@pytest.mark.both
@for_each_row("goes", [3, 5], ids=["the older ones", "all"])
def test_what_was_pruned_is_no_gap(db, goes):
    events = [record(Kind.USER_SIGNED_IN, actor_id=1, subject=f"user/{number}") for number in range(5)]
    age(events[:goes], days=500)
    chain.link()
    assert chain.prune() == goes

    assert verified().startswith(f"{5 - goes + 1} rows"), "and the row that says so"
    said = AuditEvent.objects.get(kind=Kind.AUDIT_PRUNED).detail
    assert verified("--head", said["chain"]).startswith(f"{5 - goes + 1} rows")


def test_pruning_that_stopped_half_way_is_no_gap_and_goes_on(db, monkeypatch):
    events = [record(Kind.USER_SIGNED_IN, actor_id=1, subject=f"user/{number}") for number in range(5)]
    age(events[:4], days=500)
    monkeypatch.setattr(chain, "BATCH_SIZE", 2)
    deletions, delete = iter([True]), chain.delete_batch

    def once(*given):
        next(deletions)
        delete(*given)

    monkeypatch.setattr(chain, "delete_batch", once)
    with pytest.raises(StopIteration):
        chain.prune()
    monkeypatch.undo()

    assert AuditEvent.objects.filter(kind=Kind.USER_SIGNED_IN).count() == 3
    assert verified().startswith("4 rows")
    assert chain.prune() == 2
    assert verified().startswith("3 rows")


@pytest.mark.both
def test_an_export_takes_a_kind_a_person_and_a_time_and_carries_the_digests_that_prove_its_rows(rows, tmp_path, bob):
    def exported(**asked):
        out = StringIO()
        call_command("audit", "export", **asked, stdout=out)
        return out.getvalue().splitlines(keepends=True)

    lines, file = exported(), tmp_path / "audit.jsonl"
    file.write_text("".join(lines))
    assert verified("--file", str(file)).startswith("5 rows are unchanged.")
    forged = json.loads(lines[3]) | {"actor_id": 7}
    file.write_text("".join([*lines[:3], json.dumps(forged) + "\n", "[]\n"]))
    assert verified("--file", str(file)) == f"Line 4: row {rows[3].pk} was changed.\nLine 5 is not an exported row.\n"

    record(Kind.TOKEN_ISSUED, actor_id=bob.pk, subject="token/1")
    age(rows[:2], days=3)
    yesterday = f"{timezone.now() - timedelta(days=1):%Y-%m-%d}"
    assert len(exported(kind=Kind.TOKEN_ISSUED)) == len(exported(person="bob")) == 1
    assert len(exported(kind=Kind.USER_SIGNED_IN, until=yesterday)) == 2
    assert len(exported(kind=Kind.USER_SIGNED_IN, since=yesterday)) == 3
    assert len(exported(kind=Kind.USER_SIGNED_IN, format="csv")) == 6, "and a header"
