"""Sums of a month, made in SQL: a page costs the same for ten accounts and ten thousand."""

from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from apps.accounts.models import ApiToken
from apps.contrib.traffic.models import AccountTraffic, TeamTraffic


@dataclass(frozen=True, slots=True)
class Month:
    first: date

    @property
    def last(self) -> date:
        return self.first.replace(day=monthrange(self.first.year, self.first.month)[1])

    @property
    def days(self) -> list[date]:
        return [self.first + timedelta(days=number) for number in range(self.last.day)]

    @property
    def before(self) -> "Month":
        return Month((self.first - timedelta(days=1)).replace(day=1))

    @property
    def after(self) -> "Month":
        return Month(self.last + timedelta(days=1))

    def __str__(self) -> str:
        return f"{self.first:%Y-%m}"

    @classmethod
    def parse(cls, text: str, *, today: date) -> "Month":
        """Return the month of a text like 2026-11; that of today for another text, and for one in the future."""
        try:
            found = date.fromisoformat(f"{text}-01")
        except ValueError:
            found = today
        return cls(min(found, today).replace(day=1))

    def rows_of(self, model: Any) -> QuerySet[Any]:
        rows: QuerySet[Any] = model.objects.filter(day__gte=self.first, day__lte=self.last)
        return rows


def totals(month: Month) -> dict[str, int]:
    """Return the downloads and bytes of a month, how many accounts these were, and what was without a token."""
    nobody = Q(account=None)
    found: dict[str, int] = month.rows_of(AccountTraffic).aggregate(
        anonymous=Sum("downloads", default=0, filter=nobody),
        accounts=Count("account", distinct=True),
        downloads=Sum("downloads", default=0),
        bytes=Sum("bytes", default=0),
    )
    return found


def by_day(month: Month, measure: str) -> list[int]:
    sums = dict(month.rows_of(AccountTraffic).order_by().values_list("day").annotate(found=Sum(measure)))
    return [sums.get(day, 0) for day in month.days]


def _summed(rows: QuerySet[Any], fields: Iterable[str], measure: str) -> QuerySet[Any, dict[str, Any]]:
    sums = {f"{name}_sum": Sum(name) for name in ("downloads", "bytes")}
    found: QuerySet[Any, dict[str, Any]] = rows.values(*fields).annotate(**sums)
    return found.order_by(f"-{measure}_sum", *fields)


def by_team(month: Month, measure: str) -> QuerySet[Any, dict[str, Any]]:
    return _summed(month.rows_of(TeamTraffic), ["team__name"], measure)


def by_account(month: Month, measure: str) -> QuerySet[Any, dict[str, Any]]:
    return _summed(month.rows_of(AccountTraffic), ["account__username", "account__is_service"], measure)


def by_token(month: Month, measure: str) -> QuerySet[Any, dict[str, Any]]:
    rows = month.rows_of(AccountTraffic).filter(account__isnull=False)
    return _summed(rows, ["account__username", "token"], measure)


def labels_of(tokens: Iterable[int]) -> Mapping[int, ApiToken]:
    """Return the tokens with these numbers that still exist."""
    return ApiToken.objects.only("label", "start").in_bulk(set(tokens))
