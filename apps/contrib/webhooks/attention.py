"""The row of webhooks in the table of what needs attention: those that fail, or were switched off for it."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import gate
from apps.notify.attention import readers
from apps.notify.attention.matter import MOST, Item, Matter, Person
from apps.notify.attention.perhaps import Questions, moment
from apps.notify.models import Topic, Webhook

# A receiver that restarts is back by then.
FAILING_FOR = timedelta(hours=1)
_FAILING_SINCE = moment(-FAILING_FOR)


def lines(person: Person) -> Iterator[Item]:
    """Yield those of owned namespaces, and site-wide ones for operators."""
    theirs = Q(namespace__in=person.owned)
    if gate.operates(person.viewer):
        theirs |= Q(namespace=None)
    failing = Webhook.objects.filter(theirs, failing_since__lt=timezone.now() - FAILING_FOR, suspended_at=None)
    for hook in failing.select_related("namespace").order_by("failing_since", "pk")[:MOST]:
        whose = f"of {hook.namespace}" if hook.namespace else "of the whole site"
        args = [hook.namespace.name, hook.pk] if hook.namespace else [hook.pk]
        is_off = hook.disabled_at is not None
        yield Item(
            f"The webhook to {hook.host} {whose} {'was switched off' if is_off else 'is failing'}",
            reverse("portal:webhook" if hook.namespace else "portal:site-webhook", args=args),
            hook.disabled_reason or f"No delivery succeeded since {hook.failing_since:%Y-%m-%d %H:%M} UTC.",
            act="Fix it",
            tone="bad" if is_off else "warn",
            picture="globe",
        )


def perhaps() -> Questions:
    return (Webhook.objects.filter(failing_since__lt=_FAILING_SINCE, suspended_at=None),)


WEBHOOKS = Matter(
    "webhook",
    Topic.WEBHOOKS,
    ("webhook.disabled",),
    can_act=readers.owners,
    act="Fix the webhook",
    at_home=lines,
    perhaps=perhaps,
)
