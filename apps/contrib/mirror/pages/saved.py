"""The section of the page Traffic that says what the mirror spared other registries, and the line to them."""

from datetime import date
from typing import Any

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror import traffic
from apps.contrib.mirror.asking import upstreams


def section(viewer: Viewer, days: tuple[date, date]) -> dict[str, Any] | None:
    if viewer.user is None or not viewer.user.has_perm(upstreams.VIEW):
        return None
    found = traffic.exchanges(*days)
    return {"exchanges": found, "saved": sum(one.saved_bytes for one in found)} if found else None
