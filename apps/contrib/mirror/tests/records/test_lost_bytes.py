"""Mirrored bytes that storage lost are fetched again; bytes in quarantine are not served through the mirror either."""

import shutil

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.blobs import store
from apps.blobs.care import integrity, scrub
from apps.blobs.models import Blob, Problem
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import UpstreamPackage
from apps.contrib.mirror.records import storage
from apps.contrib.mirror.tasks import forget_lost
from apps.contrib.mirror.tests.shelf import add_package, add_upstream, add_version, damage, file_of, refetch
from apps.releases.lifecycle import quarantine, verbs
from apps.releases.models import Release
from tests.cast import BLOBS
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
DATA = b"a zip" * 1000


@pytest.fixture
def package() -> UpstreamPackage:
    return add_package(add_version(add_upstream()), DATA, is_pinned=True)


def has_bytes(package: UpstreamPackage) -> bool:
    package.refresh_from_db()
    return package.blob is not None


@pytest.mark.both
@for_each_row("harm", ["damaged", "missing"])
def test_what_a_scrub_finds_is_let_go_and_fetched_again(package, harm):
    damage(package.digest) if harm == "damaged" else file_of(package.digest).unlink()
    scrub.scrub(now=timezone.now())
    assert Blob.objects.get().problem == harm
    forget_lost()

    assert not has_bytes(package)
    assert not file_of(package.digest).exists()
    assert not Blob.objects.exists()
    row = AuditEvent.objects.get(kind=Kind.UPSTREAM_PACKAGES_EVICTED)
    assert row.detail["reason"] == f"the stored bytes are {harm}"
    refetch(package, DATA)
    integrity.known.renew()
    assert b"".join(store.read(package.digest)) == DATA


def test_what_a_client_finds_damaged_is_let_go_and_what_is_fetched_again_is_not_marked_by_the_old_finding(package):
    damage(package.digest)
    with pytest.raises(store.DamagedInStorage):
        b"".join(store.read(package.digest))  # noted, not written yet

    assert storage.without_lost_bytes(package).blob is None
    refetch(package, DATA)
    integrity.known.renew()
    assert b"".join(store.read(package.digest)) == DATA
    assert Blob.objects.get().problem == Problem.NONE


def test_what_a_client_finds_missing_is_let_go(package):
    assert storage.without_lost_bytes(package).blob is not None
    file_of(package.digest).unlink()

    assert storage.without_lost_bytes(package).blob is None
    assert not has_bytes(package)


def test_sound_bytes_cost_no_query_and_what_is_right_by_now_is_kept_and_served(package, django_assert_num_queries):
    package = UpstreamPackage.objects.select_related("blob").get()
    with django_assert_num_queries(0):
        assert storage.without_lost_bytes(package).blob is not None

    Blob.objects.update(problem=Problem.DAMAGED, checked_at=timezone.now())
    integrity.known.renew()
    assert storage.without_lost_bytes(package).blob is not None
    integrity.known.renew()
    assert b"".join(store.read(package.digest)) == DATA


def test_storage_that_is_away_has_lost_nothing(package, settings, tmp_path):
    Blob.objects.update(problem=Problem.MISSING)
    (tmp_path / "in the way").write_bytes(b"no folder")
    settings.STORAGE_URL = f"file://{tmp_path / 'in the way'}"
    package = UpstreamPackage.objects.select_related("blob").get()
    with pytest.raises(store.StorageUnavailable):
        storage.without_lost_bytes(package)

    assert has_bytes(package)


@pytest.mark.both
def test_a_disk_that_is_not_mounted_loses_no_references():
    upstream = add_upstream()
    for number in range(storage.MOST_MISSING + 1):
        add_package(add_version(upstream, version=f"1.{number}.0"), b"%d" % number)
    shutil.rmtree(BLOBS / "sha256")
    scrub.scrub(now=timezone.now())
    forget_lost()

    assert UpstreamPackage.objects.filter(blob__isnull=False).count() == storage.MOST_MISSING + 1


def test_bytes_that_a_version_of_ours_needs_stay_for_the_operator_or_come_back_with_the_fetch(published):
    release = published()
    data = b"".join(store.read(release.digest))
    package = add_package(add_version(add_upstream()), data)
    damage(release.digest)
    scrub.scrub(now=timezone.now())
    forget_lost()
    assert has_bytes(package)
    assert file_of(release.digest).exists()

    file_of(release.digest).unlink()
    scrub.scrub(now=timezone.now())
    forget_lost()
    refetch(package, data)
    integrity.known.renew()
    assert b"".join(store.read(release.digest)) == data


def test_bytes_in_quarantine_are_not_served_through_a_mirror(published, olga):
    release = published()
    data = b"".join(store.read(release.digest))
    package = add_package(add_version(add_upstream()), data)
    other = add_package(add_version(add_upstream("other.example.com")), b"other")
    storage.refuse_quarantined(package)
    verbs.quarantine(release=release, actor=Viewer(olga), reason="malware")

    assert storage.quarantined([package.digest, other.digest]) == {package.digest}
    storage.refuse_quarantined(other)
    with pytest.raises(Refused) as refused:
        storage.refuse_quarantined(package)
    assert "are in quarantine" in str(refused.value)
    assert "acme" not in str(refused.value)


def test_without_the_database_the_last_list_decides(published, olga, monkeypatch):
    release = published()
    verbs.quarantine(release=release, actor=Viewer(olga), reason="malware")
    quarantine.blocked.renew()

    def away(**_):
        raise OperationalError

    monkeypatch.setattr(Release.objects, "filter", away)
    assert storage.quarantined([release.digest, "0" * 64]) == {release.digest}
