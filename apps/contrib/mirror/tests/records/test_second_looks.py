"""Later answers of a registry about a version that is known: further platforms, other bytes; and looks before an
alarm.
"""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import (
    Alarm,
    AlarmKind,
    AlarmState,
    UpstreamPackage,
    UpstreamProvider,
    UpstreamVersion,
    Verdict,
)
from apps.contrib.mirror.records import alarms
from apps.contrib.mirror.serving import fetch_jobs, on_demand
from apps.contrib.mirror.serving.fetch_jobs import VERSION
from apps.contrib.mirror.tests import fetched
from apps.contrib.mirror.tests.edge_client import Edge, said, version_url
from apps.jobs.waiting import NotYet
from tests.builders import faults
from tests.builders.keys import signing_key
from tests.rows import for_each_row


def read_again(upstream) -> None:
    """The next client's request for the list, and what a worker does after it."""
    fetched.stale(UpstreamProvider.objects.get(), days=1)
    fetched.listed(upstream)
    fetched.work()


@pytest.mark.both
def test_a_platform_with_a_line_that_the_same_key_signed_later_is_added(upstream, registry):
    tool = registry.add_provider(platforms=["linux_amd64"])
    before = fetched.stored(upstream)
    tool.platforms.append("darwin_arm64")
    read_again(upstream)

    assert fetched.stored(upstream, platform="darwin_arm64").blob is not None
    row = fetched.reread(before)
    assert (row.blob, row.digest) == (before.blob, before.digest)
    assert bytes(row.version.sums) == tool.sums("1.0.0")
    assert row.version.verdict == Verdict.FIRST_SEEN
    assert not Alarm.objects.exists()


@pytest.mark.both
def test_a_client_with_a_lock_file_gets_a_platform_that_was_added_later(upstream, registry):
    """It asks for the version alone, never for the list."""
    tool = registry.add_provider(platforms=["linux_amd64"])
    fetched.stored(upstream)
    fetched.stale(UpstreamProvider.objects.get(), days=1)
    tool.platforms.append("darwin_arm64")
    edge = Edge({})
    assert list(edge.archives(upstream)) == ["linux_amd64"]
    assert edge.waited == 0, "it has what it had before at once"
    while fetched.work():
        pass

    assert sorted(edge.archives(upstream)) == ["darwin_arm64", "linux_amd64"]


def test_a_platform_with_a_line_of_another_key_is_an_alarm_and_the_record_stays(upstream, registry):
    tool = registry.add_provider(platforms=["linux_amd64"])
    before = fetched.stored(upstream)
    tool.platforms.append("darwin_arm64")
    tool.change_key(signing_key("rsa2048"))
    read_again(upstream)

    assert [one.kind for one in Alarm.objects.all()] == [AlarmKind.KEY_CHANGED]
    assert [one.platform for one in UpstreamPackage.objects.all()] == ["linux_amd64"]
    assert bytes(fetched.reread(before).version.sums) == bytes(before.version.sums)


@pytest.mark.both
def test_bytes_that_are_replaced_later_raise_the_alarm_for_what_is_stored_too(upstream, registry, olga):
    tool = registry.add_provider(platforms=["linux_amd64", "darwin_arm64"])
    before = fetched.stored(upstream)
    tool.replace("1.0.0")
    read_again(upstream)

    alarm = Alarm.objects.get()
    assert (alarm.kind, alarm.known) == (AlarmKind.BYTES_CHANGED, {"digest": before.digest})
    assert alarm.found["is_signed"]
    assert fetched.reread(before).blob == before.blob, "what is stored stays available"
    read_again(upstream)
    assert Alarm.objects.get().times == 2
    alarms.dismiss(Alarm.objects.get(), actor=Viewer(olga), reason="We keep what we know.")
    read_again(upstream)
    assert Alarm.objects.get().state == AlarmState.DISMISSED


