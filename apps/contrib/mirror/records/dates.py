"""When a registry says that a version was published: in its list, or on pages beside the protocol.

The OpenTofu registry's lists have `discovered`, when its indexer first saw a version; those of Larder `published_at`.
registry.terraform.io's lists have no dates, but the pages that its site reads do: all versions in one answer of
JSON:API (v2, `published-at`), and the details of one version (v1, `published_at`). Update bots read the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import structlog
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from apps.contrib.mirror.asking import registry_calls
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream
from apps.contrib.mirror.policy import evaluation

MAX_BYTES = 16 * 1024 * 1024
MAX_DETAILS = 5  # versions whose page is asked for, the highest first
# A date that lies further ahead is no date: a version would be held back for as long.
CLOCK_MAY_DIFFER = timedelta(days=1)
# Terraform is not older. What programs write for "no date", such as the year 1 or 1970, is none.
FIRST = datetime(2014, 1, 1, tzinfo=UTC)
_FIELDS = ("discovered", "published_at", "published-at")
_LIST = "/versions"

log = structlog.get_logger("larder.upstream")


@dataclass(frozen=True, slots=True)
class Pages:
    """`v1`: the end of the base URL that discovery names. `included`: the kind of resource that has the dates in v2."""

    v1: str
    v2: str
    included: str


PROVIDERS = Pages("/v1/providers/", "/v2/providers/", "provider-versions")
MODULES = Pages("/v1/modules/", "/v2/modules/", "module-versions")


def stated(entry: Mapping[str, Any]) -> datetime | None:
    """Return the earliest date that an entry states; None without one."""
    return earliest(*(moment_of(entry.get(name)) for name in _FIELDS))


def earliest(*found: datetime | None) -> datetime | None:
    return min((one for one in found if one is not None), default=None)


def moment_of(text: Any) -> datetime | None:
    """Return the date that a registry says, None for what is none or lies in the future."""
    if not isinstance(text, str):
        return None
    try:
        found = parse_datetime(text)
        if found is None and (day := parse_date(text)) is not None:
            found = datetime(day.year, day.month, day.day)  # noqa: DTZ001  # below
    except ValueError:
        return None
    if found is None:
        return None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return found if FIRST <= found <= timezone.now() + CLOCK_MAY_DIFFER else None


def asked(upstream: Upstream, url: str, pages: Pages, undated: Mapping[str, bytes]) -> dict[bytes, datetime] | None:
    """Return dates by sort key, None if the registry could not be asked: then no version counts as old for now.

    `url` is that of the list, `undated` the sort keys of versions by their number. Nothing is asked where no rule looks
    at the age.
    """
    days = evaluation.longest_days(upstream)
    base = url.removesuffix(_LIST)
    if not undated or not days or base == url:
        return {}
    try:
        return _of_all(upstream, base, pages, undated) or _of_highest(
            upstream, base, undated, timezone.now() - timedelta(days=days)
        )
    except FetchFailed as failure:
        log.warning("upstream_dates_unknown", url=failure.url, code=failure.code)
        return {} if failure.is_final else None


def _of_all(upstream: Upstream, base: str, pages: Pages, undated: Mapping[str, bytes]) -> dict[bytes, datetime]:
    root, is_v1, address = base.partition(pages.v1)
    if not is_v1:
        return {}
    body = registry_calls.get_page(upstream, f"{root}{pages.v2}{address}?include={pages.included}", max_bytes=MAX_BYTES)
    included = body.get("included") if body else None
    found = {}
    for one in included if isinstance(included, list) else ():
        said = one.get("attributes") if isinstance(one, dict) and one.get("type") == pages.included else None
        if not isinstance(said, dict):
            continue
        key, at = undated.get(str(said.get("version")).removeprefix("v")), stated(said)
        if key is not None and at is not None:
            found[key] = at
    return found


def _of_highest(upstream: Upstream, base: str, undated: Mapping[str, bytes], young: datetime) -> dict[bytes, datetime]:
    """Down to the first version that is older than any rule asks for, or has no page."""
    found: dict[bytes, datetime] = {}
    for number, key in sorted(undated.items(), key=lambda item: item[1], reverse=True)[:MAX_DETAILS]:
        body = registry_calls.get_page(upstream, f"{base}/{quote(number, safe='')}", max_bytes=MAX_BYTES)
        at = stated(body) if body else None
        if at is None:
            break
        found[key] = at
        if at < young:
            break
    return found
