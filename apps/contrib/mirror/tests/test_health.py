"""The health of mirrored registries: /metrics, the alerts, the check-up, the status page and /readyz tell it."""

import json
import math
from dataclasses import replace

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.mirror import health
from apps.contrib.mirror.models import AlarmState, Upstream, UpstreamProvider
from apps.contrib.mirror.policy import advisories
from apps.contrib.mirror.tests.policy_rows import osv
from apps.contrib.mirror.tests.shelf import FAILURE, HOST, HOUR, add_package, add_upstream, add_version, alarm_of, down
from apps.jobs import heartbeats
from apps.jobs.models import Heartbeat, Job
from registry_site.operations import doctor, examining
from registry_site.server import probes as parts
from registry_site.server.forwarded import DIRECT_PEER
from tests.builders import alerting
from tests.live import CHECKOUT
from tests.site.monitoring.test_metrics import samples_of

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


RUNBOOKS = CHECKOUT / "docs" / "runbooks.md"


def told() -> list[tuple[str, str]]:
    return [(state, found) for state, found, _ in health.registries()]


# --- The check-up -------------------------------------------------------------------------------------------------


def test_a_registry_that_is_well_is_named_and_one_that_is_off_is_not():
    upstream = add_upstream(is_enabled=False)
    assert told() == [("ok", "no registry is mirrored")]

    heartbeats.beat("here:1")
    Upstream.objects.filter(pk=upstream.pk).update(is_enabled=True)
    assert told() == [("ok", f"{HOST}: no failures, no alarms")]


def test_a_registry_that_is_down_is_a_warning_with_url_rule_and_runbook():
    heartbeats.beat("here:1")
    down(succeeded_at=timezone.now())
    [(state, found, hint)] = list(health.registries())

    assert state == "warn"
    assert found.startswith(f"{HOST}: no answer (https://{HOST}/v1/x), rule first_byte, last good answer 20")
    assert found.endswith("nothing is asked for a while")
    assert "Stored packages are still served" in hint


@pytest.mark.both
def test_alarms_a_full_quota_a_silent_worker_and_a_waiting_fetch_are_told():
    upstream = add_upstream(quota_bytes=1000)
    add_package(add_version(upstream), b"x" * 950)
    alarm_of(upstream)
    Job.objects.create(kind="fetch-upstream-list", target=1)
    Job.objects.update(created_at=timezone.now() - HOUR)

    assert [found.partition(" s")[0] for _, found in told()] == [
        f"{HOST}: 1 open alarm",
        f"{HOST}: 950 of 1,000 bytes are used",
        "no worker of the queue upstream reports: nothing is fetched",
        "a fetch has waited for 3600",
    ]
    heartbeats.beat("here:1")
    assert "no worker" not in str(told())
    Heartbeat.objects.update(at=timezone.now() - HOUR)
    assert "no worker" in str(told())


def test_each_hint_names_a_section_that_is_there():
    upstream = down(quota_bytes=1000)
    add_package(add_version(upstream), b"x" * 950)
    alarm_of(upstream)
    hints = [hint for _, _, hint in health.registries() if hint]

    assert len(hints) == 4
    for hint in hints:
        heading = hint.rpartition("docs/runbooks.md, ")[2].removesuffix(".")
        assert f"\n## {heading}\n" in RUNBOOKS.read_text(), hint


def test_a_broken_advisory_is_named_by_its_file(settings, tmp_path, monkeypatch):
    settings.UPSTREAM = replace(settings.UPSTREAM, advisories=str(tmp_path))
    monkeypatch.setattr(advisories, "folder", advisories.Folder())
    (tmp_path / "good.json").write_text(json.dumps(osv()))
    (tmp_path / "broken.json").write_text("{")
    found = list(health.advisory_files())

    assert [(state, said.partition(":")[0]) for state, said, _ in found] == [("fail", "broken.json")]


def test_the_doctor_looks_at_both_and_blames_no_part_of_larder(sound_parts):
    down()
    found = {finding.part: finding for finding in doctor.examine()}

    assert found["upstreams"].state == examining.WARN
    assert found["advisories"].state == examining.OK
    assert (found["storage"].state, found["database"].state) == (examining.OK, examining.OK)


@pytest.fixture
def sound_parts(settings, monkeypatch):
    settings.DATA_DIR.joinpath("blobs").mkdir(exist_ok=True)
    heartbeats.beat("here:1")
    kept = {name: doctor.LOOKS[name] for name in ("database", "storage", "upstreams", "advisories")}
    monkeypatch.setattr(doctor, "LOOKS", kept)


# --- /status, /readyz, and the breaker ----------------------------------------------------------------------------


def test_the_status_page_says_that_a_registry_does_not_answer_and_not_which(all_up):
    client = Client(headers={"Accept": "application/json"})
    assert "upstreams" not in client.get("/status").json()["parts"], "nothing is mirrored"
    add_upstream("well.example.com")
    assert client.get("/status").json()["parts"]["upstreams"] == "up"
    down()

    answer = client.get("/status")
    found = answer.json()
    assert (answer.status_code, found["status"], found["parts"]["upstreams"]) == (200, "degraded", "down")
    assert HOST not in answer.text
    shown = Client().get("/status").text
    assert "One is unreachable. Stored providers are served; new ones have to wait." in shown
    assert "found, installed and published" in " ".join(shown.split())


def test_the_lack_of_a_worker_is_a_warning_only_while_a_registry_is_mirrored(settings):
    settings.WORKER_QUEUES = ["check", "sign", "notify"]
    heartbeats.beat("here:1")
    heartbeats.ring("here:2")
    assert parts.state_of(parts.check_worker) == "ok"
    add_upstream()

    lacking = "no worker that fetches from other registries and from Git has reported yet"
    assert parts.state_of(parts.check_worker) == lacking


def test_staff_have_a_registry_asked_again_at_once(olga):
    upstream = down()
    add_version(upstream)
    UpstreamProvider.objects.update(retry_at=timezone.now() + HOUR)
    health.reset_breaker(upstream, actor=Viewer(olga))

    assert (upstream.failures, upstream.open_until) == (0, None)
    assert UpstreamProvider.objects.get().retry_at is None
    row = AuditEvent.objects.get(kind=Kind.UPSTREAM_CHANGED)
    assert (row.subject, row.detail["change"], row.actor_id) == (HOST, "breaker reset", olga.pk)
