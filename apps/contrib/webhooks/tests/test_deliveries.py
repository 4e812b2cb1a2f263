"""From an event to a receiver: the outbox, signatures, retries, and the end of a webhook that fails for too long."""

import time
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import sealing
from apps.accounts.identity.second_factor import SecondFactorAdapter
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.webhooks import hooks, sending
from apps.contrib.webhooks.tests.conftest import tell
from apps.lib.errors import Unavailable
from apps.lib.net import fetching
from apps.lib.settings_values.outgoing import Outgoing
from apps.notify import outbox
from apps.notify.mail import letters
from apps.notify.models import Delivery, OutboxEvent, State, Webhook
from apps.notify.tasks import prune, run
from tests.notify.conftest import event
from tests.notify.receiver import says
from tests.rows import for_each_row


def waiting():
    return list(Delivery.objects.filter(state=State.WAITING).order_by("pk"))


def in_time(**changes):
    """Let the time for the next attempt come."""
    Delivery.objects.filter(state=State.WAITING).update(next_at=timezone.now(), **changes)


@pytest.mark.both
def test_an_event_that_is_rolled_back_is_told_to_nobody(hooked):
    _, _, there = hooked()
    with transaction.atomic():
        event()
        transaction.set_rollback(True)
    tell()

    assert there.received == []


def test_only_those_who_asked_for_an_event_of_a_namespace_are_told(hooked, pantry):
    _, _, own = hooked()
    _, _, other_event = hooked(events=["release.yanked"])
    _, _, elsewhere = hooked(namespace=pantry)
    _, _, everywhere = hooked(namespace=None)
    event()
    tell()

    assert [len(there.received) for there in (own, other_event, elsewhere, everywhere)] == [1, 0, 0, 1]
    assert own.received[0].headers["webhook-id"] != everywhere.received[0].headers["webhook-id"]


def test_a_webhook_that_is_switched_off_is_told_nothing(hooked, dora):
    hook, _, there = hooked()
    hooks.change(hook=hook, actor=Viewer(dora), enabled=False)
    event()
    tell()

    assert there.received == []
    assert not Delivery.objects.exists()


def test_one_webhook_has_a_thread_for_so_many_messages_and_so_long(hooked, monkeypatch):
    """Then others have it."""
    hook, _, there = hooked()
    for number in range(5):
        event(subject=f"acme/vpc/aws 1.0.{number}")
    outbox.dispatch()
    monkeypatch.setattr(sending, "BATCH_SIZE", 2)
    assert sending.send_of(hook.pk) == 2

    monkeypatch.setattr(sending, "MAX_SECONDS", -1)
    assert sending.send_of(hook.pk) == 1
    assert len(there.received) == 3


@pytest.mark.both
def test_two_workers_tell_an_event_once(hooked):
    _, _, there = hooked()
    event()
    outbox.dispatch()
    [delivery] = waiting()
    assert outbox.dispatch() == 0
    Delivery.objects.filter(pk=delivery.pk).update(next_at=timezone.now() + timedelta(seconds=1))
    assert not sending._claim(delivery)  # another worker has it

    tell()
    assert there.received == []


def test_an_event_that_cannot_be_told_stays_and_stops_no_other(hooked):
    _, _, there = hooked()
    event(subject="acme")  # no release has this address
    event(subject="acme/vpc/aws 2.0.0")
    tell()

    assert len(there.received) == 1
    assert OutboxEvent.objects.count() == 1


@for_each_row("status", [500, 302, 404])
def test_a_failure_is_tried_again_with_longer_and_longer_pauses_for_a_day(status, hooked):
    hook, _, there = hooked(says(status, b"no", Location="http://127.0.0.1/"))
    event()
    pauses = []
    for _ in range(20):
        tell()
        if not waiting():
            break
        [delivery] = waiting()
        pauses.append(delivery.next_at - timezone.now())
        in_time()

    assert len(there.received) == 10
    assert pauses[:-1] == sorted(pauses[:-1])  # by up to a tenth, chance makes the one before longer than the last
    assert timedelta(hours=23) < sum(pauses, timedelta()) < timedelta(hours=27)
    [delivery] = Delivery.objects.all()
    assert (delivery.state, delivery.status, delivery.answer) == (State.FAILED, status, "no")
    assert delivery.error == f"the answer was {status}"
    assert len({got.headers["webhook-id"] for got in there.received}) == 1
    hook.refresh_from_db()
    assert hook.failing_since is not None


def test_a_success_after_failures_clears_them(hooked):
    hook, _, there = hooked(says(500))
    event()
    tell()
    there.answer = says(200)
    in_time()
    tell()

    hook.refresh_from_db()
    assert hook.failing_since is None
    assert Delivery.objects.get().state == State.DELIVERED


def test_a_receiver_that_is_away_delays_no_other(hooked, monkeypatch):
    monkeypatch.setattr(fetching, "MAX_SECONDS", 0.3)
    _, _, hangs = hooked()
    hangs.answer = lambda _: hangs.over.wait()
    _, _, there = hooked()
    for number in range(3):
        event(subject=f"acme/vpc/aws 1.{number}.0")
    tell()

    assert len(hangs.received) == 1  # the others wait, and hold up nothing
    assert len(there.received) == 3


