"""/healthz and /readyz: what scripts may rely on (D24)."""

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import DatabaseError, OperationalError
from django.utils import timezone

from apps.blobs import store
from apps.jobs import heartbeats
from apps.jobs.models import Heartbeat
from registry_site.server import probes
from registry_site.startup import schema
from tests.rows import for_each_row


@pytest.fixture(autouse=True)
def nothing_found_yet() -> Iterator[None]:
    probes.checks.clear()
    yield
    wait(probes.checks._running.values())  # of a check that hung
    probes.checks._running.clear()
    probes.checks.clear()


def test_healthz_answers_without_any_input_or_output(client, db, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_a_lack_of_workers_is_a_warning_until_each_queue_has_one(client, transactional_db, settings):
    def asked():
        probes.checks.clear()
        answer = client.get("/readyz")
        assert answer.status_code == 200, answer.json()
        return answer.json()

    assert asked()["parts"] == dict.fromkeys(probes.PARTS, "ok") | {"worker": "no worker has reported yet"}
    assert asked()["warnings"] == ["worker: no worker has reported yet"]
    settings.WORKER_QUEUES = ["check"]
    heartbeats.beat("here:1")
    assert asked()["warnings"] == ["worker: no worker that signs has reported yet"]
    settings.WORKER_QUEUES = ["sign", "notify"]
    heartbeats.beat("here:2")
    assert asked()["warnings"] == ["worker: beat has not reported within a day"]
    heartbeats.ring("here:3")
    assert set(asked()["parts"].values()) == {"ok"}


def test_a_part_that_fails_is_named_without_what_may_be_secret(monkeypatch):
    def broken() -> None:
        raise DatabaseError("could not connect to postgres://larder:hunter2@db.internal")

    assert probes.state_of(broken) == "DatabaseError"


@pytest.mark.parametrize("part", ["database", "storage", "broker", "worker"])
def test_a_part_that_all_processes_share_is_a_warning(client, transactional_db, monkeypatch, part):
    """Else a load balancer that follows readiness would take away what still works, on all hosts at once."""

    def away() -> None:
        raise store.StorageUnavailable("It does not answer.")

    probes.check_schema()
    heartbeats.beat("here:1")
    heartbeats.ring("here:2")
    monkeypatch.setitem(probes.PARTS, part, away)

    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    assert answer.json()["parts"][part] == "It does not answer."
    assert answer.json()["warnings"] == [f"{part}: It does not answer."]


@pytest.mark.both
def test_a_process_that_does_not_know_the_tables_is_not_ready_until_it_does(client, transactional_db, monkeypatch):
    """It started while the database was down: the tables may be of another version."""

    def refuse(*_: object) -> None:
        raise OperationalError("connection refused")

    heartbeats.beat("here:1")
    monkeypatch.setattr(schema, "known", threading.Event())
    monkeypatch.setattr(schema, "lacking", refuse)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "schema_unknown")
    assert answer.json()["parts"]["schema"] == "OperationalError"

    probes.checks.clear()
    monkeypatch.setattr(schema, "lacking", lambda: ["jobs.0999_unheard_of"])
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "schema_unknown")
    assert "lacks jobs.0999_unheard_of" in answer.json()["parts"]["schema"]

    probes.checks.clear()
    monkeypatch.setattr(schema, "lacking", list)
    assert client.get("/readyz").status_code == 200

    probes.checks.clear()
    monkeypatch.setattr(schema, "lacking", refuse)  # what it knows, an outage does not change
    assert client.get("/readyz").json()["parts"]["schema"] == "ok"


@pytest.mark.both
def test_workers_that_are_silent_are_named_and_beat_without_them(client, transactional_db):
    """Each reports for itself."""
    heartbeats.beat("here:1")
    heartbeats.ring("here:2")
    Heartbeat.objects.update(at=timezone.now() - timedelta(minutes=20))
    assert re.fullmatch(r"the last worker reported 1\d{3} s ago", client.get("/readyz").json()["parts"]["worker"])

    probes.checks.clear()
    heartbeats.beat("here:1")
    assert re.fullmatch(r"beat last reported 1\d{3} s ago", client.get("/readyz").json()["parts"]["worker"])


def test_a_check_that_hangs_costs_two_seconds_and_is_not_asked_again_meanwhile(client, db, monkeypatch):
    asked, goes_on = [], threading.Event()

    def hangs() -> None:
        asked.append(1)
        goes_on.wait(30)

    probes.check_schema()
    monkeypatch.setitem(probes.PARTS, "storage", hangs)
    monkeypatch.setattr(probes, "CHECK_SECONDS", 0.2)
    try:
        first = client.get("/readyz")
        probes.checks.clear()
        second = client.get("/readyz")
    finally:
        goes_on.set()

    for answer in (first, second):
        assert answer.status_code == 200
        assert answer.json()["parts"] | {"worker": ""} == {
            "database": "ok", "storage": "no answer within 0 s", "broker": "ok", "worker": "", "schema": "ok",
        }  # fmt: skip
    assert asked == [1]


@pytest.mark.slow
def test_whoever_asks_storage_is_probed_once_a_second(client, db, monkeypatch):
    asked = []
    monkeypatch.setitem(probes.PARTS, "storage", lambda: asked.append(time.monotonic()))
    started = time.monotonic()

    while time.monotonic() - started < 1.5:
        assert client.get("/readyz").status_code == 200

    assert len(asked) <= 1 + (time.monotonic() - started) / probes.SHARED_SECONDS
    assert all(later - earlier >= probes.SHARED_SECONDS for earlier, later in pairwise(asked))


def test_readyz_is_503_once_a_stop_was_announced(client, db):
    probes.stopping.set()
    try:
        answer = client.get("/readyz")
    finally:
        probes.stopping.clear()

    assert (answer.status_code, answer.json()["status"]) == (503, "stopping")
    assert client.get("/healthz").status_code == 200


@for_each_row("path", ["/healthz", "/readyz"])
def test_only_reading_is_answered(client, db, path):
    assert client.post(path).status_code == 405
