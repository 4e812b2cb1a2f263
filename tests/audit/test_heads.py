"""The head of the chain is recorded outside of the database, so that a chain that was cut off or rewritten is found."""

import json
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from structlog.testing import capture_logs

from apps.audit import chain, heads
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent, Link
from apps.audit.recorder import record
from apps.audit.tasks import record_head
from apps.jobs import queues
from apps.lib.process.metrics import audit_heads
from apps.lib.settings_values.outgoing import Outgoing
from registry_site import env
from registry_site.celery import app
from registry_site.operations import doctor
from registry_site.startup import checks
from tests.audit import tampering
from tests.audit.tampering import verified
from tests.notify.receiver import listening, says
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(settings, tmp_path) -> Path:
    path = tmp_path / "heads.jsonl"
    settings.AUDIT_HEAD_URL = f"file://{path}"
    return path


def grow(count=3):
    events = [record(Kind.USER_SIGNED_IN, actor_id=1, subject=f"user/{number}") for number in range(count)]
    chain.link()
    return events


def cut_off(events):
    """Without a trace in the database: rows and links."""
    numbers = [event.pk for event in events]
    tampering.delete(AuditEvent.objects.filter(pk__in=numbers))
    tampering.delete(Link.objects.filter(event_id__in=numbers))


def counted(outcome):
    return audit_heads.labels(outcome)._value.get()


def test_each_hour_logs_the_head_and_records_it_in_a_private_file_or_at_a_receiver(settings, file):
    events = grow()
    with capture_logs() as logs:
        record_head()
    record_head()

    [line] = [line for line in logs if line["event"] == "audit_head"]
    newest = Link.objects.get(event_id=events[-1].pk)
    assert (line["links"], line["head"], line["row"]) == (3, newest.digest, events[-1].pk)
    assert app.conf.beat_schedule["record-audit-head"]["task"] == record_head.name
    assert queues.queue_of(record_head.name) == "notify", "a worker that checks may have no network"
    assert len(file.read_text().splitlines()) == 2, "it only grows"
    assert file.stat().st_mode & 0o777 == 0o600
    last = heads.newest_in(file)
    assert last is not None
    assert last.links == 3

    settings.WEBHOOKS = Outgoing((ip_network("127.0.0.0/8"),))
    with listening(says(204)) as receiver:
        settings.AUDIT_HEAD_URL = receiver.url
        before = counted("recorded")
        record_head()
    [got] = receiver.received
    assert json.loads(got.body)["head"] == newest.digest
    assert json.loads(got.body).keys() == {"at", "links", "head", "row"}
    assert counted("recorded") == before + 1


@pytest.mark.both
def test_a_cut_off_end_is_found_without_a_digest_that_somebody_noted(file):
    first, *_ = grow()
    record_head()
    late = grow()
    record_head()
    assert verified()[0].endswith(f". The recorded heads of {file} are in the chain.\n")

    cut_off(late[-1:])

    said, is_sound = verified()
    assert not is_sound
    assert "1 of 2 recorded heads are not in the chain" in said
    assert "its end was cut off, or it was rewritten" in said
    assert "restored" not in said
    assert chain.verify().problems == [], "the database alone does not show it"

    tampering.change(first, subject="user/9")
    tampering.delete(Link.objects.all())
    chain.link()
    said, is_sound = verified()
    assert (chain.verify().problems, is_sound) == ([], False)
    assert "2 of 2 recorded heads are not in the chain" in said, "it was written anew"


def test_a_restored_backup_is_said_to_be_one_and_does_not_pass_for_sound(file):
    kept, lost = grow(), grow()
    record_head()
    cut_off(lost)
    restored = record(Kind.DATABASE_RESTORED, actor_id=None, subject="database", found_by="restore")

    said, is_sound = verified()
    assert not is_sound
    assert f"an older backup was restored on {restored.at:%Y-%m-%d %H:%M:%S} (row {restored.pk})" in said
    assert "If you restored one then, keep" in said
    assert kept

    file.rename(file.with_suffix(".before"))
    record_head()
    assert verified()[1]


@pytest.mark.both
def test_heads_of_pruned_rows_may_be_gone(file):
    old = grow()
    tampering.delete(Link.objects.all())
    tampering.age(old, days=500)
    chain.link()
    record_head()
    line = json.loads(file.read_text())
    file.write_text(json.dumps(line | {"at": (timezone.now() - timedelta(days=499)).isoformat()}) + "\n")
    assert verified()[1]
    grow()
    assert chain.prune() == 3
    record_head()

    assert verified()[1]


