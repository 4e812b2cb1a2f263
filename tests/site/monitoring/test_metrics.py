"""GET /metrics: who may read it, what it counts, and that all processes of a host are one sum."""

import json
import multiprocessing
import os
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.parser import text_string_to_metric_families

from apps.accounts.models import ApiToken
from apps.jobs import heartbeats
from apps.jobs.models import Job, State
from apps.lib.net.forwarding import TrustedProxies
from apps.lib.process import metrics
from registry_site.monitoring import sharing
from registry_site.server import probes
from registry_site.server.forwarded import DIRECT_PEER, decide
from tests import rooms
from tests.rows import for_each_row

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def all_up(monkeypatch):
    """Without the checks' own threads: what they find is for test_health."""
    states = dict.fromkeys(probes.PARTS, "ok")
    monkeypatch.setattr(probes.checks, "states", lambda: states)
    return states


def from_address(peer):
    """A client as the server sees it."""
    client = Client()
    client.defaults[DIRECT_PEER] = peer
    return client


@pytest.fixture
def local():
    return from_address("127.0.0.1")


def samples_of(text):
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def peer_of(settings, peer, **headers):
    environ = {"REMOTE_ADDR": peer, **headers}
    decide(environ)
    return environ[DIRECT_PEER]


@for_each_row("peer", ["127.0.0.1", "127.8.8.8", "::1"])
def test_a_process_of_this_machine_reads_it(db, peer):
    answer = from_address(peer).get("/metrics")

    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    assert answer["Content-Type"].startswith("text/plain; version=")


def test_everyone_else_gets_the_404_of_an_address_that_is_not_there(db, settings, bearer, olga):
    settings.METRICS_TOKENS = [TOKEN]
    stranger = from_address("192.0.2.7")
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}, bearer(olga)):
        found, missing = stranger.get("/metrics", headers=headers), stranger.get("/metricz", headers=headers)

        assert found.status_code == missing.status_code == 404
        texts = [
            re.sub(r'value="\w{64}"', "", answer.text).replace(answer["X-Request-Id"], "").replace(word, "")
            for answer, word in ((found, "metrics"), (missing, "metricz"))
        ]
        assert texts[0] == texts[1]


def test_each_token_of_the_file_opens_it_from_elsewhere_under_any_name(db, settings):
    """Prometheus asks each web server by its own address."""
    settings.METRICS_TOKENS = ["f" * 64, TOKEN]
    settings.PUBLIC_HOST, settings.ALLOWED_HOSTS = "larder.example", ["larder.example"]
    for token, peer in ((settings.METRICS_TOKENS[0], ""), (TOKEN, "10.9.9.9")):
        headers = {"Authorization": f"Bearer {token}", "Host": "10.1.2.3:8080"}
        assert from_address(peer).get("/metrics", headers=headers).status_code == 200


@for_each_row("name", ["X_FORWARDED_FOR", "X_FORWARDED_PROTO", "FORWARDED", "X_REAL_IP", "VIA"])
def test_what_a_proxy_on_this_machine_forwards_is_not_of_this_machine(settings, name):
    assert peer_of(settings, "127.0.0.1") == "127.0.0.1"
    assert peer_of(settings, "127.0.0.1", **{f"HTTP_{name}": "127.0.0.1"}) == ""


def test_a_trusted_proxy_on_this_machine_is_nobody_that_reads_metrics(settings):
    settings.TRUSTED_PROXIES = TrustedProxies.parse(["127.0.0.1"])
    assert peer_of(settings, "127.0.0.1") == ""
    settings.TRUSTED_PROXIES = TrustedProxies.parse([])
    settings.BEHIND_PROXY = True
    assert peer_of(settings, "127.0.0.1") == ""


@for_each_row("proxies", [["10.0.0.5"], ["loopback"], ["unix"], []])
def test_behind_a_proxy_this_machine_needs_the_token_too(db, settings, local, proxies):
    """A proxy on this machine may send no header, and no setting says on which machine it runs."""
    settings.TRUSTED_PROXIES, settings.METRICS_TOKENS = TrustedProxies.parse(proxies), [TOKEN]
    settings.BEHIND_PROXY = not proxies

    assert local.get("/metrics").status_code == 404
    assert local.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_it_counts_requests_by_route_and_never_by_name(local, published, tofu, alice):
    published("acme/vpc/aws", "1.2.0")
    before = samples_of(local.get("/metrics").text)
    for url in ("/v1/modules/acme/vpc/aws/versions", "/v1/modules/acme/other/aws/versions", "/no/such/page"):
        tofu(alice).get(url)
    text = local.get("/metrics").text
    after = samples_of(text)

    def more(*key):
        return after.get(key, 0) - before.get(key, 0)

    route = "protocol:module-versions"
    assert more("larder_requests_total", *sorted((route, "GET", "200"))) == 1
    assert more("larder_requests_total", *sorted((route, "GET", "404"))) == 1
    assert more("larder_requests_total", *sorted(("none", "GET", "404"))) == 1
    assert more("larder_request_duration_seconds_count", route) == 2
    assert after["larder_publishes_total", "module", "published"] >= 1
    assert after["larder_publish_step_duration_seconds_count", "finalise", "module"] >= 1
    assert after["larder_publish_duration_seconds_count", "module"] >= 1
    assert "acme" not in text
    assert "vpc" not in text


