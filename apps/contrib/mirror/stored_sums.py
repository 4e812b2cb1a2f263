"""The number of stored packages of each upstream, and their size with their docs: a row for each, so that no page adds
them up.

Whatever gives packages their bytes or docs, or takes them, does so within `changing`. The nightly `recount` says where
a row was wrong: an old version that runs beside a new one knows nothing of it.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import structlog
from django.db import transaction
from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Greatest

from apps.blobs.models import Blob
from apps.contrib.mirror.models import PackageDocs, StoredSum, Upstream, UpstreamPackage

log = structlog.get_logger("larder.upstream")


def stored(upstream: Upstream | int | None = None) -> QuerySet[UpstreamPackage]:
    """Return packages whose bytes are stored, of one upstream or all."""
    rows = UpstreamPackage.objects.filter(blob__isnull=False)
    return rows if upstream is None else rows.filter(version__provider__upstream=upstream)


def used_bytes(upstream: Upstream) -> int:
    """Return how much its packages take; the same bytes count once."""
    return StoredSum.objects.filter(pk=upstream.pk).values_list("bytes", flat=True).first() or 0


@contextmanager
def changing(upstreams: Iterable[int], digests: Collection[str] | QuerySet[UpstreamPackage, str]) -> Iterator[None]:
    """Count what the body changes of the packages with these digests, in the caller's transaction.

    The rows of the upstreams stay locked until it ends, so that what another one stores or drops of the same bytes is
    seen whole or not at all. Take them before versions, packages and blobs: all transactions have this order. A
    queryset of digests is read under the lock.
    """
    keys = lock(upstreams)
    found = set(digests)
    before = {key: _sums(stored(key).filter(digest__in=found)) for key in keys}
    yield
    _drop_docs(PackageDocs.objects.filter(digest__in=found))
    for key, (packages, size) in before.items():
        now_packages, now_size = _sums(stored(key).filter(digest__in=found))
        if (now_packages, now_size) != (packages, size):
            StoredSum.objects.filter(pk=key).update(
                packages=Greatest(F("packages") + now_packages - packages, 0),
                bytes=Greatest(F("bytes") + now_size - size, 0),
            )


def drop_docs() -> int:
    """Delete docs of packages that no upstream stores any longer; return how many."""
    return _drop_docs(PackageDocs.objects.all())


def _drop_docs(docs: QuerySet[PackageDocs]) -> int:
    return docs.exclude(digest__in=stored().values("digest")).delete()[0]


def lock(upstreams: Iterable[int]) -> list[int]:
    """Lock the rows of these upstreams in one order; return their numbers. In the caller's transaction."""
    keys = sorted(set(upstreams))
    rows = StoredSum.objects.select_for_update().filter(pk__in=keys).order_by("pk")
    if len(rows) < len(keys):
        StoredSum.objects.bulk_create([StoredSum(upstream_id=key) for key in keys], ignore_conflicts=True)
        len(rows.all())
    return keys


def recount() -> int:
    """Count everything again; return how many upstreams had a wrong sum. What is stored meanwhile waits."""
    return sum(recount_of(upstream) for upstream in Upstream.objects.order_by("pk"))


@transaction.atomic
def recount_of(upstream: Upstream) -> bool:
    """Count again for one upstream; True if its sum was wrong, which the log says."""
    lock([upstream.pk])
    row = StoredSum.objects.get(pk=upstream.pk)
    was = (row.packages, row.bytes)
    row.packages, row.bytes = _sums(stored(upstream))
    if was == (row.packages, row.bytes):
        return False
    row.save()
    log.warning("stored_sum_corrected", host=upstream.host, packages=row.packages, bytes=row.bytes, was=was)
    return True


def _sums(packages: QuerySet[UpstreamPackage]) -> tuple[int, int]:
    blobs = Blob.objects.filter(pk__in=packages.order_by().values("blob"))
    docs = PackageDocs.objects.filter(digest__in=packages.order_by().values("digest"))
    return packages.count(), sum(int(rows.aggregate(used=Sum("size"))["used"] or 0) for rows in (blobs, docs))
