"""The consequences of deleting a webhook: its receiver, if it was told of something lately."""

from datetime import timedelta

from django.db.models import Count, Max, Q
from django.utils import timezone

from apps.notify.models import Delivery, State, Webhook
from apps.releases.lifecycle.impact import DAYS, Consequences, Effect, Hit, Hitting, Words, consequences_of

WORDS = {Effect.FAILS: Words("gets no more events", "get no more events", "{} that get no more events")}


def of_webhook(hook: Webhook) -> Consequences:
    """Return its receiver with the events that it took in 30 days, and those that would never be sent."""
    since = timezone.now() - timedelta(days=DAYS)
    found = Delivery.objects.filter(webhook=hook).aggregate(
        taken=Count("pk", filter=Q(state=State.DELIVERED, ended_at__gte=since)),
        at=Max("ended_at", filter=Q(state=State.DELIVERED, ended_at__gte=since)),
        waiting=Count("pk", filter=Q(state=State.WAITING)),
    )
    if not (found["taken"] or found["waiting"]):
        return Consequences(words=WORDS)
    note = f"{found['waiting']:,} waiting and never sent" if found["waiting"] else ""
    hit = Hit(Hitting.CLIENT, hook.host, Effect.FAILS, count=found["taken"], note=note, at=found["at"])
    return consequences_of([hit], words=WORDS)
