"""Send what is due: each webhook in a thread of its own, of which a receiver has a share, so that one that hangs delays
neither the others nor the jobs of the worker. Every attempt is claimed by a conditional UPDATE; what a dying worker had
begun is sent again.
"""

import random
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta

import structlog
from django.conf import settings
from django.db.models import Case, IntegerField, Min, When
from django.utils import timezone

from apps.accounts.identity import sealing
from apps.contrib.webhooks import deliveries, hooks
from apps.jobs.models import claimed
from apps.jobs.threads import Threads
from apps.lib.errors import RegistryError
from apps.lib.net import fetching
from apps.lib.net.outgoing import NotAnswered
from apps.lib.process import metrics
from apps.notify.channels import Channel
from apps.notify.models import Delivery, State, Webhook

# After the first attempt and each further one: the last is made a day after the first.
DELAYS = tuple(timedelta(seconds=seconds) for seconds in (5, 60, 300, 900, 3600, 7200, 14400, 28800, 31135))
# Longer than any attempt.
LEASE = timedelta(seconds=60)
# A webhook that has only failed for so long is switched off.
GIVE_UP_AFTER = timedelta(days=3)
BATCH_SIZE = 50
MAX_SECONDS = 20.0  # for one webhook, then others get the thread
THREADS = 8
SHARE = 3  # of the threads, for all webhooks of one host, and for all that fail
GONE = 410

log = structlog.get_logger("larder.notify")


def send_of(number: int) -> int:
    """Send what is due to one webhook until one fails: new messages, then retries, the oldest first. Return how many.

    Behind the retries of a receiver that failed for hours, a new message would wait for each of them.
    """
    sent, until = 0, time.monotonic() + MAX_SECONDS
    due = Delivery.objects.due(timezone.now()).filter(webhook=number).select_related("webhook__namespace")
    is_retry = Case(When(attempts=0, then=0), default=1, output_field=IntegerField())
    for delivery in due.order_by(is_retry, "next_at", "pk")[:BATCH_SIZE]:
        if not _claim(delivery):
            continue
        if not _attempt(delivery):
            break
        sent += 1
        if time.monotonic() > until:
            break
    return sent


def due_webhooks() -> list[int]:
    """Return the numbers of webhooks with something to send, the longest waiting first."""
    rows = Delivery.objects.due(timezone.now()).values("webhook").annotate(since=Min("next_at"))
    return [row["webhook"] for row in rows.order_by("since", "webhook")]


def _due() -> Iterator[tuple[int, str]]:
    """Each due webhook with those that it shares threads with. Receivers that hang take one for ten seconds each."""
    numbers = due_webhooks()
    found = Webhook.objects.only("url", "failing_since").in_bulk(numbers)
    for number in numbers:
        if hook := found.get(number):  # not deleted meanwhile
            yield number, "" if hook.failing_since else hook.host


def _claim(delivery: Delivery) -> bool:
    """Of two workers that see the same row, the second finds another time in it."""
    now = timezone.now()
    own = Delivery.objects.filter(pk=delivery.pk, state=State.WAITING, next_at=delivery.next_at)
    if not own.update(next_at=now + LEASE, tried_at=now, **claimed(now + LEASE)):
        return False
    delivery.refresh_from_db(fields=["attempts", "lapses"])
    return True


def _attempt(delivery: Delivery) -> bool:
    hook, body, now = delivery.webhook, delivery.body.encode(), timezone.now()
    if delivery.is_given_up:
        log.warning("webhook_given_up", webhook=hook.pk, delivery=delivery.pk, lapses=delivery.lapses)
        _end(delivery, state=State.FAILED, ended_at=now, error=f"Given up after {delivery.lapses} lost workers.")
        return False
    status, answer, error = None, "", ""
    try:
        sealed = [hook.sealed_secret]
        if hook.former_until is not None and hook.former_until > timezone.now():
            sealed.append(hook.former_secret)
        headers = hooks.headers_of(
            delivery.message_id, int(now.timestamp()), body, [sealing.unseal(one, hooks.PURPOSE) for one in sealed]
        )
        kind = {"Content-Type": "application/json", "User-Agent": "Larder-Webhooks"}
        said = fetching.post(hook.url, body=body, headers=kind | headers, way=settings.WEBHOOKS)
    except NotAnswered as failure:
        error = str(failure)
    except RegistryError as failure:  # the secret cannot be read
        error = str(failure)
        log.exception("webhook_not_signed", webhook=hook.pk)
    else:
        status, answer = said.status, said.text
        error = "" if said.is_success else f"the answer was {status}"
    metrics.notifications.labels("webhook", "failed" if error else "sent").inc()
    result = {"status": status, "answer": answer, "error": error}
    if error:
        _failed(delivery, result)
    else:
        Delivery.objects.filter(pk=delivery.pk).update(
            state=State.DELIVERED, ended_at=timezone.now(), lease_until=None, **result
        )
        Webhook.objects.filter(pk=hook.pk).exclude(failing_since=None).update(failing_since=None)
    return not error


def _failed(delivery: Delivery, result: Mapping[str, object]) -> None:
    hook, now = delivery.webhook, timezone.now()
    if delivery.attempts <= len(DELAYS):
        # Spread, so that all that failed at once is not sent again at once.
        pause = DELAYS[delivery.attempts - 1] * random.uniform(1, 1.1)  # noqa: S311  # no secret
        _end(delivery, next_at=now + pause, **result)
    else:
        _end(delivery, state=State.FAILED, ended_at=now, **result)
    Webhook.objects.filter(pk=hook.pk, failing_since=None).update(failing_since=now)
    log.info("webhook_failed", webhook=hook.pk, attempt=delivery.attempts, error=result["error"])
    if result["status"] == GONE:
        hooks.disable(hook, "The receiver answered 410 (gone).")
    elif hook.failing_since is not None and hook.failing_since < now - GIVE_UP_AFTER:
        hooks.disable(hook, f"Every delivery of the last {GIVE_UP_AFTER.days} days failed.")


def _end(delivery: Delivery, **changes: object) -> None:
    """End the attempt, unless the delivery was ended meanwhile."""
    Delivery.objects.filter(pk=delivery.pk, state=State.WAITING).update(lease_until=None, **changes)


sender = Threads("webhook", _due, send_of, most=THREADS, share=lambda: SHARE)
CHANNEL = Channel(
    "webhook",
    write=deliveries.write,
    wake=sender.wake,
    pending=lambda: Delivery.objects.filter(state=State.WAITING),
    ended_before=lambda at: Delivery.objects.exclude(state=State.WAITING).filter(ended_at__lt=at),
    receivers=lambda namespace, event: len(deliveries.listening(namespace, event)),
)