def test_an_empty_chain_is_found_and_no_earlier_restore_or_claimed_pruning_explains_it(file):
    record(Kind.DATABASE_RESTORED, actor_id=None, subject="database", found_by="restore")
    tampering.age(AuditEvent.objects.all(), days=1)
    cut = grow()
    record_head()
    cut_off(cut)
    assert "1 of 1 recorded heads" in verified()[0]
    assert "restored" not in verified()[0], "that was before"

    forged = (timezone.now() + timedelta(days=1)).isoformat()
    record(Kind.AUDIT_PRUNED, actor_id=None, subject="audit", rows=3, before=forged, chain="0" * 64)
    assert "1 of 1 recorded heads" in verified()[0]


def test_many_heads_are_compared_and_lines_of_a_log_count(file, tmp_path):
    log = tmp_path / "larder.log"
    lines = ["no JSON", json.dumps({"event": "request"}), "", '{"at": "2026-']
    for _ in range(3):
        grow(1)
        newest = Link.objects.latest("pk")
        at = timezone.now().isoformat()
        head = json.dumps({"event": "audit_head", "row": newest.event_id, "links": 1, "head": newest.digest, "at": at})
        lines += [head] * 300
    log.write_text("\n".join(lines))
    assert verified("--heads", str(log))[1]
    cut_off(AuditEvent.objects.order_by("-pk")[:1])

    assert "300 of 900 recorded heads" in verified("--heads", str(log))[0]


def test_a_file_that_is_gone_empty_or_unreadable_is_a_problem(file):
    grow()
    assert "does not exist, so no recorded head was compared" in verified()[0]
    file.write_text("")
    assert "has no head" in verified()[0]
    file.write_bytes(b"\xff\n")
    assert "cannot be read" in verified()[0]


def test_an_outage_is_logged_and_counted_and_the_next_hour_records_the_next(settings, file):
    settings.WEBHOOKS = Outgoing((ip_network("127.0.0.0/8"),))
    grow()
    before = counted("failed")
    with listening(says(500)) as receiver:
        settings.AUDIT_HEAD_URL = f"{receiver.url}?token=swordfish"
        with capture_logs() as logs:
            record_head()
    settings.AUDIT_HEAD_URL = f"file://{file.parent}/missing/heads.jsonl"
    with capture_logs() as more:
        record_head()

    failures = [line for line in logs + more if line["event"] == "audit_head_not_recorded"]
    assert failures[0]["error"] == "the answer was 500"
    assert failures[1]["error"].endswith("No such file or directory")
    assert "swordfish" not in str(logs)
    assert counted("failed") == before + 2
    settings.AUDIT_HEAD_URL = f"file://{file}"
    record_head()
    assert verified()[1]


def test_doctor_compares_and_says_when_none_was_recorded(settings, file, time_machine):
    def found():
        return [(finding.state, finding.found) for finding in doctor.audit_heads()]

    cut = grow()
    assert found() == [("warn", f"{file} has no head of the last 3 hours")]
    record_head()
    assert found() == [("ok", f"the recorded heads of {file} are in the chain")]
    time_machine.move_to(timezone.now() + timedelta(hours=4))
    assert [state for state, _ in found()] == ["warn", "ok"]
    cut_off(cut)
    assert ("fail", True) in [(state, "are not in the chain" in words) for state, words in found()]
    settings.AUDIT_HEAD_URL = ""
    assert found() == [("ok", "heads of the chain are only in the log")]


@for_each_row(("url", "count"), [("http://10.0.0.1/x", 1), ("https://192.0.2.1/x", 1), ("file:///x", 0), ("", 0)])
def test_an_address_that_larder_would_not_call_is_a_system_check(settings, url, count):
    settings.AUDIT_HEAD_URL = url

    assert [one.id for one in checks.heads_of_the_audit_have_an_address(None)] == ["larder.E017"] * count


@for_each_row("url", ["file://heads.jsonl", "file:///", "file:///srv/audit/", "ftp://a.example/x", "https://"])
def test_an_address_that_is_neither_is_refused_at_the_start(monkeypatch, url):
    monkeypatch.setattr(env, "text", lambda *_: url)

    with pytest.raises(ImproperlyConfigured, match="LARDER_AUDIT_HEAD_URL"):
        env.file_or_webhook("LARDER_AUDIT_HEAD_URL")
