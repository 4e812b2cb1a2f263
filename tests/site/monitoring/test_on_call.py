"""The questions of an operator on call to /metrics: backups and checks, beat and workers, threads, clients,
refusals.
"""

import threading
import time
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.signals import user_login_failed
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from apps.accounts.access import throttling
from apps.blobs import store
from apps.blobs.care import runs, scrub
from apps.jobs import heartbeats, queues
from apps.jobs.models import Job, State
from apps.lib.errors import TooManyAttempts
from apps.lib.settings_values.rates import Rate
from apps.notify.models import OutboxEvent
from registry_site.backends.beat_schedule import Scheduler
from registry_site.celery import app
from registry_site.monitoring import clients, process
from registry_site.operations import backup
from registry_site.server import probes, threads
from registry_site.server.forwarded import DIRECT_PEER
from registry_site.server.threads import CountedThreads
from tests.site.monitoring.test_metrics import samples_of


@pytest.fixture(autouse=True)
def all_up(monkeypatch):
    monkeypatch.setattr(probes.checks, "states", lambda: dict.fromkeys(probes.PARTS, "ok"))


def metrics():
    client = Client()
    client.defaults[DIRECT_PEER] = "127.0.0.1"
    return samples_of(client.get("/metrics").text)


@pytest.mark.django_db
def test_the_age_and_the_result_of_the_last_backup(tmp_path, monkeypatch):
    assert metrics()["larder_run_age_seconds", "backup"] == float("inf")
    assert ("larder_run_ok", "backup") not in metrics()

    for place in (__file__, tmp_path):  # a file where the folder should be, and a folder that has files
        (tmp_path / "file").touch()
        with pytest.raises(CommandError):
            call_command("backup", place, stdout=StringIO())
        found = metrics()
        assert (found["larder_run_ok", "backup"], found["larder_run_age_seconds", "backup"]) == (0, float("inf"))

    manifest = backup.Manifest("", "", "backup", "", {}, {})
    monkeypatch.setattr(backup, "write", lambda *_, **__: manifest)  # which a test of a whole Larder does
    call_command("backup", tmp_path / "new", stdout=StringIO())
    assert metrics()["larder_run_ok", "backup"] == 1
    runs.record(runs.What.BACKUP, is_good=False)
    found = metrics()
    assert found["larder_run_ok", "backup"] == 0
    assert 0 <= found["larder_run_age_seconds", "backup"] < 60, "the age is of the last good one"


def test_verify_and_scrub_are_recorded(published, monkeypatch):
    release = published()
    call_command("verify", stdout=StringIO())
    call_command("check_storage", stdout=StringIO())
    found = metrics()
    assert found["larder_run_ok", "verify"] == found["larder_run_ok", "scrub"] == 1

    monkeypatch.setattr(scrub, "read_again", lambda *_, **__: None)
    monkeypatch.setattr(store, "size_of", lambda _: 1)
    for command in ("verify", "check_storage"):
        with pytest.raises(CommandError):
            call_command(command, stdout=StringIO())
    found = metrics()
    assert found["larder_run_ok", "verify"] == found["larder_run_ok", "scrub"] == 0, release


def test_a_run_without_a_database_ends_as_it_would(db, database_away):
    with database_away(), runs.recorded(runs.What.VERIFY):
        pass
    with database_away(), pytest.raises(OperationalError), runs.recorded(runs.What.VERIFY):
        raise OperationalError("gone")


def test_beat_reports_with_each_round_and_is_no_worker(db, tmp_path, monkeypatch):
    scheduler = Scheduler(app=app, schedule_filename=str(tmp_path / "beat"))
    rung = []
    monkeypatch.setattr(scheduler, "apply_async", lambda entry, **_: rung.append(entry.name))
    assert metrics()["larder_beat_age_seconds",] == float("inf")
    for name in ("sweep-uploads", "reap"):
        scheduler.apply_entry(scheduler.schedule[name])
        assert (heartbeats.beat_rang() is not None) == (name == "reap")
    scheduler.close()

    found = metrics()
    assert rung == ["sweep-uploads", "reap"]
    assert 0 <= found["larder_beat_age_seconds",] < 60
    assert found["larder_workers",] == 0
    assert heartbeats.newest() is None


def test_beat_reports_with_its_first_round(db, tmp_path, monkeypatch):
    """Nothing is due for seconds then, and readiness would wait."""
    scheduler = Scheduler(app=app, schedule_filename=str(tmp_path / "beat"))
    monkeypatch.setattr(scheduler, "apply_async", lambda *_, **__: None)
    scheduler.tick()
    scheduler.close()

    assert 0 <= metrics()["larder_beat_age_seconds",] < 60


