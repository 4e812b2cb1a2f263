"""For portal/version/configurations.html: what pipelines reported, with the names that an owner may read."""

from dataclasses import dataclass

from django.db.models import QuerySet

from apps.accounts.access.gate import Viewer
from apps.modules.dependents import configurations
from apps.modules.models import ConfigurationUse

MAX_REPORTS = 100


@dataclass(frozen=True, slots=True)
class Reports:
    """The newest reports, and how many there are. Each has its reporter, empty for an account of a hidden team."""

    rows: list[tuple[ConfigurationUse, str]]
    count: int


def reports_of(viewer: Viewer, reported: QuerySet[ConfigurationUse]) -> Reports:
    rows = list(reported[:MAX_REPORTS])
    named = configurations.reporter_names(viewer, {one.configuration.reporter for one in rows})
    count = len(rows) if len(rows) < MAX_REPORTS else reported.count()
    return Reports([(one, named.get(one.configuration.reporter_id, "")) for one in rows], count)
