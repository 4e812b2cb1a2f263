"""States that are read on a scrape: parts, queue, expiries. They are not counted, the database knows them.

Every host tells the same, so a query takes the maximum over instances and not their sum.
"""

import platform
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import chain
from math import inf

import django
from cryptography import x509
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

from apps.accounts.models import ApiToken
from apps.blobs import store
from apps.blobs.care import runs
from apps.blobs.models import Blob, Run
from apps.jobs import heartbeats, queues
from apps.jobs.models import WORKING, Job, State
from apps.lib.process.metrics import registry
from apps.notify import outbox as notify
from apps.room import all_of
from apps.signing.models import SigningKey
from registry_site.celery import app
from registry_site.front.front import front
from registry_site.monitoring import (
    process,  # noqa: F401  # registers what it tells
    public_certificate,
)
from registry_site.server import probes
from registry_site.startup import certificates


class ReadyAnswers:
    """The answers that the front of this process counts itself, because a ready answer has no time for more."""

    def collect(self) -> Iterator[Metric]:
        answers = CounterMetricFamily(
            "larder_ready_answers", "Requests that were answered from memory.", labels=["route", "status"]
        )
        for (route, status), count in list(front.table.answers.items()):
            answers.add_metric([route, str(status)], count)
        yield answers
        stale = CounterMetricFamily(
            "larder_stale_answers", "Answers that were repeated while the database was down.", labels=["route"]
        )
        for route, count in list(front.stale.answers.items()):
            stale.add_metric([route], count)
        yield stale
        yield GaugeMetricFamily(
            "larder_serving_stale",
            "Web processes that repeat answers because the database is down.",
            float(front.changes.outage.lasts()),
        )
        figures = front.figures()
        misses = CounterMetricFamily("larder_ready_misses", "Reads that were not in memory, or no longer valid.")
        misses.add_metric([], figures["misses"])
        yield misses
        for name, words in (("answers", "Answers in memory"), ("bytes", "Bytes of the answers in memory")):
            yield GaugeMetricFamily(f"larder_ready_stored_{name}", f"{words}, all processes.", figures[name])


def build(**more: str) -> Metric:
    versions = {"version": settings.VERSION, "python": platform.python_version(), "django": django.get_version()}
    return InfoMetricFamily("larder_build", "Versions.", versions | more)


def families() -> Iterator[Metric]:
    parts = probes.checks.states()
    up = GaugeMetricFamily("larder_part_up", "1 if the part answers.", labels=["part"])
    for name, state in parts.items():
        up.add_metric([name], float(state == "ok"))
    yield up
    yield build(**({"database": connection.vendor} if parts["database"] == "ok" else {}))
    yield InfoMetricFamily("larder_site", "The public address, for links of alerts.", {"url": settings.PUBLIC_URL})
    yield from _certificate()
    yield from _data_folder()
    if parts["storage"] == "ok":
        yield from _free()
    if parts["database"] == "ok":
        try:
            ours = (_database(), _queue(), _runs(), _notifications(), _blobs(), _expiries())
            yield from list(chain(*ours, *(families() for families in all_of("metric_families"))))
        except (DatabaseError, InterfaceError):
            return  # it has gone since: the next look says so


def _certificate() -> Iterator[Metric]:
    path = certificates.served_file(settings.TLS, settings.DATA_DIR)
    try:
        until = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc if path else None
    except (OSError, ValueError):
        until = None
    if until is not None:
        yield _seconds_until("larder_certificate_expiry_seconds", "Until the TLS certificate expires.", until)
    if (seen := public_certificate.watch.seen) is not None:
        words = "Until the certificate expires that is served at the public name."
        yield _seconds_until("larder_public_certificate_expiry_seconds", words, seen.not_valid_after_utc)


def _free() -> Iterator[Metric]:
    with suppress(store.StorageUnavailable):  # gone since
        if (free := store.free_bytes()) is not None:
            yield GaugeMetricFamily("larder_storage_free_bytes", "Free bytes in storage.", free)


def _data_folder() -> Iterator[Metric]:
    with suppress(OSError):
        free = shutil.disk_usage(settings.DATA_DIR).free
        yield GaugeMetricFamily("larder_data_folder_free_bytes", "Free bytes on the disk of LARDER_DATA_DIR.", free)


def _database() -> Iterator[Metric]:
    sql = {
        "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
        "postgresql": "SELECT pg_database_size(current_database())",
    }
    with connection.cursor() as cursor:
        cursor.execute(sql[connection.vendor])
        yield GaugeMetricFamily("larder_database_bytes", "Size of the database.", cursor.fetchone()[0])


