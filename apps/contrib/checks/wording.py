"""The words that lists, badges and assistants have for a version's reports, and the command that sends one."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from shlex import quote

from django.conf import settings

from apps.contrib.checks.models import TONES, Report
from apps.contrib.checks.reading.shape import FAILED, SEVERITIES, STATES, WARNING
from apps.lib.text.counting import many
from apps.releases.catalogue.indexing import RoomFacet
from apps.releases.catalogue.marks import Mark
from apps.releases.models import Release


def state_of(reports: Iterable[Report]) -> str:
    """The worst state of several; empty for none."""
    states = {report.state for report in reports}
    return next((one for one in reversed(STATES) if one in states), "")


def line_of(reports: Collection[Report]) -> str:
    """Say it in one line: `3 checks passed`, `2 high findings`, `1 of 3 checks failed`."""
    if not reports:
        return "No checks were sent"
    total = sum((Counter(report.counts) for report in reports), Counter[str]())
    worst = next((name for name in SEVERITIES if total[name]), "")
    if worst:
        return many(total[worst], f"{worst} finding")
    for state, did in ((FAILED, "failed"), (WARNING, "warned")):
        if count := sum(report.state == state for report in reports):
            of = f" of {len(reports)}" if len(reports) > count else ""
            return f"{count}{of} check{'' if len(reports) == 1 else 's'} {did}"
    return f"{many(len(reports), 'check')} passed"


def marks(releases: Iterable[int]) -> Mapping[int, Mark]:
    """Return the mark of each of these published releases that has a report; one query for any number."""
    rows = Report.objects.filter(release__in=list(releases), is_newest=True)
    found: dict[int, list[Report]] = {}
    for row in rows.only("release", "state", "counts", "is_newest").order_by("pk"):
        found.setdefault(row.release_id or 0, []).append(row)
    return {
        number: Mark("checks", line_of(reports), TONES[state_of(reports)], "checks", len(reports))
        for number, reports in found.items()
    }


FACET = RoomFacet(
    "checks",
    "Checks",
    STATES,
    lambda release: state_of(Report.objects.about(release).newest()),
    "Only with this worst state of the checks of the default version.",
)


def command_of(release: Release, missing: Sequence[str] = ()) -> str:
    """The command that sends a report, to copy: of the first check in `missing`, where `policy` says of each what the
    release lacks.
    """
    pattern = missing[0].partition(":")[0] if missing else ""
    name = pattern.replace("-*", "-test").replace("*", "").replace("?", "1") or "checkov"
    path = f"/api/v1/{release.kind}s/{release.address}/{release.version}/checks/{name}"
    lines = [
        "curl --fail-with-body --request PUT",
        '--header "Authorization: Bearer $LARDER_TOKEN"',
        f"--upload-file {'results_sarif.sarif' if name == 'checkov' else f'{name}.json'}",
        quote(f"{settings.PUBLIC_URL}{path}"),
    ]
    return " \\\n  ".join(lines)
