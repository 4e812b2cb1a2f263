"""The order of mails while thousands are due."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.identity import sealing
from apps.accounts.models import Namespace, Visibility
from apps.notify.mail import letters, mailing
from apps.notify.models import Letter, LetterState, Topic

pytestmark = pytest.mark.usefixtures("shelf")


@pytest.mark.both
def test_a_mail_that_a_person_asked_for_does_not_wait_for_thousands_of_notices(box, acme, dora, monkeypatch):
    dora.email = "dora@acme.example"
    dora.save()
    monkeypatch.setattr(mailing, "BATCH_SIZE", 4)
    monkeypatch.setattr(mailing, "BURST", 1000)
    pantry = Namespace.objects.create(name="pantry-2", visibility=Visibility.PUBLIC)
    acme.visibility = Visibility.PUBLIC
    acme.save()

    def letter(number: int, namespace: Namespace | None, topic: str) -> None:
        at = timezone.now() - timedelta(minutes=60 - number)
        told = {
            "subject": f"{namespace} {number}",
            "text": "",
            "sealed_url": sealing.seal("", letters.PURPOSE),
            "key": f"{number}",
        }
        Letter.objects.create(user=dora, namespace=namespace, topic=topic, next_at=at, **told)

    for number in range(20):
        letter(number, acme, Topic.MESSAGES)
    letter(30, pantry, Topic.MESSAGES)
    letter(40, None, "")
    assert mailing.send_due() == 4

    gone = Letter.objects.filter(state=LetterState.SENT).values_list("subject", flat=True)
    assert sorted(gone) == ["None 40", "acme 0", "acme 1", "pantry-2 30"]
