"""The channels by which notices leave: mail, and those that rooms declare at their doors."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from apps import room
from apps.accounts.models import Namespace
from apps.notify.notices import Notice


def nobody(_namespace: Namespace | None, _event: str) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel. Metrics and the page of a message to users call it `name`.

    `write` stores what a notice sends, in the transaction of the caller. `wake` has threads of this worker send what is
    due. `pending` returns the rows that are still to be sent, with `next_at`; `ended_before`, those to be deleted.
    `receivers` counts whom an event of a namespace reaches, beside people.
    """

    name: str
    write: Callable[[Notice], None]
    wake: Callable[[], object]
    pending: Callable[[], QuerySet[Any]]
    ended_before: Callable[[datetime], QuerySet[Any]]
    receivers: Callable[[Namespace | None, str], int] = nobody


def channels() -> tuple[Channel, ...]:
    return room.all_of("channels")


def receivers_of(namespace: Namespace | None, event: str) -> dict[str, int]:
    """Return how many receivers beside people an event reaches, by the name of their channel."""
    counted = ((channel.name, channel.receivers(namespace, event)) for channel in channels())
    return {name: count for name, count in counted if count}