@pytest.mark.both
def test_a_new_message_to_a_failing_webhook_is_attempted_ahead_of_its_old_retries(hooked):
    _, _, there = hooked(says(500))
    for number in range(3):
        event(subject=f"acme/vpc/aws 1.{number}.0")
        tell()
    old = {got.headers["webhook-id"] for got in there.received}
    assert len(old) == 3
    Delivery.objects.update(next_at=timezone.now() - timedelta(hours=3))
    there.received.clear()

    event(subject="acme/vpc/aws 2.0.0")
    event(subject="acme/vpc/aws 2.1.0")
    for _ in range(3):
        tell()

    assert [got.headers["webhook-id"] in old for got in there.received] == [False, False, True]


def test_a_webhook_that_failed_for_three_days_is_switched_off(hooked):
    hook, _, there = hooked(says(503))
    event()
    tell()
    assert len(there.received) == 1
    Webhook.objects.update(failing_since=timezone.now() - timedelta(days=3, minutes=1))
    in_time()
    tell()

    hook.refresh_from_db()
    assert hook.disabled_at is not None
    assert "3 days" in hook.disabled_reason
    assert not waiting()
    told = AuditEvent.objects.get(kind=Kind.WEBHOOK_DISABLED)
    assert (told.namespace, told.subject, told.actor_id) == ("acme", f"acme/webhooks/{hook.pk}", None)
    event()
    tell()
    assert len(there.received) == 2


def test_a_receiver_that_is_gone_is_asked_no_more(hooked):
    hook, _, _ = hooked(says(410))
    event()
    tell()

    hook.refresh_from_db()
    assert "410" in hook.disabled_reason


def test_an_address_that_is_no_longer_allowed_is_a_failure_without_its_number(hooked, settings):
    _, _, there = hooked()
    settings.WEBHOOKS = Outgoing()
    event()
    tell()

    assert there.received == []
    assert "may not call" in Delivery.objects.get().error
    assert "127.0.0.1" not in Delivery.objects.get().error


@pytest.mark.both
def test_the_log_is_pruned_and_what_waits_stays(hooked, settings):
    hooked()
    for number in range(3):
        event(subject=f"acme/vpc/aws 1.{number}.0")
    tell()
    event(subject="acme/vpc/aws 2.0.0")
    outbox.dispatch()
    old = timezone.now() - settings.NOTIFY_LIFETIME - timedelta(minutes=1)
    ended = list(Delivery.objects.exclude(state=State.WAITING).order_by("pk"))
    Delivery.objects.filter(pk__in=[ended[0].pk, ended[1].pk]).update(ended_at=old)
    Delivery.objects.filter(state=State.WAITING).update(created_at=old)

    prune()
    assert Delivery.objects.count() == 2


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_a_worker_sends_in_threads_and_is_free_at_once(hooked):
    _, _, hangs = hooked()
    hangs.answer = lambda _: hangs.over.wait(20)
    _, _, there = hooked()
    event()
    run()  # returns while a receiver hangs

    assert wait_until(lambda: there.received)
    assert wait_until(lambda: Delivery.objects.filter(state=State.DELIVERED).exists())
    hangs.over.set()
    assert wait_until(lambda: not sending.sender.busy())


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("slow", ["one receiver of many webhooks", "many receivers that fail"])
def test_threads_are_left_for_the_receivers_that_answer(hooked, slow):
    """Each attempt would have a thread for ten seconds, so that all were taken."""
    hooks = [hooked() for _ in range(sending.THREADS)]
    hanging = [receiver for _, _, receiver in hooks]
    for receiver in hanging:
        receiver.answer = lambda _: hanging[0].over.wait(20)
    if slow == "one receiver of many webhooks":
        for number, (hook, _, _) in enumerate(hooks):
            Webhook.objects.filter(pk=hook.pk).update(url=f"{hanging[0].url}/{number}")
    else:
        Webhook.objects.update(failing_since=timezone.now())
    _, _, there = hooked()
    event()
    began = time.monotonic()
    run()

    try:
        assert wait_until(lambda: there.received)
        assert time.monotonic() - began < 5
        assert sum(len(receiver.received) for receiver in hanging) <= sending.SHARE
    finally:
        hanging[0].over.set()
    assert wait_until(lambda: not sending.sender.busy())


def wait_until(found):
    for _ in range(600):
        if found():
            return True
        time.sleep(0.05)
    return False


def test_rows_that_change_places_open_nothing(db, dora, hooked):
    """An attacker who can write to the database alone cannot have a webhook sign with, or a mail show, another
    secret.
    """
    hook, _, there = hooked()
    factor = SecondFactorAdapter().encrypt("JBSWY3DPEHPK3PXP")
    with pytest.raises(Unavailable):
        SecondFactorAdapter().decrypt(hook.sealed_secret)
    with pytest.raises(Unavailable):
        sealing.unseal(factor, letters.PURPOSE)
    Webhook.objects.update(sealed_secret=factor)
    hooks.test(hook=hook, actor=Viewer(dora))
    tell()
    assert there.received == []