def test_each_stored_version_has_its_turn(upstream, registry):
    numbers = [f"1.{minor}.0" for minor in range(5)]
    registry.add_provider(versions=numbers)
    for number in numbers:
        fetched.stored(upstream, number)
    provider = UpstreamProvider.objects.get()
    now = timezone.now()
    rows = list(UpstreamVersion.objects.order_by("sort_key"))
    for row in rows:
        UpstreamVersion.objects.filter(pk=row.pk).update(tried_at=now - timedelta(hours=row.pk))
    assert fetch_jobs.versions_due(provider.pk, ()) == [row.pk for row in reversed(rows)][: fetch_jobs.MAX_LOOKS]


def test_the_record_of_the_newest_version_begins_with_the_first_list(upstream, registry):
    tool = registry.add_provider(versions=["1.0.0", "1.1.0", "1.2.0-rc.1"])
    fetched.listed(upstream)
    assert fetched.jobs(VERSION) == 1
    fetched.work()
    assert UpstreamVersion.objects.exclude(verdict="").get().version == "1.1.0"
    asked = registry.count(tool.document_path("1.1.0"))
    assert fetched.recorded(upstream, "1.1.0").verdict
    assert registry.count(tool.document_path("1.1.0")) == asked


def test_what_policy_holds_back_is_not_fetched_ahead(upstream, registry):
    tool = registry.add_provider(versions=["1.0.0", "1.1.0"])
    upstream.cooldown_days = 3
    upstream.save()
    tool.more["1.1.0"] = {"published_at": timezone.now().isoformat()}
    fetched.listed(upstream)
    fetched.work()
    assert UpstreamVersion.objects.exclude(verdict="").get().version == "1.0.0"


@for_each_row("path", ["zip_path", "sums_path", "signature_path"])
def test_what_is_wrong_once_accuses_nobody(path, upstream, registry):
    tool = registry.add_provider("acme", f"tool-{path.partition('_')[0]}")
    registry.misbehave(getattr(tool, path)("1.0.0"), faults.wrong_bytes(), times=1)
    assert fetched.stored(upstream, address=f"{tool.namespace}/{tool.type}").blob is not None
    assert registry.count(getattr(tool, path)("1.0.0")) >= 2
    assert not Alarm.objects.exists()


def test_a_document_with_another_digest_is_read_twice_before_the_alarm(upstream, registry):
    tool = registry.add_provider()
    fetched.package(upstream)
    registry.misbehave(tool.document_path("1.0.0"), faults.wrong_digest(), times=1)
    assert fetched.stored(upstream).blob is not None
    assert not Alarm.objects.exists()


def test_wrong_bytes_are_not_called_other_than_before_where_there_was_no_before(upstream, registry):
    tool = registry.add_provider()
    registry.misbehave(tool.zip_path("1.0.0"), faults.wrong_bytes())
    with pytest.raises(Refused) as refused:
        fetched.stored(upstream)
    assert "than its SHA256SUMS says" in str(refused.value)
    assert "before" not in str(refused.value)
    assert registry.count(tool.zip_path("1.0.0")) == 2


@pytest.mark.both
def test_after_a_repair_the_next_request_looks_again(upstream, registry):
    tool, edge = registry.add_provider(), Edge({})
    registry.misbehave(tool.signature_path("1.0.0"), faults.wrong_bytes())
    refused = edge.get(version_url(upstream))
    assert refused.status_code == 409
    assert "not valid" in said(refused)
    registry.behave()
    assert list(edge.archives(upstream)) == ["linux_amd64"]


def test_requests_that_wait_for_one_refusal_cause_one_fetch(upstream, registry):
    tool = registry.add_provider()
    version, since = fetched.version(upstream), timezone.now()
    registry.misbehave(tool.signature_path("1.0.0"), faults.wrong_bytes())
    asking: dict[str, Any] = {"by": None, "until": time.monotonic() + 30, "since": since}
    with pytest.raises(NotYet):
        on_demand.version_with_record(version, **asking)
    fetched.work()
    asked = registry.count("*")
    for _ in range(3):
        with pytest.raises(Refused):
            on_demand.version_with_record(fetched.reread(version), **asking)
    fetched.work()
    assert registry.count("*") == asked
