"""What /metrics and the alerts tell of mirrored registries."""

import math

import pytest
from django.test import Client
from django.utils import timezone

from apps.jobs import heartbeats
from apps.jobs.models import Job
from apps.upstream import health
from apps.upstream.models import Upstream, UpstreamProvider
from apps.upstream.rows import AlarmState
from registry_site.server.forwarded import DIRECT_PEER
from tests.builders import alerting
from tests.site.monitoring.test_metrics import samples_of
from tests.upstream.shelf import HOST, add_package, add_upstream, add_version
from tests.upstream.unwell import FAILURE, HOUR, alarm_of, down

pytestmark = pytest.mark.django_db


def page() -> str:
    client = Client()
    client.defaults[DIRECT_PEER] = "127.0.0.1"
    return client.get("/metrics").text


def metrics() -> dict:
    return samples_of(page())


# --- Metrics ------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_a_registry_that_is_well_is_told_by_its_host(all_up):
    upstream = add_upstream(succeeded_at=timezone.now() - HOUR, quota_bytes=5000)
    add_package(add_version(upstream), b"x" * 1000)
    add_package(add_version(upstream, version="3.7.0"), b"x" * 1000)
    UpstreamProvider.objects.update(listed_at=timezone.now() - 2 * HOUR)

    found = metrics()
    assert found["larder_upstream_up", HOST] == 1
    assert found["larder_upstream_failures", HOST] == 0
    assert 3600 <= found["larder_upstream_last_success_age_seconds", HOST] < 3700
    assert 7200 <= found["larder_upstream_list_age_seconds", HOST] < 7300
    assert found["larder_upstream_stale_list_seconds", HOST] == 0
    assert found["larder_upstream_stale_list_limit_seconds", HOST] == 7 * 24 * 3600
    assert (found["larder_upstream_stored_bytes", HOST], found["larder_upstream_packages", HOST]) == (1000, 2)
    assert found["larder_upstream_quota_bytes", HOST] == 5000
    assert found["larder_upstream_open_alarms", HOST] == 0
    assert found["larder_upstream_oldest_fetch_seconds",] == 0


@pytest.mark.both
def test_a_registry_that_is_down_is_told_with_its_stale_lists_and_alarms(all_up):
    upstream = down()
    add_version(upstream)
    add_version(upstream, "hashicorp/null")
    UpstreamProvider.objects.filter(type="random").update(listed_at=timezone.now() - 9 * HOUR)
    UpstreamProvider.objects.filter(type="null").update(listed_at=timezone.now() - 3 * HOUR, failure=FAILURE)
    alarm_of(upstream)
    alarm_of(upstream, AlarmState.DISMISSED)

    found = metrics()
    assert (found["larder_upstream_up", HOST], found["larder_upstream_failures", HOST]) == (0, 5)
    assert math.isinf(found["larder_upstream_last_success_age_seconds", HOST])
    assert 9 * 3600 <= found["larder_upstream_list_age_seconds", HOST] < 9.1 * 3600
    assert 3 * 3600 <= found["larder_upstream_stale_list_seconds", HOST] < 3.1 * 3600
    assert found["larder_upstream_open_alarms", HOST] == 1


def test_a_breaker_whose_time_is_over_counts_as_up_and_a_registry_that_is_off_is_not_told(all_up):
    upstream = add_upstream(failures=5, open_until=timezone.now() - HOUR)
    assert metrics()["larder_upstream_up", HOST] == 1

    Upstream.objects.filter(pk=upstream.pk).update(is_enabled=False)
    found = metrics()
    assert not [name for name in found if HOST in name]
    assert ("larder_queue_workers", "upstream") not in found


def test_the_queries_do_not_grow_with_what_is_mirrored(all_up, django_assert_max_num_queries):
    for number in range(5):
        upstream = add_upstream(f"registry{number}.example.com")
        for version in range(3):
            add_package(add_version(upstream, version=f"1.{version}.0"), b"%d" % version)
    with django_assert_max_num_queries(6):
        list(health.families())


def test_the_oldest_fetch_that_waits_is_told_and_other_jobs_are_not(all_up):
    add_upstream()
    Job.objects.create(kind="publish-module", target=1)
    Job.objects.create(kind="fetch-upstream-list", target=1)
    Job.objects.filter(kind="publish-module").update(created_at=timezone.now() - 2 * HOUR)
    Job.objects.filter(kind="fetch-upstream-list").update(created_at=timezone.now() - HOUR)

    assert 3600 <= metrics()["larder_upstream_oldest_fetch_seconds",] < 3700


# --- Alerts -------------------------------------------------------------------------------------------------------


def firing(tmp_path, document: str) -> set[str]:
    """Names of the alerts of the room that fire for this document."""
    names = {name for name in alerting.rules() if "Upstream" in name or name == "LarderNoFetchingWorker"}
    return alerting.firing({"web-0": document}, names, folder=tmp_path)


@pytest.mark.needs("promtool")
def test_no_alert_fires_while_a_registry_is_well_or_nothing_is_mirrored(all_up, tmp_path, settings):
    heartbeats.beat("here:1")
    upstream = add_upstream(succeeded_at=timezone.now(), quota_bytes=5000)
    add_package(add_version(upstream), b"x" * 1000)
    assert firing(tmp_path, page()) == set()

    Upstream.objects.filter(pk=upstream.pk).update(is_enabled=False)
    settings.WORKER_QUEUES = ["check", "notify"]
    assert firing(tmp_path, page()) == set()


@pytest.mark.needs("promtool")
def test_each_trouble_has_its_alert(all_up, tmp_path, settings):
    settings.WORKER_QUEUES = ["check", "notify"]
    heartbeats.beat("here:1")
    upstream = down(quota_bytes=1050, stale_hours=24)
    add_package(add_version(upstream), b"x" * 1000)
    UpstreamProvider.objects.update(listed_at=timezone.now() - 13 * HOUR, failure=FAILURE)
    alarm_of(upstream)
    Job.objects.create(kind="fetch-upstream-list", target=1)
    Job.objects.update(created_at=timezone.now() - HOUR)

    assert firing(tmp_path, page()) == {
        "LarderNoFetchingWorker",
        "LarderUpstreamFetchesWait",
        "LarderUpstreamDown",
        "LarderUpstreamListsStale",
        "LarderUpstreamAlarm",
        "LarderUpstreamQuotaNearlyFull",
    }
