"""The fetches of mirrored packages by clients: collected in memory, written in bulk by a thread (D15)."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db import connections, transaction
from django.db.models import F
from django.utils import timezone

from apps.contrib.mirror import traffic
from apps.contrib.mirror.models import UpstreamPackage
from apps.jobs import database_availability
from apps.lib.process.write_behind import NotWritten, WriteBehind

WRITE_EVERY = timedelta(seconds=5)
MOST_PACKAGES = 10_000


@dataclass(frozen=True, slots=True)
class Used:
    times: int
    at: datetime

    def add(self, other: "Used") -> "Used":
        return Used(self.times + other.times, max(self.at, other.at))


# The host, the digest and the file name of a package.
Key = tuple[str, str, str]


def write(batch: dict[Key, Used]) -> int:
    """Add the batch to the rows, all of it or nothing (NotWritten); return the number of fetches.

    In one order, so that processes that write at the same time take turns.
    """
    served: dict[tuple[int, date], list[int]] = {}
    try:
        with transaction.atomic():
            for (host, digest, filename), used in sorted(batch.items()):
                rows = UpstreamPackage.objects.filter(
                    digest=digest, filename=filename, version__provider__upstream__host=host
                )
                found = list(rows.order_by("pk").values_list("pk", "size", "version__provider__upstream"))
                for pk, _, _ in found:
                    UpstreamPackage.objects.filter(pk=pk).update(uses=F("uses") + used.times, used_at=used.at)
                for _, size, upstream in found[:1]:  # a host is one upstream, and equal digests are of one size
                    sums = served.setdefault((upstream, used.at.date()), [0, 0])
                    sums[0] += used.times
                    sums[1] += used.times * (size or 0)
            for (upstream, day), (packages, size) in sorted(served.items()):
                traffic.add_served(upstream, day, packages, size)
    except database_availability.AWAY as error:
        raise NotWritten(str(error)) from error
    return sum(used.times for used in batch.values())


_unwritten: WriteBehind[Key, Used] = WriteBehind(
    "package-uses", write=write, merge=Used.add, every=WRITE_EVERY, most=MOST_PACKAGES, rest=connections.close_all
)
flush, start = _unwritten.flush, _unwritten.start


def record(host: str, digest: str, filename: str) -> None:
    _unwritten.add((host, digest, filename), Used(1, timezone.now()))
