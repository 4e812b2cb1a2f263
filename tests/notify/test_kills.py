"""Workers that are killed while they send: no attempt of the delivery or the letter, and a bound of its own."""

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.people import invitations
from apps.lib.net import fetching
from apps.notify import outbox, sending, webhooks
from apps.notify.mail import letters, mailing
from apps.notify.models import Delivery, Letter, LetterState, State
from tests.notify.conftest import event, tell
from tests.notify.receiver import says


class Killed(BaseException):
    pass


@pytest.fixture
def kill(monkeypatch):
    """Begin an attempt, be gone, and let its lease run out."""

    def now(module, name, begin, rows):
        def killed(*_, **__):
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(module, name, killed)
            with pytest.raises(Killed):
                begin()
        rows.update(next_at=timezone.now())

    return now


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
    webhooks.redeliver(delivery=delivery, actor=Viewer(dora))
    sending.send_of(hook.pk)
    assert rows.get().state == State.DELIVERED


@pytest.mark.both
def test_kills_are_no_attempts_of_a_letter_and_too_many_end_it(box, olga, kill, settings):
    settings.JOB_LAPSES = len(mailing.DELAYS) + 1
    invitation, _ = invitations.invite(actor=Viewer(olga), note="Finn")
    letters.invite(invitation=invitation, address="finn@acme.example", link="https://larder.example/i/1")
    rows = Letter.objects.all()
    for number in range(settings.JOB_LAPSES):
        kill(mailing, "_message", mailing.send_due, rows)
        assert (rows.get().attempts, rows.get().lapses) == (1, number)
    settings.SMTP = box.settings | {"port": 1}
    mailing.send_due()
    letter = rows.get()
    assert (letter.state, letter.attempts, letter.lease_until) == (LetterState.WAITING, 1, None)

    rows.update(next_at=timezone.now())
    kill(mailing, "_message", mailing.send_due, rows)
    mailing.send_due()
    assert (rows.get().state, rows.get().error) == (
        LetterState.FAILED,
        f"Given up after {settings.JOB_LAPSES + 1} lost workers.",
    )
