"""/traffic: who downloads how much in a month, by team, account and token; for staff. `format=csv` has its days."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.access import operators
from apps.accounts.identity.sessions import session_viewer
from apps.admin_base.export import lines
from apps.contrib.traffic import figures, recording
from apps.contrib.traffic.figures import Month
from apps.contrib.traffic.models import AccountTraffic, TeamTraffic
from apps.portal.frame import charts
from apps.portal.frame.charts import Series
from apps.portal.frame.page_urls import page_of
from apps.portal.frame.sections import sections_of
from apps.portal.templatetags.numbers import bytes_text, grouped

VIEW = "traffic.view_accounttraffic"
PAGE = 50
MEASURES = {"downloads": "Downloads", "bytes": "Bytes"}
GROUPS = {"team": "Teams", "account": "Accounts", "token": "Tokens"}
_ROWS = {"team": figures.by_team, "account": figures.by_account, "token": figures.by_token}
_BY_TOKEN = (AccountTraffic, ("day", "account__username", "account__is_service", "token", "downloads", "bytes"))
_CSV: dict[str, tuple[Any, tuple[str, ...]]] = {
    "team": (TeamTraffic, ("day", "team__name", "downloads", "bytes")),
    "account": _BY_TOKEN,
    "token": _BY_TOKEN,
}


def _one_of(choices: Mapping[str, str], asked: str) -> str:
    return asked if asked in choices else next(iter(choices))


@never_cache
@require_safe
def traffic(request: HttpRequest) -> HttpResponseBase:
    viewer, today = session_viewer(request), timezone.now().date()
    operators.require_everywhere(viewer, VIEW)
    month = Month.parse(request.GET.get("month", ""), today=today)
    by = _one_of(GROUPS, request.GET.get("by", ""))
    if request.GET.get("format") == "csv":
        return _csv(month, by)
    measure = _one_of(MEASURES, request.GET.get("measure", ""))
    page = page_of(_ROWS[by](month, measure), request, size=PAGE)
    rows = list(page.object_list)
    if by == "token":
        known = figures.labels_of(row["token"] for row in rows if row["token"])
        rows = [row | {"shown": known.get(row["token"])} for row in rows]
    context: dict[str, Any] = {
        "month": month,
        "oldest": Month.parse(str(today - recording.KEPT)[:7], today=today),
        "newest": Month.parse("", today=today),
        "by": by,
        "groups": GROUPS,
        "measure": measure,
        "measures": MEASURES,
        "totals": figures.totals(month),
        "page": page,
        "rows": rows,
        "chart": _chart(month, measure),
        "kept_days": recording.KEPT.days,
        "max_tokens": recording.MAX_TOKENS,
        "sections": sections_of("traffic", viewer, (month.first, month.last)),
    }
    return render(request, "portal/traffic/traffic.html", context)


def _chart(month: Month, measure: str) -> dict[str, Any]:
    worded: Any = bytes_text if measure == "bytes" else grouped
    days, values = month.days, figures.by_day(month, measure)
    series = [Series(MEASURES[measure], values)]
    title = f"{MEASURES[measure]} by day in {month.first:%B %Y}: {worded(sum(values))}"
    top = charts.ceiling(charts.highest(series))
    return {
        "label": MEASURES[measure],
        "picture": charts.bars([f"{day:%-d %b %Y}" for day in days], series, title=title, worded=worded),
        "scale": [worded(top), worded(top // 2), worded(0)],
        "days": days,
        "rows": [(day, worded(value)) for day, value in zip(days, values, strict=True)],
    }


def _csv(month: Month, by: str) -> StreamingHttpResponse:
    """Return the days of the month: of each team, or of each account and token."""
    model, columns = _CSV[by]
    rows = month.rows_of(model).order_by("day", "pk")
    return StreamingHttpResponse(
        lines(rows, columns),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="larder-traffic-{by}-{month}.csv"'},
    )


urlpatterns = [path("traffic", traffic, name="traffic")]
