"""The room of mirrored packages: what counts, what goes, what stays, and when a download is refused."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.artifacts import gc
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.blobs import store
from apps.blobs.models import Blob
from apps.contrib.mirror import stored_sums
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream, UpstreamPackage
from apps.contrib.mirror.records import storage
from apps.contrib.mirror.tasks import evict as nightly
from apps.contrib.mirror.tasks import forget_lost
from apps.contrib.mirror.tests.shelf import add_package, add_upstream, add_version
from apps.lib.errors import Invalid
from registry_site.celery import app
from tests.threads import at_once

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(days=40)


def long_ago(days: int = 40) -> dict:
    moment = timezone.now() - timedelta(days=days)
    return {"used_at": moment, "fetched_at": moment}


def stored() -> list[str]:
    rows = UpstreamPackage.objects.filter(blob__isnull=False)
    return sorted(rows.values_list("version__version", flat=True))


def evicted() -> list[dict]:
    return [row.detail for row in AuditEvent.objects.filter(kind=Kind.UPSTREAM_PACKAGES_EVICTED).order_by("pk")]


@pytest.mark.both
def test_the_same_bytes_count_once_for_each_upstream():
    one, two = add_upstream(), add_upstream("other.example.com")
    assert stored_sums.used_bytes(one) == 0
    add_package(add_version(one), b"x" * 1000)
    add_package(add_version(one, version="3.6.1"), b"x" * 1000)
    add_package(add_version(one, version="3.6.2"), b"y" * 10)
    add_package(add_version(two), b"x" * 1000)

    assert (stored_sums.used_bytes(one), stored_sums.used_bytes(two)) == (1010, 1000)
    add_upstream("empty.example.com")
    rows = storage.with_used_bytes(Upstream.objects.order_by("pk")).values_list("used_bytes", "stored_packages")
    assert list(rows) == [(1010, 3), (1000, 1), (0, 0)]


def test_what_fits_exactly_fits_what_is_larger_than_the_quota_does_not_and_nothing_goes_for_either():
    upstream, without = add_upstream(quota_bytes=1500), add_upstream("other.example.com", evict_days=0)
    add_package(add_version(upstream), b"x" * 1000, **long_ago())
    add_package(add_version(without), b"x" * 1000, **long_ago(4000))
    storage.require_room(upstream, 500)
    with pytest.raises(FetchFailed, match="quota"):
        storage.require_room(upstream, 1501)
    storage.require_room(without, 10**15)
    assert storage.evict(now=timezone.now()) == 0, "zero days evict nothing"

    assert stored() == ["3.6.0", "3.6.0"]


@pytest.mark.both
def test_a_full_quota_takes_what_was_fetched_longest_ago_and_nothing_of_another_upstream():
    upstream = add_upstream(quota_bytes=3000)
    for number, days in enumerate((10, 30, 20)):
        add_package(add_version(upstream, version=f"3.{number}.0"), b"%d" % number * 1000, **long_ago(days))
    add_package(add_version(add_upstream("other.example.com"), version="9.0.0"), b"x" * 1000, **long_ago())
    storage.require_room(upstream, 1001)

    assert stored() == ["3.0.0", "9.0.0"]
    assert stored_sums.used_bytes(upstream) == 1000
    (detail,) = evicted()
    assert (detail["reason"], detail["count"], detail["bytes"]) == ("the quota is full", 2, 2000)
    assert detail["packages"][0] == "registry.example.com/hashicorp/random 3.1.0 linux_amd64"


def test_a_quota_takes_both_of_two_packages_with_the_same_bytes():
    upstream = add_upstream(quota_bytes=1000)
    for number in range(2):
        add_package(add_version(upstream, version=f"3.{number}.0"), b"x" * 1000, **long_ago(20 + number))
    storage.require_room(upstream, 10)

    assert stored() == []
    assert Blob.objects.count() == 0


def test_a_quota_full_of_pinned_and_recent_packages_refuses():
    upstream = add_upstream(quota_bytes=3000)
    pinned = add_package(add_version(upstream, version="3.0.0"), b"0" * 1000, is_pinned=True, **long_ago())
    add_package(add_version(upstream, version="3.1.0"), b"1" * 1000)
    add_package(add_version(upstream, version="3.2.0"), b"2" * 1000, **{**long_ago(), "used_at": timezone.now()})
    with pytest.raises(FetchFailed) as refused:
        storage.require_room(upstream, 1)

    assert (refused.value.rule, refused.value.code, refused.value.url) == ("quota", "quota", upstream.base_url)
    assert "3,000 bytes of 3,000 bytes are used, 1 bytes more are needed" in refused.value.message
    assert stored() == ["3.0.0", "3.1.0", "3.2.0"]
    assert pinned.blob is not None


@pytest.mark.both
def test_each_night_goes_what_nobody_fetched_for_so_long_and_the_record_stays(stored_files):
    upstream = add_upstream(evict_days=30)
    old = add_package(add_version(upstream, version="1.0.0"), b"old", **long_ago(31))
    add_package(add_version(upstream, version="2.0.0"), b"young", **long_ago(29))
    add_package(add_version(upstream, version="3.0.0"), b"used", fetched_at=timezone.now() - LONG_AGO,
                used_at=timezone.now())  # fmt: skip
    add_package(add_version(upstream, version="4.0.0"), b"never used", fetched_at=timezone.now() - LONG_AGO)
    add_package(add_version(upstream, version="5.0.0"), b"pinned", is_pinned=True, **long_ago())
    nightly()

    assert stored() == ["2.0.0", "3.0.0", "5.0.0"]
    assert len(stored_files()) == 3
    old.refresh_from_db()
    assert (old.h1, old.size, old.digest) == ("h1:" + "a" * 43 + "=", 3, old.digest)
    version = old.version
    assert (bytes(version.sums), bytes(version.signature), version.verdict) == (b"the sums", b"the signature", "pinned")
    (detail,) = evicted()
    assert detail["count"] == 2
    assert detail["reason"] == "not fetched for 30 days"


def test_bytes_that_a_version_of_ours_has_stay_in_storage(published):
    release = published()
    data = b"".join(store.read(release.digest))
    package = add_package(add_version(add_upstream(evict_days=30)), data, **long_ago())
    storage.evict(now=timezone.now())

    package.refresh_from_db()
    assert package.blob is None
    assert b"".join(store.read(release.digest)) == data


@pytest.mark.both
def test_what_is_used_or_pinned_between_the_choice_and_the_act_stays(olga):
    package = add_package(add_version(add_upstream(evict_days=30)), **long_ago())
    UpstreamPackage.objects.update(used_at=timezone.now())
    since = timezone.now() - timedelta(days=30)
    assert storage.evict_packages([package], reason="test", unused_since=since) == 0

    UpstreamPackage.objects.update(**long_ago())
    storage.pin(package.version, is_pinned=True, actor=Viewer(olga), reason="in production")
    assert storage.evict_packages([package], reason="test") == 0
    assert stored() == ["3.6.0"]
    assert evicted() == []


def test_pinning_and_unpinning_are_recorded_with_their_reason(olga):
    package = add_package(add_version(add_upstream()))
    storage.pin(package.version, is_pinned=True, actor=Viewer(olga), reason=" in production ")
    storage.pin(package.version, is_pinned=True, actor=Viewer(olga), reason="again")
    storage.pin(package.version, is_pinned=False, actor=Viewer(olga), reason="retired")

    rows = AuditEvent.objects.filter(kind=Kind.UPSTREAM_CHANGED).order_by("pk")
    assert [(row.detail["change"], row.detail["reason"]) for row in rows] == [
        ("pinned", "in production"),
        ("unpinned", "retired"),
    ]
    with pytest.raises(Invalid, match="reason"):
        storage.pin(package.version, is_pinned=True, actor=Viewer(olga), reason=" ")


def test_storage_that_is_away_keeps_bytes_that_the_garbage_collection_removes_and_it_keeps_mirrored_ones(
    monkeypatch, stored_files, settings
):
    package = add_package(add_version(add_upstream(evict_days=30)), **long_ago())
    Blob.objects.update(created_at=timezone.now() - settings.OCI_GRACE - timedelta(hours=1))
    gc.collect()
    assert stored_files() == [f"sha256/{package.digest[:2]}/{package.digest}"]

    def away(_digest: str) -> bool:
        raise store.StorageUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(store, "remove", away)
        assert storage.evict(now=timezone.now()) == 1
    assert len(stored_files()) == 1

    gc.collect()
    assert stored_files() == []


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_two_evictions_at_once_count_each_package_once():
    upstream = add_upstream(evict_days=30)
    for number in range(5):
        add_package(add_version(upstream, version=f"3.{number}.0"), b"%d" % number, **long_ago())
    counts = at_once(*[lambda: storage.evict(now=timezone.now())] * 2)

    assert sum(counts) == 5
    assert sum(detail["count"] for detail in evicted()) == 5
    assert stored() == []


def test_beat_rings_for_both():
    entries = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert {nightly.name, forget_lost.name} <= entries
