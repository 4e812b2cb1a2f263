"""Workers that are killed while they send: no attempt of the delivery, and a bound of its own."""

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.webhooks import hooks, sending
from apps.contrib.webhooks.tests.conftest import tell
from apps.lib.net import fetching
from apps.notify import outbox
from apps.notify.models import Delivery, State
from tests.notify.conftest import event
from tests.notify.receiver import says


@pytest.mark.both
def test_kills_are_no_attempts_of_a_webhook(hooked, kill, settings):
    hook, _, _ = hooked(says(500))
    event()
    tell()
    rows, kills = Delivery.objects.all(), len(sending.DELAYS) + 2
    assert rows.get().attempts == 1, "one that failed is"
    rows.update(next_at=timezone.now())
    for number in range(kills):
        kill(fetching, "post", lambda: sending.send_of(hook.pk), rows)
        assert (rows.get().attempts, rows.get().lapses) == (2, number)
    sending.send_of(hook.pk)

    delivery = rows.get()
    assert (delivery.state, delivery.status, delivery.lease_until) == (State.WAITING, 500, None)
    assert (delivery.attempts, delivery.lapses) == (2, kills)
    assert delivery.next_at - timezone.now() < sending.DELAYS[1] * 1.2, "as after the second"


@pytest.mark.both
def test_a_delivery_that_kills_each_worker_ends_and_can_be_sent_again(hooked, kill, settings, dora):
    settings.JOB_LAPSES = 2
    hook, _, there = hooked()
    event()
    outbox.dispatch()
    rows = Delivery.objects.all()
    for _ in range(3):
        kill(fetching, "post", lambda: sending.send_of(hook.pk), rows)
    sending.send_of(hook.pk)

    delivery = rows.get()
    assert (delivery.state, delivery.error) == (State.FAILED, "Given up after 3 lost workers.")
    assert there.received == []
    hooks.redeliver(delivery=delivery, actor=Viewer(dora))
    sending.send_of(hook.pk)
    assert rows.get().state == State.DELIVERED
