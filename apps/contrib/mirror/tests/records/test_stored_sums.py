"""The sums of an upstream's stored packages, without reading them: every verb that stores or drops bytes keeps the sum,
together with others at the same time, and the nightly count says where it was wrong.
"""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from structlog.testing import capture_logs

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror import stored_sums
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import KeyPin, StoredSum, UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.records import storage, trust
from apps.contrib.mirror.tasks import prune as nightly
from apps.contrib.mirror.tests import fetched
from apps.contrib.mirror.tests.shelf import add_package, add_upstream, add_version, put
from tests.cast import BLOBS
from tests.threads import at_once

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def sums() -> list[tuple[int, int]]:
    return list(StoredSum.objects.order_by("pk").values_list("packages", "bytes"))


def shelf() -> list[UpstreamPackage]:
    """Two packages of the same thousand bytes, and one of ten."""
    one = add_upstream()
    return [
        add_package(add_version(one, version=f"3.{number}.0"), data)
        for number, data in enumerate((b"x" * 1000, b"x" * 1000, b"y" * 10))
    ]


def test_a_fetch_adds_its_package_and_the_same_bytes_once(upstream, registry):
    tool = registry.add_provider(versions=["1.0.0"], platforms=["linux_amd64"])
    fetched.stored(upstream)

    assert sums() == [(1, len(tool.zip("1.0.0")))]
    assert stored_sums.recount() == 0


def test_each_way_in_which_packages_lose_their_bytes_is_counted():
    alike, other, last = shelf()
    assert sums() == [(3, 1010)]

    storage.evict_packages([alike], reason="test")
    assert sums() == [(2, 1010)], "the other one has the same bytes"
    storage.evict_packages([other], reason="test")
    assert sums() == [(1, 10)]

    (BLOBS / "sha256" / last.digest[:2] / last.digest).unlink()
    assert storage.forget(UpstreamPackage.objects.select_related("blob", storage.UPSTREAM).get(pk=last.pk))
    assert sums() == [(0, 0)]
    assert stored_sums.recount() == 0


def test_a_key_that_is_refused_takes_its_packages_from_the_sum(olga):
    alike, *_ = shelf()
    add_package(add_version(alike.version.provider.upstream, "acme/tool"), b"x" * 1000)
    assert sums() == [(4, 1010)]

    trust.decide_key(KeyPin.objects.get(namespace="hashicorp"), is_trusted=False, actor=Viewer(olga), reason="test")
    assert sums() == [(1, 1000)]
    assert stored_sums.recount() == 0


def test_a_removed_upstream_leaves_no_sum(olga):
    shelf()
    add_package(add_version(add_upstream("other.example.com")))
    upstreams.remove("registry.example.com", actor=Viewer(olga))

    assert sums() == [(1, 5)]
    assert stored_sums.recount() == 0


def test_each_night_a_wrong_sum_is_corrected_and_the_log_says_so():
    shelf()
    add_package(add_version(add_upstream("other.example.com")))
    StoredSum.objects.filter(upstream__host="registry.example.com").update(packages=7, bytes=1)
    StoredSum.objects.filter(upstream__host="other.example.com").delete()
    with capture_logs() as logged:
        nightly()

    assert sums() == [(3, 1010), (1, 5)]
    said = [(line["host"], line["was"]) for line in logged if line["event"] == "stored_sum_corrected"]
    assert said == [("registry.example.com", (7, 1)), ("other.example.com", (0, 0))]
    assert stored_sums.recount() == 0


def test_a_sum_that_was_too_small_keeps_nobody_from_dropping_bytes():
    packages = shelf()
    StoredSum.objects.update(packages=0, bytes=0)
    assert storage.evict_packages(packages, reason="test") == 3
    assert sums() == [(0, 0)]


@pytest.mark.django_db(transaction=True)
def test_of_the_same_bytes_that_are_stored_and_dropped_at_once_every_change_counts():
    upstream = add_upstream()
    gone = [add_package(add_version(upstream, version=f"1.{number}.0"), b"x" * 1000) for number in range(4)]
    coming = [add_version(upstream, version=f"2.{number}.0") for number in range(4)]
    blob = put(b"x" * 1000)

    def come(version: UpstreamVersion) -> None:
        with transaction.atomic(), stored_sums.changing([upstream.pk], {gone[0].digest}):
            UpstreamPackage.objects.create(
                version=version,
                os="linux",
                arch="amd64",
                filename=str(version.pk),
                digest=gone[0].digest,
                size=1000,
                h1="h1:",
                blob=blob,
                fetched_at=timezone.now() - timedelta(days=1),
            )

    calls = [lambda package=package: storage.evict_packages([package], reason="test") for package in gone]
    at_once(*calls, *[lambda version=version: come(version) for version in coming])

    assert sums() == [(4, 1000)]
    assert stored_sums.recount() == 0
