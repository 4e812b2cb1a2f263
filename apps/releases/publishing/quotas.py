"""Quotas of a namespace: bytes in storage and versions. Staff set both; 0 is no limit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, Case, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce

from apps.accounts.models import Namespace
from apps.accounts.namespaces import limits_of
from apps.artifacts import repositories
from apps.lib.errors import NotFound, TooLarge
from apps.lib.text.counting import many
from apps.releases.models import LIVE, WORKING, Release, State

# A tombstone keeps its version number for ever and costs nothing.
COUNTED = tuple(state for state in LIVE if state != State.PURGED)
# Stored bytes of a published version, uploaded bytes of one in progress.
STORED = Coalesce(
    Case(When(state=State.PUBLISHED, then=F("size")), default=F("uploaded_size")),
    Value(0),
    output_field=BigIntegerField(),
)
# Bytes of a namespace that rooms above keep: by registry_site/wiring.py.
kept_elsewhere: tuple[Callable[[Namespace], int], ...] = ()


class QuotaFull(TooLarge):
    """The namespace has no room for this. An edge answers 413: to scripts 409 means "exists already"."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Use and limits; a `max_` of 0 is no limit."""

    bytes: int
    versions: int
    max_bytes: int
    max_versions: int


def counted() -> QuerySet[Release]:
    return Release.objects.filter(state__in=COUNTED)


def stored_by(*columns: str) -> QuerySet[Any]:
    """Rank groups of releases by their bytes, the largest first: rows of the columns, `stored` and `versions`."""
    groups = counted().values(*columns).annotate(stored=Sum(STORED), versions=Count("pk"))
    ranked: QuerySet[Any] = groups.order_by("-stored", *columns)
    return ranked


def usage(namespace: Namespace, *, without: Release | None = None) -> Usage:
    """Return use and limits of the namespace, in few queries; the registry's limits if it has none."""
    here = counted().filter(namespace=namespace)
    rows = here if without is None else here.exclude(pk=without.pk)
    found = rows.aggregate(versions=Count("pk"), stored=Sum(STORED))
    max_bytes, max_versions = limits_of(namespace)
    stored = (found["stored"] or 0) + repositories.stored_bytes(namespace, beside=here)
    stored += sum(bytes_of(namespace) for bytes_of in kept_elsewhere)
    return Usage(stored, found["versions"], max_bytes, max_versions)


@dataclass(frozen=True, slots=True)
class Share:
    """The part of one module or provider."""

    kind: str
    name: str
    bytes: int
    versions: int
    is_published: bool


def largest(namespace: Namespace, *, count: int) -> list[Share]:
    """Return the modules and providers with the most bytes."""
    published = Count("pk", filter=Q(state=State.PUBLISHED))
    totals = stored_by("name", "kind").filter(namespace=namespace).annotate(published=published)
    return [
        Share(row["kind"], row["name"], row["stored"], row["versions"], row["published"] > 0) for row in totals[:count]
    ]


def counts(namespace: Namespace) -> dict[str, int]:
    """Count the versions that are published, in progress, and purged."""
    rows = Release.objects.filter(namespace=namespace)
    return rows.aggregate(
        published=Count("pk", filter=Q(state=State.PUBLISHED)),
        working=Count("pk", filter=Q(state__in=WORKING)),
        purged=Count("pk", filter=Q(state=State.PURGED)),
    )


def versions_in(namespace: Namespace) -> str:
    """Describe the versions that prevent the deletion of a namespace; purged ones do not."""
    found = counts(namespace)
    return many(found["published"] + found["working"], "version") if found["published"] + found["working"] else ""


def check(
    namespace: Namespace, *, more_bytes: int = 0, more_versions: int = 0, newcomer: Release | None = None
) -> None:
    """Raise QuotaFull if so much more does not fit. Call it inside the transaction that uses the room.

    `newcomer` is the release that asks and is not counted. The namespace's row stays locked until the transaction ends,
    so that of two uploads at once the second counts the first. (FOR NO KEY UPDATE on PostgreSQL: FOR UPDATE would block
    every new row that refers to the namespace. SQLite has one writer anyway.)
    """
    row = Namespace.objects.select_for_update(no_key=True).filter(pk=namespace.pk).first()
    if row is None:
        raise NotFound(f"The namespace {namespace.name} was deleted.", hint="Create it again first.")
    if not any(limits_of(row)):
        return
    used = usage(row, without=newcomer)
    if used.max_versions and used.versions + more_versions > used.max_versions:
        raise _full(row, f"its quota is {many(used.max_versions, 'version')}, and it has {used.versions:,}")
    if used.max_bytes and used.bytes + more_bytes > used.max_bytes:
        this = f", and this one has {more_bytes:,}" if more_bytes > 1 else ""
        raise _full(row, f"its quota is {many(used.max_bytes, 'byte')}, {used.bytes:,} are used{this}")


def require_bytes(namespace: Namespace, more_bytes: int, *, counted: QuerySet[Any] | None = None) -> None:
    """Like `check`, for bytes without a release, unless they have a row that is `counted` already.

    Locks nothing if there is no limit.
    """
    if any(limits_of(namespace)) and not (counted is not None and counted.exists()):
        check(namespace, more_bytes=more_bytes)


def _full(namespace: Namespace, why: str) -> QuotaFull:
    return QuotaFull(
        f"The namespace {namespace.name} has no room for this: {why}.",
        hint="Ask staff for a larger quota, or to purge versions you don't need; the namespace's usage page shows the "
        "largest modules.",
    )
