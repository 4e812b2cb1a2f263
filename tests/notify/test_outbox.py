"""The outbox: what an event costs, and the clock that empties it."""

from django.conf import settings as site
from django.db import transaction

from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.notify import outbox
from apps.notify.events import NAMES
from apps.notify.models import OutboxEvent
from apps.notify.tasks import run
from registry_site.celery import app
from tests.notify.conftest import event


def test_an_event_that_may_be_told_costs_one_query_and_another_none(db, django_assert_num_queries):
    with transaction.atomic(), django_assert_num_queries(1):
        outbox.add(AuditEvent(pk=7, kind=Kind.RELEASE_PUBLISHED))
    with django_assert_num_queries(0):
        outbox.add(AuditEvent(pk=8, kind=Kind.USER_SIGNED_IN))


def test_an_event_whose_room_was_left_out_meanwhile_is_told_to_no_one_and_does_not_stay(acme, monkeypatch):
    event()
    monkeypatch.delitem(NAMES, str(Kind.RELEASE_PUBLISHED))

    outbox.dispatch()

    assert not OutboxEvent.objects.exists()


def test_the_clock_rings_on_a_queue_of_its_own():
    tasks = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert {"notify.run", "notify.prune"} <= tasks
    assert run.name in app.tasks
    for task in ("notify.run", "notify.prune"):
        assert app.amqp.router.route({}, task)["queue"].name == "notify"
    assert "notify" in site.WORKER_QUEUES
