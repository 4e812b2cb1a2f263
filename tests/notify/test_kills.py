"""Workers that are killed while they send: no attempt of the delivery or the letter, and a bound of its own."""

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.people import invitations
from apps.notify.mail import letters, mailing
from apps.notify.models import Letter, LetterState


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
