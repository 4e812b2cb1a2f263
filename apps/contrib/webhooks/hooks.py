"""Verbs for webhooks. The caller has asked the gate: for the namespace, or for an operator if they are site-wide."""

import base64
import hmac
from collections.abc import Iterable
from datetime import timedelta
from secrets import token_bytes
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import connections, gate, operators
from apps.accounts.access.gate import Viewer
from apps.accounts.creations import Source
from apps.accounts.identity import sealing
from apps.accounts.models import Namespace, Role
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.contrib.webhooks.deliveries import delivery_of
from apps.lib.errors import Conflict, Invalid, existing
from apps.lib.net import addresses
from apps.notify.events import EVENTS
from apps.notify.models import Delivery, Shape, State, Webhook
from apps.notify.notices import Notice

MAX_WEBHOOKS = 20
# For so long after a rotation both secrets sign.
FORMER_SECRET = timedelta(hours=24)
PREFIX = "whsec_"
PURPOSE = "webhook"  # of the sealed secret
SEALED = tuple(sealing.Column(Webhook, name, PURPOSE) for name in ("sealed_secret", "former_secret"))
_BYTES = 32


def of(namespace: Namespace | None) -> QuerySet[Webhook]:
    """Return the webhooks of a namespace, or the site-wide ones."""
    return rows().filter(namespace=namespace).select_related("created_by")


def rows() -> QuerySet[Webhook]:
    """Return all webhooks, in the order in which they were added."""
    return Webhook.objects.order_by("pk")


def webhook_of(namespace: Namespace | None, number: int) -> Webhook:
    """Raises NotFound."""
    hook = of(namespace).filter(pk=number).first()
    return existing(hook, "There is no such webhook here.", hint="The list of webhooks has the others.")


def deliveries_of(hook: Webhook) -> QuerySet[Delivery]:
    return Delivery.objects.filter(webhook=hook).newest_first()


@transaction.atomic
def create(
    *, namespace: Namespace | None, url: str, events: Iterable[str], actor: Viewer, shape: str = Shape.STANDARD
) -> tuple[Webhook, str]:
    """Return the webhook with its secret, which is not shown again. Raises Invalid and Conflict."""
    wanted = _checked(events)
    if shape not in Shape.values:
        raise Invalid(f"There is no format {shape[:40]!r}.", hint=f"Use one of {', '.join(Shape.values)}.")
    addresses.check_url(url, settings.WEBHOOKS.allow)
    connections.lock_as_owner(namespace, actor)
    if of(namespace).count() >= MAX_WEBHOOKS:
        raise Conflict(f"There are {MAX_WEBHOOKS} webhooks already.", hint="Delete one that is not needed.")
    secret = _new_secret()
    sealed = sealing.seal(secret, PURPOSE)
    hook = Webhook.objects.create(
        namespace=namespace,
        url=url,
        events=wanted,
        shape=shape,
        sealed_secret=sealed,
        created_by=actor.user,
        created_by_token=actor.token,
    )
    _record(Kind.WEBHOOK_CREATED, hook, actor, events=wanted, shape=shape)
    return hook, secret


@transaction.atomic
def change(
    *,
    hook: Webhook,
    actor: Viewer,
    url: str | None = None,
    events: Iterable[str] | None = None,
    enabled: bool | None = None,
) -> None:
    """Change what is given. Enabled again, it is told of what happens from then on. Raises Invalid."""
    connections.lock_as_owner(hook.namespace, actor)
    changes: dict[str, Any] = {}
    if url is not None and url != hook.url:
        changes["url"] = addresses.check_url(url, settings.WEBHOOKS.allow)
    if events is not None and (wanted := _checked(events)) != hook.events:
        changes["events"] = wanted
    if enabled is not None and enabled == (hook.disabled_at is not None):
        reason = "" if enabled else "Switched off by its owner."
        at = None if enabled else timezone.now()
        changes |= {"disabled_at": at, "disabled_reason": reason, "failing_since": None}
    if not changes:
        return
    for name, value in changes.items():
        setattr(hook, name, value)
    hook.save(update_fields=list(changes))
    if hook.disabled_at is not None:
        give_up_waiting(hook)
    changed = sorted(name for name in changes if name in ("url", "events"))
    if changed or hook.disabled_at is None:  # who only switches it off does not answer for it
        connections.changed(CONNECTIONS.kind, hook.pk, actor)
    enabled_now = {} if "disabled_at" not in changes else {"enabled": hook.disabled_at is None}
    _record(Kind.WEBHOOK_CHANGED, hook, actor, changed=changed, **enabled_now)


@transaction.atomic
def rotate(*, hook: Webhook, actor: Viewer) -> str:
    """Return a new secret. For a day the former one signs as well, so that receivers can change in their time."""
    connections.lock_as_owner(hook.namespace, actor)
    if hook.namespace is None:  # no page of connections has it, so this is how another operator takes it over
        connections.take_over(CONNECTIONS.kind, hook, actor)
    else:
        connections.changed(CONNECTIONS.kind, hook.pk, actor)
    secret = _new_secret()
    hook.former_secret, hook.former_until = hook.sealed_secret, timezone.now() + FORMER_SECRET
    hook.sealed_secret = sealing.seal(secret, PURPOSE)
    hook.save(update_fields=["sealed_secret", "former_secret", "former_until"])
    _record(Kind.WEBHOOK_ROTATED, hook, actor)
    return secret


@transaction.atomic
def delete(*, hook: Webhook, actor: Viewer) -> None:
    """With its log. What waits is not sent."""
    _record(Kind.WEBHOOK_DELETED, hook, actor)
    hook.delete()


