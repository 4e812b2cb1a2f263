"""The head of the chain, recorded every hour outside of the database: in the log, and where LARDER_AUDIT_HEAD_URL says.

The chain alone cannot show that its end was cut off, or that all of it was rewritten. A recorded head that is missing
from it does, as long as people who can change the database cannot change the recorded heads.
"""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import structlog
from django.conf import settings
from django.utils import timezone

from apps.audit import chain
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent, Link
from apps.lib.net import fetching
from apps.lib.net.outgoing import NotAnswered
from apps.lib.process import durable, metrics

BATCH_SIZE = 500

log = structlog.get_logger("larder.audit")


@dataclass(frozen=True, slots=True)
class Head:
    """`links` counts those of the chain, `row` is the number of the last event, `at` when the head was read."""

    at: str
    links: int
    head: str
    row: int


def record_head() -> None:
    """Log the head and record it; nothing without a chain. A failure is logged, and the next hour records the next."""
    newest = Link.objects.order_by("-pk").first()
    if newest is None:
        return
    at = timezone.now().isoformat(timespec="seconds")
    head = Head(at=at, links=Link.objects.count(), head=newest.digest, row=newest.event_id)
    log.info("audit_head", **asdict(head))
    if not settings.AUDIT_HEAD_URL:
        return
    line = json.dumps(asdict(head)).encode() + b"\n"
    kind = {"Content-Type": "application/json", "User-Agent": "Larder-Audit"}
    try:
        if (path := file()) is not None:
            _append(path, line)
        else:
            answer = fetching.post(settings.AUDIT_HEAD_URL, body=line, headers=kind, way=settings.WEBHOOKS)
            if not answer.is_success:
                raise NotAnswered(f"the answer was {answer.status}")
    except (OSError, NotAnswered) as failure:
        error = f"{path}: {failure.strerror}" if isinstance(failure, OSError) else str(failure)
        metrics.audit_heads.labels("failed").inc()
        log.warning("audit_head_not_recorded", error=error, head=head.head)
    else:
        metrics.audit_heads.labels("recorded").inc()


def file() -> Path | None:
    """Return the file of the heads; None if they are only logged or posted."""
    parts = urlsplit(settings.AUDIT_HEAD_URL)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _append(path: Path, line: bytes) -> None:
    """Add a whole line that survives a power cut, or nothing. The file may be one that takes no other change."""
    is_new = not path.exists()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        written = os.write(descriptor, line)
        if written < len(line):  # a full disk
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise OSError(errno.ENOSPC, "the disk is full")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if is_new:
        durable.settle(path.parent)


# --- Comparing with the chain -----------------------------------------------------------------------------------------


def problems_of(path: Path) -> list[str]:
    """Return what is wrong with the chain by the heads of a file. Each must be in it unless it may have been pruned.

    The file has JSON lines: those of LARDER_AUDIT_HEAD_URL, or of a log; other lines of a log do not count.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            heads = sorted(_heads_in(lines), key=lambda head: datetime.fromisoformat(head.at))
    except FileNotFoundError:
        return [f"{path} does not exist, so no recorded head was compared."]
    except (OSError, ValueError) as error:
        return [f"{path} cannot be read, so no recorded head was compared: {error}."]
    if not heads:
        return [f"{path} has no head, so none was compared."]
    pruned_until = chain.pruned_until()
    missing = [head for head in _absent(heads) if datetime.fromisoformat(head.at) >= pruned_until]
    if not missing:
        return []
    first, last = missing[0], missing[-1]
    said = (
        f"{len(missing)} of {len(heads)} recorded heads are not in the chain, from {first.at} ({first.links} links, "
        f"{first.head}) to {last.at}: its end was cut off, or it was rewritten."
    )
    restored = AuditEvent.objects.filter(kind=Kind.DATABASE_RESTORED, at__gte=datetime.fromisoformat(last.at))
    if (event := restored.order_by("at").first()) is not None:
        said += (
            f" The log says that an older backup was restored on {event.at:%Y-%m-%d %H:%M:%S} (row {event.pk}), which "
            f"loses the rows since that backup. If you restored one then, keep {path} under another name: the next "
            "head begins a new file. If you did not, someone has changed the database."
        )
    return [said]


def newest_in(path: Path) -> Head | None:
    """Return the head that was recorded last. Raises OSError and ValueError."""
    with path.open(encoding="utf-8") as lines:
        return max(_heads_in(lines), key=lambda head: datetime.fromisoformat(head.at), default=None)


def _heads_in(lines: Any) -> Iterator[Head]:
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            found = json.loads(line)
            at = datetime.fromisoformat(found["at"])
            yield Head(
                at=(at if at.tzinfo else timezone.make_aware(at)).isoformat(timespec="seconds"),
                links=int(found["links"]),
                head=str(found["head"]),
                row=int(found["row"]),
            )


def _absent(heads: list[Head]) -> list[Head]:
    """Return those whose digest is neither that of the newest link nor, by the index, the one before another."""
    newest = Link.objects.order_by("-pk").values_list("digest", flat=True).first()
    absent = []
    for start in range(0, len(heads), BATCH_SIZE):
        batch = heads[start : start + BATCH_SIZE]
        before = Link.objects.filter(previous__in=[head.head for head in batch]).values_list("previous", flat=True)
        there = {newest, *before}
        absent += [head for head in batch if head.head not in there]
    return absent
