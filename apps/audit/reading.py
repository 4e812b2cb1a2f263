"""Read the audit: the callers decide who may see which slice; the filter, names and formats are here."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Greatest

from apps.admin_base.export import lines
from apps.audit import chain
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent, AuditEventQuerySet, Link
from apps.lib.errors import Invalid

CHUNK = 1000
_NUMBER = re.compile(r"[0-9]{1,18}")
_USER = re.compile(r"user/([0-9]{1,18})")
# Events that are in one of these, each newest first: no index serves their conditions as one with an OR.
Events = list[AuditEventQuerySet]
CSV_COLUMNS = ("id", "at", "kind", "actor_id", "actor_name", "token_id", "address", "subject", "detail", "request_id")
# People whose name begins with a word; more are ignored.
PEOPLE_FOUND = 50
CONTENT_TYPES = {"jsonl": "application/jsonl", "csv": "text/csv; charset=utf-8"}


def people() -> QuerySet[Any]:
    return get_user_model()._default_manager.all()  # noqa: SLF001  # Django's public name for it


def about(names: QuerySet[Any]) -> tuple[Q, Q]:
    """Match events by these people, or events on their accounts. Rows have account numbers, no foreign keys (D14)."""
    numbers = list(names.values_list("pk", flat=True)[:PEOPLE_FOUND])
    return Q(actor_id__in=numbers), Q(subject__in=[f"user/{number}" for number in numbers])


def with_actors(events: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
    """Set `actor_name` in the same query: None for Larder, for unknown actors, and for erased people."""
    named = people().filter(pk=OuterRef("actor_id"))
    return events.annotate(actor_name=Subquery(named.values("username")[:1]))


def name_subjects(events: Iterable[AuditEvent]) -> list[Any]:
    """Set `subject_name` on each event, empty unless its subject is an account. One query for all."""
    found = list(events)
    numbers = {event.pk: int(known[1]) for event in found if (known := _USER.fullmatch(event.subject))}
    names = dict(people().filter(pk__in={0, *numbers.values()}).values_list("pk", "username"))  # 0: always one query
    for event in found:
        event.subject_name = names.get(numbers.get(event.pk), "")  # type: ignore[attr-defined]  # for those who show it
    return found


def everything() -> Events:
    return [AuditEvent.objects.newest_first()]


def of_namespace(name: str, *, since: datetime) -> Events:
    """The events of a namespace (its canonical name) from `since` on, when it was created."""
    return [AuditEvent.objects.filter(namespace=name, at__gte=since).newest_first()]


def of_person(user_id: int, *, tokens: list[int]) -> Events:
    by, about_them = (AuditEvent.objects.filter(one) for one in by_or_about(user_id, tokens=tokens))
    # Of some ten names PostgreSQL believes that many rows have them, and reads the newest of all until it has a page:
    # an order that no index has makes it look the names up.
    return [by.newest_first(), about_them.order_by(Greatest("at", "at").desc(), "-pk")]


def by_or_about(user_id: int, *, tokens: list[int]) -> tuple[Q, Q]:
    """Match whatever the person did, or what others did to their account and these tokens of theirs."""
    theirs = [f"user/{user_id}", *(f"token/{token}" for token in tokens)]
    return Q(actor_id=user_id), Q(subject__in=theirs)


def page(events: Events, *, cursor: str, size: int) -> tuple[list[Any], str]:
    """Return the newest events with their actors after the one with the number `cursor`, and the next cursor.

    The cursor is empty at the end. An unknown number begins from the start.
    """
    last = AuditEvent.objects.filter(pk=int(cursor)).first() if _NUMBER.fullmatch(cursor) else None
    if last is not None:
        # The first condition is what an index serves: by the OR alone each page would read those before it again.
        events = [one.filter(Q(at__lt=last.at) | Q(pk__lt=last.pk), at__lte=last.at) for one in events]
    found = {row.pk: row for one in events for row in with_actors(one)[: size + 1]}
    rows = sorted(found.values(), key=lambda row: (row.at, row.pk), reverse=True)
    return rows[:size], str(rows[size - 1].pk) if len(rows) > size else ""


def export(events: Events, form: str) -> Iterator[str]:
    """Yield lines of `jsonl` or `csv`, the oldest event first, in flat memory.

    A JSON line has the fields of the chain, and the digests to check it with: None if they are not made yet.
    """
    ordered = reduce(or_, events).order_by("pk")
    if form == "csv":
        yield from lines(with_actors(ordered), CSV_COLUMNS)
        return
    links = Link.objects.filter(event_id=OuterRef("pk"))
    linked = ordered.annotate(previous=Subquery(links.values("previous")), digest=Subquery(links.values("digest")))
    for event in linked.values(*chain.FIELDS, "previous", "digest").iterator(chunk_size=CHUNK):
        digests = {"previous": event.pop("previous"), "digest": event.pop("digest")}
        yield json.dumps(json.loads(chain.line_of(event)) | digests, separators=(",", ":")) + "\n"


@dataclass(frozen=True, slots=True)
class Filter:
    """`until` is the first moment that is not included. `person` is a user name."""

    kind: str = ""
    person: str = ""
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def from_query(cls, query: Any) -> "Filter":
        """From `kind`, `person`, `since` and `until` (ISO 8601; a day without a time is meant whole, in UTC).

        Raises Invalid.
        """
        kind = query.get("kind", "").strip()
        if kind and kind not in Kind.values:
            raise Invalid(f"There is no event kind “{kind[:64]}”.", hint="Choose an event kind from the list.")
        person = query.get("person", "").replace("\0", "").strip()
        return cls(kind, person, _moment(query, "since"), _moment(query, "until"))

    def of(self, events: Events) -> Events:
        if self.kind:
            events = [one.filter(kind=self.kind) for one in events]
        if self.person:
            theirs = about(people().filter(username=self.person))
            events = [one.filter(condition) for one in events for condition in theirs]
        if self.since:
            events = [one.filter(at__gte=self.since) for one in events]
        return [one.filter(at__lt=self.until) for one in events] if self.until else events


def _moment(query: Any, name: str) -> datetime | None:
    text = query.get(name, "").strip()
    if not text:
        return None
    try:
        if len(text) == len("2026-01-31"):
            day = date.fromisoformat(text) + timedelta(days=int(name == "until"))
            return datetime.combine(day, time.min, UTC)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        hint = "Write a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z."
        raise Invalid(f"“{text[:40]}” in `{name}` is not a date.", hint=hint) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