@transaction.atomic
def test(*, hook: Webhook, actor: Viewer) -> Delivery:
    """Have a worker send a test. Raises Conflict if the webhook is off, or a test of it waits."""
    _refuse_if_off(hook)
    if Delivery.objects.filter(webhook=hook, event_id=None, state=State.WAITING).exists():
        raise Conflict("A test of this webhook is already queued.", hint="Check the log in a few seconds.")
    by = actor.user.shown_name if actor.user else ""
    delivery = delivery_of(hook, _test_notice(hook.namespace, by))
    delivery.save()
    _record(Kind.WEBHOOK_TESTED, hook, actor)
    return delivery


def _test_notice(namespace: Namespace | None, by: str) -> Notice:
    path = reverse("portal:namespace", args=[namespace.name]) if namespace else reverse("portal:home")
    subject = namespace.name if namespace else settings.PUBLIC_HOST
    said = f"{subject} sends this test{f' by {by}' if by else ''}"
    return Notice("webhook.test", timezone.now(), namespace, subject, by=by, url=settings.PUBLIC_URL + path, said=said)


@transaction.atomic
def redeliver(*, delivery: Delivery, actor: Viewer) -> None:
    """Send it again, with the same id and body. Raises Conflict if it still waits, or the webhook is off."""
    _refuse_if_off(delivery.webhook)
    ended = Delivery.objects.filter(pk=delivery.pk).exclude(state=State.WAITING)
    if not ended.update(state=State.WAITING, attempts=0, lapses=0, next_at=timezone.now(), ended_at=None):
        raise Conflict("This delivery is already queued.", hint="Check the log in a few seconds.")
    _record(Kind.WEBHOOK_REDELIVERED, delivery.webhook, actor, message=delivery.message_id)
    delivery.refresh_from_db()


def disable(hook: Webhook, reason: str) -> None:
    """Switch off a webhook that failed for too long. Its owners are told; see the event."""
    with transaction.atomic():
        now = timezone.now()
        if not Webhook.objects.filter(pk=hook.pk, disabled_at=None).update(disabled_at=now, disabled_reason=reason):
            return
        give_up_waiting(hook)
        detail: dict[str, Any] = {"webhook": hook.pk, "host": hook.host, "reason": reason}
        record(Kind.WEBHOOK_DISABLED, actor_id=None, subject=_subject(hook), **detail)


def _switch_off_with_token(hook: Webhook, actor: Viewer) -> None:
    """Switched off, not deleted: its log says what was sent where."""
    if hook.namespace is None:
        operators.require_everywhere(actor, gate.OPERATE)
    else:
        gate.namespace_for(actor, hook.namespace.name, need=Role.OWNER)
    change(hook=hook, actor=actor, enabled=False)


CREATED_BY_TOKENS = Source(
    "webhook",
    lambda: Webhook.objects.filter(disabled_at=None, namespace__deleted_at=None).select_related("namespace"),
    lambda hook: f"to {hook.host} of {hook.namespace or 'the registry'}",
    _switch_off_with_token,
)


def give_up_waiting(hook: Webhook, error: str = "The webhook was switched off.") -> None:
    waiting = Delivery.objects.filter(webhook=hook, state=State.WAITING)
    waiting.update(state=State.FAILED, ended_at=timezone.now(), lease_until=None, error=error)


CONNECTIONS = connections.Source(
    kind="webhook",
    noun="webhook",
    rows=lambda: Webhook.objects.filter(Q(namespace=None) | Q(namespace__deleted_at=None)),
    name=lambda hook: f"to {hook.host}",
    path=lambda hook: (
        reverse("portal:webhook", args=[hook.namespace.name, hook.pk])
        if hook.namespace
        else reverse("portal:site-webhook", args=[hook.pk])
    ),
    stop=lambda hook, _actor: give_up_waiting(hook, "The webhook was suspended."),
    resume=lambda _hook, _actor: None,  # it hears of what happens from now on
    place=2,
)


def _refuse_if_off(hook: Webhook) -> None:
    connections.refuse_suspended(hook, "This webhook")
    if hook.disabled_at is not None:
        raise Conflict("This webhook is switched off.", hint="Switch it on first.")


def _checked(events: Iterable[str]) -> list[str]:
    wanted = set(events)
    if unknown := sorted(wanted - EVENTS.keys()):
        raise Invalid(f"There is no event {unknown[0][:60]!r}.", hint=f"Events are: {', '.join(EVENTS)}.")
    if not wanted:
        raise Invalid("The webhook has no events.", hint="Choose at least one, such as release.published.")
    return [name for name in EVENTS if name in wanted]


def _subject(hook: Webhook) -> str:
    return f"{hook.namespace.name if hook.namespace else ''}/webhooks/{hook.pk}"


def _record(kind: Kind, hook: Webhook, actor: Viewer, **detail: Any) -> None:
    """The host alone: URLs of Slack and Teams are secrets."""
    subject = _subject(hook)
    more = {"webhook": hook.pk, "host": hook.host, **detail}
    actor.record(kind, subject=subject, **more)


def headers_of(message_id: str, timestamp: int, body: bytes, secrets: Iterable[str]) -> dict[str, str]:
    """The three headers of Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and body.

    A second secret signs as well while the first one is new.
    """
    signed = f"{message_id}.{timestamp}.".encode() + body
    keys = [base64.b64decode(secret.removeprefix(PREFIX)) for secret in secrets]
    made = " ".join(f"v1,{base64.b64encode(hmac.digest(key, signed, 'sha256')).decode()}" for key in keys)
    return {"webhook-id": message_id, "webhook-timestamp": str(timestamp), "webhook-signature": made}


def _new_secret() -> str:
    return PREFIX + base64.b64encode(token_bytes(_BYTES)).decode()
