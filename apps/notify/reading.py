"""What waits to be told, for operators."""

from django.db.models import Count, Min
from django.utils import timezone

from apps.notify.mail import letters
from apps.notify.models import Delivery, OutboxEvent, State


def waiting() -> dict[str, tuple[int, float]]:
    """Return {what: (how many, seconds since the oldest was due)}. Retries that are not due yet are no delay."""
    now = timezone.now()
    outbox = OutboxEvent.objects.aggregate(count=Count("pk"), since=Min("at"))
    hooks = Delivery.objects.filter(state=State.WAITING).aggregate(count=Count("pk"), since=Min("next_at"))
    # Those of a digest wait for it.
    mails = letters.pending().exclude(user__mail_preference__is_digest=True)
    mail = mails.aggregate(count=Count("pk"), since=Min("next_at"))
    found = {"outbox": outbox, "webhook": hooks, "mail": mail}
    return {
        what: (row["count"], max(0.0, (now - row["since"]).total_seconds()) if row["since"] else 0.0)
        for what, row in found.items()
    }
