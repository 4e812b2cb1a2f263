"""Versions that were lately held back, and from whom, for the page of staff.

Clients print only that no version matches, so the person who meets a cool-down asks staff. It is collected in memory
and written by a thread (D15). What the front repeats asks no view, but it repeats nothing for longer than a minute.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import connections, transaction
from django.utils import timezone

from apps.accounts.access.asking import Asker
from apps.contrib.mirror.models import HeldBack, UpstreamVersion
from apps.contrib.mirror.policy.evaluation import Decision
from apps.jobs import database_availability
from apps.lib.process.write_behind import NotWritten, WriteBehind

WRITE_EVERY = timedelta(seconds=5)
SHOWN_FOR = timedelta(hours=1)
MOST_OF_A_LIST = 5  # the highest versions
MOST_PAIRS = 2_000  # in memory
MOST_ROWS = 10_000
SHOWN = 50

# The version and the account; without a token None.
Key = tuple[int, int | None]


def note(asker: Asker, found: Mapping[UpstreamVersion, Decision]) -> None:
    """Remember what waits for its date, of versions from the highest down. Writes nothing before the answer."""
    held = [row for row, decision in found.items() if decision.available_at is not None]
    for row in held[:MOST_OF_A_LIST]:
        _unwritten.add((row.pk, asker.viewer.user_id), timezone.now())


def write(batch: Mapping[Key, datetime]) -> int:
    """Write the batch, all of it or nothing (NotWritten), and delete what is no longer shown."""
    try:
        with transaction.atomic():
            prune()
            named = UpstreamVersion.objects.filter(pk__in={version for version, _ in batch})
            there = set(named.values_list("pk", flat=True))
            room = MOST_ROWS - HeldBack.objects.count()
            for (version, user), at in batch.items():
                same = HeldBack.objects.filter(version=version, user=user)
                if not same.update(at=at) and version in there and room > 0:
                    HeldBack.objects.create(version_id=version, user_id=user, at=at)
                    room -= 1
    except database_availability.AWAY as error:
        raise NotWritten(str(error)) from error
    return len(batch)


def lately() -> list[HeldBack]:
    """Return the last hour's, newest first, each version once for each person."""
    rows = HeldBack.objects.filter(at__gte=timezone.now() - SHOWN_FOR).order_by("-at", "-pk")
    found: dict[Key, HeldBack] = {}
    for row in rows.select_related("user", "version__provider__upstream").defer("version__sums", "version__signature")[
        : SHOWN * 4
    ]:
        found.setdefault((row.version_id, row.user_id), row)
    return list(found.values())[:SHOWN]


def prune() -> None:
    HeldBack.objects.filter(at__lt=timezone.now() - SHOWN_FOR).delete()


_unwritten: WriteBehind[Key, datetime] = WriteBehind(
    "held-back", write=write, merge=max, every=WRITE_EVERY, most=MOST_PAIRS, rest=connections.close_all
)
flush, start = _unwritten.flush, _unwritten.start