@pytest.mark.both
def test_it_tells_the_queue_and_what_expires(local, alice, bearer, django_assert_num_queries):
    Job.objects.create(kind="publish-module", target=1)
    Job.objects.filter(target=1).update(created_at=timezone.now() - timedelta(seconds=90))
    Job.objects.create(kind="publish-module", target=2, state=State.FAILED)
    heartbeats.beat("here:1")
    bearer(alice)
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(days=3))

    with django_assert_num_queries(13 + sum(rooms.contributed("QUERIES_OF_METRICS"))):
        found = samples_of(local.get("/metrics").text)

    assert found["larder_jobs", "queued"] == found["larder_jobs", "failed"] == found["larder_workers",] == 1
    assert found["larder_jobs", "running"] == 0
    assert 90 <= found["larder_oldest_waiting_job_seconds",] < 120
    assert 2.9 * 86400 < found["larder_token_expiry_seconds", "person"] <= 3 * 86400


def test_without_a_database_it_says_so_and_tells_the_counts(local, all_up):
    """Without the fixture `db`: any query fails the test."""
    all_up["database"] = "OperationalError"

    found = samples_of(local.get("/metrics").text)

    assert found["larder_part_up", "database"] == 0
    assert found["larder_part_up", "storage"] == 1
    assert ("larder_jobs", "queued") not in found


def _another(folder, add, *, crash):
    registry = CollectorRegistry()
    counter = Counter("pears", "Eaten.", ["by"], registry=registry)
    gauge = Gauge("hungry", "Now.", registry=registry)
    place = sharing.Place(folder, registry)
    counter.labels("bob").inc(add)
    gauge.set(1)
    place.write()
    os._exit(int(crash))


def test_the_sum_of_all_processes_never_shrinks(tmp_path):
    """Three lives of another process, one after another in one place; this one adds its own."""
    registry = CollectorRegistry()
    counter = Counter("pears", "Eaten.", ["by"], registry=registry)
    place = sharing.Place(tmp_path, registry)
    counter.labels("bob").inc(1)
    fork = multiprocessing.get_context("fork")
    totals = []
    for add in (10, 20, 30):
        other = fork.Process(target=_another, args=(tmp_path, add), kwargs={"crash": add == 20})
        other.start()
        other.join()
        totals.append(place.total())

    assert [total["pears", "counter", "Eaten."]["pears_total", (("by", "bob"),)] for total in totals] == [11, 31, 61]
    assert ("hungry", "gauge", "Now.") not in totals[-1], "a gauge of a process that has ended"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.json", "0.lock", "1.json", "1.lock"]


def test_a_file_of_a_former_version_is_added_to_the_same_family_and_never_a_second_one(tmp_path):
    """It describes a metric in other words, or as something else, which Prometheus refuses to read twice."""
    rows = [
        [["pears", "counter", "What was eaten."], [[["pears_total", [["by", "bob"]]], 10.0]]],
        [["hungry", "counter", "How often."], [[["hungry_total", []], 3.0]]],
        [["plums", "counter", "Of a metric that is no more."], [[["plums_total", []], 2.0]]],
    ]
    for number in (0, 7):  # the place that this process takes, and one of another
        (tmp_path / f"{number}.json").write_text(json.dumps(rows))
    registry = CollectorRegistry()
    place = sharing.Place(tmp_path, registry)
    Counter("pears", "Eaten.", ["by"], registry=registry).labels("bob").inc(5)
    Gauge("hungry", "Now.", registry=registry).set(1)

    assert place.total() == {
        ("pears", "counter", "Eaten."): {("pears_total", (("by", "bob"),)): 25},
        ("hungry", "gauge", "Now."): {("hungry", ()): 1},
        ("plums", "counter", "Of a metric that is no more."): {("plums_total", ()): 4},
    }


def test_a_damaged_file_or_a_full_disk_costs_only_its_counts(tmp_path):
    (tmp_path / "7.json").write_text('[["pe')
    registry = CollectorRegistry()
    place = sharing.Place(tmp_path, registry)
    Counter("pears", "Eaten.", ["by"], registry=registry).labels("bob").inc(5)
    (tmp_path / "0.part").mkdir()  # nothing can be written there

    assert place.total()["pears", "counter", "Eaten."] == {("pears_total", (("by", "bob"),)): 5}


def test_every_metric_has_a_label_so_that_a_fork_begins_with_nothing():
    for metric in metrics.registry.collect():
        assert metric.name.startswith("larder_")
        assert metric.documentation
