"""A hash chain over the audit rows, so that a row that was changed or deleted in the database is found.

Each link's digest is the SHA-256 of the digest before it and of the row in canonical JSON. Links are made a minute
later and not by `record`: otherwise every verb would wait for every other. The newest digest is logged, and can be kept
elsewhere: an attacker who rewrites the whole chain cannot arrive at the same one.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, Max, OuterRef
from django.utils import timezone

from apps.audit import months
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent, Link
from apps.audit.recorder import record

BATCH_SIZE = 1000  # to delete one blocks SQLite's one writer for some ten milliseconds
MAX_PRUNED_ROWS = 1_000_000  # so that a run ends before Celery's time limit
FIELDS = ("id", "at", "kind", "actor_id", "token_id", "address", "namespace", "subject", "detail", "request_id")
# Transactions commit out of the order of their numbers; none is so long that this many others begin and end in it.
_OUT_OF_ORDER = 10_000
# Nothing younger is ever pruned: the least of audit_days of LARDER_LIFETIMES.
SHORTEST_LIFETIME = timedelta(days=400)
# A row without a link after this time is a defect: the worker links every minute.
UNLINKED_AFTER = timedelta(minutes=10)
MAX_PROBLEMS = 20

log = structlog.get_logger("larder.audit")


@dataclass(slots=True)
class Report:
    """The result of `verify`. `head` is the digest of the newest link, empty without any."""

    linked: int = 0
    head: str = ""
    problems: list[str] = field(default_factory=list)

    def add(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


def line_of(event: dict[str, Any]) -> str:
    """One row as canonical JSON: these fields, sorted, without blanks, times in UTC."""
    fields = {name: event[name] for name in FIELDS} | {"at": event["at"].astimezone(UTC).isoformat()}
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest_of(previous: str, line: str) -> str:
    return hashlib.sha256(f"{previous}\n{line}".encode()).hexdigest()


def link() -> int:
    """Link the rows that have no link yet, and return how many. Another process that does the same loses."""
    count = 0
    try:
        while True:
            newest = Link.objects.order_by("-pk").first()
            reached = Link.objects.aggregate(reached=Max("event_id"))["reached"] or 0
            rows = AuditEvent.objects.filter(pk__gt=reached - _OUT_OF_ORDER).exclude(Exists(_link_of_row()))
            digest, links = newest.digest if newest else "", []
            for event in rows.order_by("pk").values(*FIELDS)[:BATCH_SIZE]:
                previous, digest = digest, digest_of(digest, line_of(event))
                links.append(Link(event_id=event["id"], at=event["at"], previous=previous, digest=digest))
            if not links:
                break
            with transaction.atomic():
                Link.objects.bulk_create(links)
            count += len(links)
    except IntegrityError:  # the other one links the rest
        pass
    if count:
        log.info("audit_linked", rows=count, head=Link.objects.order_by("-pk").values_list("digest", flat=True)[0])
    return count


def _link_of_row() -> Any:
    return Link.objects.filter(event_id=OuterRef("pk"))


def verify() -> Report:
    """Compute the chain again. Rows that were pruned are no problem: the chain says up to where.

    On PostgreSQL a month goes at once and its links in batches, and a row that was linked late may go before the link
    of a younger one: a link may lack its row if both are that old, and so are all rows before.
    """
    report, pruned, until = Report(), _pruned_digests(), pruned_until()
    newest = datetime.min.replace(tzinfo=UTC)
    for number, (one, event) in enumerate(_links_and_events()):
        if number == 0:
            if one.previous and one.previous not in pruned and not Link.objects.filter(digest__in=pruned).exists():
                report.add(f"The rows before {one.event_id} are missing, and were not pruned.")
        elif one.previous != report.head:
            report.add(f"The link before row {one.event_id} is missing or was changed.")
        if event is None:
            if one.at >= until or newest >= until + UNLINKED_AFTER:
                report.add(f"Row {one.event_id} of {one.at:%Y-%m-%d %H:%M:%S} is missing.")
        elif digest_of(one.previous, line_of(event)) != one.digest:
            report.add(f"Row {one.event_id} of {one.at:%Y-%m-%d %H:%M:%S} was changed.")
        newest = max(newest, event["at"] if event is not None else newest)
        report.linked, report.head = number + 1, one.digest
    late = AuditEvent.objects.filter(at__lt=timezone.now() - UNLINKED_AFTER).exclude(Exists(_link_of_row()))
    for number, at in late.order_by("pk").values_list("pk", "at")[:MAX_PROBLEMS]:
        report.add(f"Row {number} of {at:%Y-%m-%d %H:%M:%S} is not in the chain: it was added outside Larder.")
    return report


def has_digest(digest: str) -> bool:
    return Link.objects.filter(digest=digest).exists() or digest in _pruned_digests()


def _pruned_digests() -> list[str]:
    details = AuditEvent.objects.filter(kind=Kind.AUDIT_PRUNED).values_list("detail", flat=True)
    return [detail["chain"] for detail in details if detail.get("chain")]


def pruned_until() -> datetime:
    """Return the time before which rows may have been pruned: by the events that say so, and by the least age.

    An event of the database may be forged, or no time.
    """
    until = datetime.min.replace(tzinfo=UTC)
    for detail in AuditEvent.objects.filter(kind=Kind.AUDIT_PRUNED).values_list("detail", flat=True):
        with suppress(KeyError, TypeError, ValueError):
            until = max(until, datetime.fromisoformat(detail["before"]))
    return min(until, timezone.now() - SHORTEST_LIFETIME)


def _links_and_events() -> Iterator[tuple[Link, dict[str, Any] | None]]:
    after = 0
    while links := list(Link.objects.filter(pk__gt=after).order_by("pk")[:BATCH_SIZE]):
        rows = AuditEvent.objects.filter(pk__in=[one.event_id for one in links]).values(*FIELDS)
        events = {event["id"]: event for event in rows}
        yield from ((one, events.get(one.event_id)) for one in links)
        after = links[-1].pk


def verify_export(lines: Iterable[str]) -> Report:
    """Check exported JSON lines by their own digests: each row, not that none is missing between two."""
    report = Report()
    for number, text in enumerate(lines, 1):
        try:
            row = json.loads(text)
            line = json.dumps({name: row[name] for name in FIELDS}, sort_keys=True, separators=(",", ":"))
            is_right = row["digest"] is None or row["digest"] == digest_of(row["previous"], line)
        except (ValueError, KeyError, TypeError):
            report.add(f"Line {number} is not an exported row.")
            continue
        if not is_right:
            report.add(f"Line {number}: row {row['id']} was changed.")
        report.linked, report.head = number, row["digest"] or report.head
    return report


def prune() -> int:
    """Delete rows older than audit_days of LARDER_LIFETIMES with their links, and return how many; one event says up to
    where.

    The beginning of the chain goes; on PostgreSQL whole months of it. The event comes first, so that a run that stops
    half-way leaves a chain which `verify` accepts.
    """
    link()
    before = timezone.now() - settings.AUDIT_LIFETIME
    if connection.vendor == "postgresql":
        before = months.first_moment(before)
    stays = Link.objects.filter(at__gte=before).order_by("pk").first()
    old = Link.objects.filter(pk__lt=stays.pk) if stays else Link.objects.all()
    rows = old[:MAX_PRUNED_ROWS].count()
    if not rows:
        return 0
    end = old.order_by("pk")[rows - 1]
    record(Kind.AUDIT_PRUNED, actor_id=None, subject="audit", rows=rows, before=before.isoformat(), chain=end.digest)
    while Link.objects.filter(pk__lte=end.pk).exists():
        delete_batch(end, before)
    log.info("audit_pruned", rows=rows)
    return rows


def delete_batch(end: Link, before: datetime) -> None:
    """Delete the oldest links up to `end`, and their rows.

    On PostgreSQL by a function of the database, which the migration makes: roles of Larder's processes cannot delete a
    row. It drops the months before the time that an AUDIT_PRUNED event with this link names, at the earliest after 399
    days.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT audit_prune(%s, %s)", [end.pk, BATCH_SIZE])
        return
    batch = list(Link.objects.filter(pk__lte=end.pk).order_by("pk")[:BATCH_SIZE])
    with transaction.atomic():
        AuditEvent.objects.prune([one.event_id for one in batch], before=before)
        Link.objects.filter(pk__in=[one.pk for one in batch]).delete()