@pytest.mark.both
def test_what_waits_for_a_worker_is_told_by_queue(db, monkeypatch):
    """A job that runs or is postponed does not wait; one of a dead worker does."""
    monkeypatch.setattr(queues, "of_rooms", (("upstream", ("fetch-far-*",)),))
    now = timezone.now()
    rows: list[dict[str, Any]] = [
        {"kind": "publish-module"},
        {"kind": "sign-release"},
        {"kind": "sign-release", "state": State.RUNNING, "lease_until": now - timedelta(minutes=1)},
        {"kind": "sign-release", "state": State.RUNNING, "lease_until": now + timedelta(minutes=1)},
        {"kind": "fetch-far-list", "not_before": now + timedelta(minutes=1)},
        {"kind": "fetch-far-tag"},
        {"kind": "publish-module", "state": State.FAILED},
    ]
    for number, row in enumerate(rows):
        Job.objects.create(target=number, **row)
    assert waiting_by_queue() == {"check": 1, "sign": 2, "notify": 0, "upstream": 1}

    OutboxEvent.objects.all().delete()
    OutboxEvent.objects.create(event_id=1)
    OutboxEvent.objects.update(at=now - timedelta(minutes=1))
    assert waiting_by_queue()["notify"] == 1


def waiting_by_queue():
    return {key[1]: value for key, value in metrics().items() if key[0] == "larder_queue_waiting"}


def test_workers_are_told_by_queue(db, settings):
    heartbeats.beat("one:1")
    settings.WORKER_QUEUES = ["sign"]
    heartbeats.beat("two:2")

    found = metrics()
    assert [found["larder_queue_workers", queue] for queue in ("check", "sign", "notify")] == [1, 2, 1]
    assert found["larder_workers",] == 2


@pytest.mark.both
def test_the_size_of_the_database_and_the_room_beside_it(db):
    found = metrics()

    assert found["larder_database_bytes",] > 100_000
    assert found["larder_data_folder_free_bytes",] > 0


def test_threads_are_busy_idle_or_waited_for(db, monkeypatch):
    monkeypatch.setattr(threads, "pools", {})
    pool, ends = CountedThreads(2, "web"), threading.Event()
    works = [pool.submit(ends.wait, 30) for _ in range(5)]
    found = metrics()
    assert [found["larder_threads", state, "web"] for state in ("busy", "waiting")] == [2, 3]

    ends.set()
    assert all(work.result() for work in works)
    pool.shutdown()
    assert pool.figures() == {"busy": 0, "idle": 2, "waiting": 0}
    with pytest.raises(RuntimeError):
        pool.submit(ends.wait)
    assert pool.figures()["busy"] == 0


def test_the_busiest_clients_are_named_by_network_and_forgotten_in_time(db, monkeypatch, time_machine):
    found = clients.Clients()
    monkeypatch.setattr(process, "clients", found)
    for number in range(20):
        for _ in range(number):
            found.note(f"192.0.2.{number}")
    for part in ("1", "2"):
        for _ in range(50):
            found.note(f"2001:db8::{part}")
    told = {key[1]: value for key, value in metrics().items() if key[0] == "larder_top_client_requests"}
    assert len(told) == clients.SHOWN
    assert (told["2001:db8::/64"], told["192.0.2.19"], told["192.0.2.18"]) == (100, 19, 18)

    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + clients.WINDOW_SECONDS + 1)
    assert found.top()["192.0.2.19"] == 19
    monkeypatch.setattr(time, "monotonic", lambda: now + 2 * clients.WINDOW_SECONDS + 3)
    assert found.top() == {}


def test_a_flood_of_addresses_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(clients, "MAX_CLIENTS", 100)
    found = clients.Clients()
    for _ in range(9):
        found.note("192.0.2.7")
    for number in range(5000):
        found.note(f"198.51.{number // 250}.{number % 250}")
    assert len(found._counts) <= 100
    assert found.top()["192.0.2.7"] == 9


def test_refused_attempts_and_failed_sign_ins_are_counted(client, alice, settings):
    before = metrics()
    client.post("/account/login/", {"login": "alice", "password": "wrong"})
    user_login_failed.send("test", credentials={"username": "nobody at all"}, request=None)
    settings.RATES = {**settings.RATES, "search": Rate(1, 60)}
    limit = throttling.by_address("search", "192.0.2.7")
    throttling.count(limit)
    with pytest.raises(TooManyAttempts):
        throttling.count(limit)

    found = metrics()
    failed = "larder_sign_ins_total", "wrong_password"
    assert found[failed] - before.get(failed, 0) == 2
    refused = "larder_rate_limit_refusals_total", "search"
    assert found[refused] - before.get(refused, 0) == 1


def test_requests_that_the_database_fails_are_counted(client, db, database_away):
    failed = "larder_database_errors_total", "no_answer"
    before = metrics().get(failed, 0)
    client.raise_request_exception = False
    with database_away():
        assert client.get("/modules").status_code == 503

    assert metrics()[failed] == before + 1
