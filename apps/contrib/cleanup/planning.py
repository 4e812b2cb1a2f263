"""Find what a cleanup rule would do: each published version goes or stays, with the reason."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from django.db.models import Max
from django.utils import timezone

from apps.releases.cleanup_rules import CleanupAction, CleanupRule
from apps.releases.models import DownloadCount, Lifecycle, Release


class Row(NamedTuple):
    """The columns of a release that a rule reads."""

    pk: int
    kind: str
    name: str
    version: str
    lifecycle: str
    published_at: datetime
    lifecycle_at: datetime | None
    cleaned_at: datetime | None

    @property
    def is_prerelease(self) -> bool:
        # The numbers of SemVer have no hyphen.
        return "-" in self.version.partition("+")[0]

    @property
    def was_restored(self) -> bool:
        """A rule took it, and a person took that back."""
        return self.cleaned_at is not None and self.cleaned_at != self.lifecycle_at


@dataclass(frozen=True, slots=True)
class PlannedVersion:
    row: Row
    goes: bool
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The versions by kind and name, newest version first. `digest` names what goes, and how."""

    action: str
    versions: Sequence[PlannedVersion]

    @property
    def going(self) -> list[PlannedVersion]:
        return [planned for planned in self.versions if planned.goes]

    @property
    def digest(self) -> str:
        return digest_of(self.action, (planned.row.pk for planned in self.going))


def digest_of(action: str, releases: Iterable[int]) -> str:
    return hashlib.sha256(" ".join([action, *map(str, releases)]).encode()).hexdigest()


def plan(rule: CleanupRule) -> Plan:
    """Two queries, whatever the number of versions. What is in quarantine is left out: staff decide about it."""
    now = timezone.now()
    releases = Release.objects.published().filter(namespace=rule.namespace)
    found = map(Row._make, releases.order_by("kind", "name", "-sort_key", "-pk").values_list(*Row._fields))
    since = now.date() - timedelta(days=rule.fetched_days)
    counts = DownloadCount.objects.filter(release__namespace=rule.namespace, day__gte=since)
    fetched = dict(counts.order_by().values_list("release").annotate(last=Max("day")))
    versions: list[PlannedVersion] = []
    for _, same in groupby(found, key=lambda row: (row.kind, row.name)):
        versions += _planned(rule, list(same), fetched, now)
    return Plan(rule.action, versions)


def _planned(
    rule: CleanupRule, rows: Sequence[Row], fetched: dict[int, date], now: datetime
) -> Iterable[PlannedVersion]:
    """Those of one module or provider, whose rows come newest first."""
    listed = [row for row in rows if row.lifecycle != Lifecycle.YANKED]
    newest = {row.pk for row in listed[: rule.keep_newest]}
    # The version that people should get: maintained rather than deprecated, stable, newest. It never goes.
    # min() keeps the first of equals, which is the newest.
    last = min(listed, key=lambda row: (row.lifecycle != Lifecycle.MAINTAINED, row.is_prerelease), default=None)
    for row in rows:
        kept = _protection(rule, row, newest, fetched) or ("the default version" if row is last else "")
        if kept:
            yield PlannedVersion(row, goes=False, why=kept)
            continue
        what = "pre-release" if row.is_prerelease else "stable version"
        most = rule.prerelease_days if row.is_prerelease else rule.stable_days
        age = (now - row.published_at).days
        if most is None:
            yield PlannedVersion(row, goes=False, why=f"the rule excludes {what}s")
        elif age < most:
            yield PlannedVersion(row, goes=False, why=f"a {what} of {days(age)}; the rule applies after {days(most)}")
        else:
            why = f"{what} older than {days(most)}, not downloaded for {days(rule.fetched_days)}"
            yield PlannedVersion(row, goes=True, why=why)


def _protection(rule: CleanupRule, row: Row, newest: set[int], fetched: dict[int, date]) -> str:
    if row.lifecycle == Lifecycle.YANKED:
        return "yanked already"
    if row.lifecycle == Lifecycle.DEPRECATED and rule.action == CleanupAction.DEPRECATE:
        return "deprecated already"
    if row.was_restored:
        return "a person restored it after an earlier run"
    if row.pk in newest:
        return "the newest version" if rule.keep_newest == 1 else f"one of the newest {rule.keep_newest}"
    if row.pk in fetched:
        return f"downloaded on {fetched[row.pk]:%Y-%m-%d}, within {days(rule.fetched_days)}"
    return ""


def days(number: int) -> str:
    return f"{number} day{'' if number == 1 else 's'}"