def _runs() -> Iterator[Metric]:
    ok = GaugeMetricFamily("larder_run_ok", "1 if the last one succeeded, 0 if it failed.", labels=["what"])
    age = GaugeMetricFamily("larder_run_age_seconds", "Since the last that succeeded; +Inf: none.", labels=["what"])
    found = {run.what: run for run in Run.objects.all()}
    for what in runs.What:
        run = found.get(what)
        if run is not None:
            ok.add_metric([what], float(run.is_good))
        good_at = run.good_at if run else None
        age.add_metric([what], inf if good_at is None else max(0.0, (timezone.now() - good_at).total_seconds()))
    yield from (ok, age)


def _queue() -> Iterator[Metric]:
    jobs = GaugeMetricFamily("larder_jobs", "Jobs that are waiting, running or failed.", labels=["state"])
    counts = dict.fromkeys((*WORKING, State.FAILED), 0)
    rows = Job.objects.filter(state__in=counts).values_list("state").annotate(number=Count("pk")).order_by()
    for state, number in (counts | {State(state): number for state, number in rows}).items():
        jobs.add_metric([state], number)
    yield jobs
    since = Job.objects.awaited().waiting_since()
    age = 0.0 if since is None else max(0.0, (timezone.now() - since).total_seconds())
    yield GaugeMetricFamily(
        "larder_oldest_waiting_job_seconds", "Age of the oldest waiting job, without work in bulk.", age
    )
    yield from _workers()


def _workers() -> Iterator[Metric]:
    found = list(heartbeats.since(probes.HEARTBEAT_MAX_AGE).values_list("queues", flat=True))
    yield GaugeMetricFamily("larder_workers", "Workers that reported recently.", len(found))
    each = GaugeMetricFamily("larder_queue_workers", "Workers that reported recently, by queue.", labels=["queue"])
    for queue in queues.needed():
        each.add_metric([queue], sum(queue in names.split() for names in found))
    yield each
    rang = heartbeats.beat_rang()
    age = inf if rang is None else max(0.0, (timezone.now() - rang).total_seconds())
    yield GaugeMetricFamily("larder_beat_age_seconds", "Since beat last reported; +Inf: not within a day.", age)


def _waiting(due: dict[str, tuple[int, float]]) -> Iterator[Metric]:
    """Yield what a worker could take now: also jobs whose worker died, since a worker must ring for them again."""
    found = dict.fromkeys(queues.QUEUES, 0)
    rows = Job.objects.claimable().values_list("kind").annotate(number=Count("pk")).order_by()
    for kind, number in rows:
        found[app.amqp.router.route({}, kind)["queue"].name] += number
    # Notifications are no jobs.
    found["notify"] += sum(count for count, seconds in due.values() if seconds)
    waiting = GaugeMetricFamily("larder_queue_waiting", "Jobs and due notifications, by queue.", labels=["queue"])
    for queue, number in found.items():
        waiting.add_metric([queue], number)
    yield waiting


def _notifications() -> Iterator[Metric]:
    waiting = GaugeMetricFamily("larder_notify_waiting", "Pending notifications.", labels=["what"])
    oldest = GaugeMetricFamily("larder_notify_oldest_seconds", "Age of the oldest one.", labels=["what"])
    found = notify.waiting()
    for what, (count, seconds) in found.items():
        waiting.add_metric([what], count)
        oldest.add_metric([what], seconds)
    yield from (waiting, oldest)
    yield from _waiting(found)


def _blobs() -> Iterator[Metric]:
    damaged = GaugeMetricFamily("larder_blob_problems", "Stored files that are missing or damaged.", labels=["problem"])
    rows = Blob.objects.exclude(problem="").values_list("problem").annotate(number=Count("pk")).order_by()
    for problem, number in ({"missing": 0, "damaged": 0} | dict(rows)).items():
        damaged.add_metric([problem], number)
    yield damaged


def _expiries() -> Iterator[Metric]:
    now = timezone.now()
    soonest = SigningKey.objects.usable(now).aggregate(at=Min("expires_at"))["at"]
    if soonest is not None:
        yield _seconds_until("larder_signing_key_expiry_seconds", "Until the first signing key expires.", soonest)
    tokens = GaugeMetricFamily(
        "larder_token_expiry_seconds", "Until the first API token of such an owner expires.", labels=["owner"]
    )
    # Tokens of trusted publishers live 15 minutes, and nobody renews them.
    lasting = ApiToken.objects.usable(now).filter(user__trusted_publisher=None)
    rows = lasting.values_list("user__is_service").annotate(at=Min("expires_at")).order_by()
    for is_service, at in rows:
        tokens.add_metric(["service_account" if is_service else "person"], (at - now).total_seconds())
    yield tokens


def _seconds_until(name: str, words: str, at: datetime) -> Metric:
    return GaugeMetricFamily(name, words, (at - timezone.now()).total_seconds())


registry.register(ReadyAnswers())
