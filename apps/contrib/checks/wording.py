"""Reports in words, and the marks that lists and pages show."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from apps.contrib.checks.models import Outcome, Report
from apps.contrib.checks.reading import shape
from apps.contrib.checks.reading.shape import SEVERITIES
from apps.releases.catalogue.indexing import RoomFacet
from apps.releases.catalogue.marks import Mark
from apps.releases.models import Release

NONE_SENT = "No checks were sent"
_TONES = {Outcome.PASSED: "ok", Outcome.WARNING: "warn", Outcome.FAILED: "bad"}


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def counted(report: Report) -> str:
    """Say what it counts: `2 high and 1 low findings`, `3 of 4 tests passed`, or its own summary."""
    found = [(report.counts[name], name) for name in SEVERITIES if report.counts.get(name)]
    if found:
        listed = [f"{count:,} {name}" for count, name in found]
        total = sum(count for count, _ in found)
        words = " and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))
        return f"{words} finding{'' if total == 1 else 's'}"
    passed, failed, skipped = (report.counts.get(name, 0) for name in ("passed", "failed", "skipped"))
    if passed or failed or skipped:
        more = f", {skipped:,} skipped" if skipped else ""
        return f"{passed:,} of {many(passed + failed, 'test')} passed{more}"
    return report.summary[:200] or ("No findings" if report.format == "sarif" else "No details")


def state_of(reports: Iterable[Report]) -> str:
    """The worst state of several; empty for none."""
    states = {report.state for report in reports}
    return next((one for one in (Outcome.FAILED, Outcome.WARNING, Outcome.PASSED) if one in states), "")


def line_of(reports: Collection[Report]) -> str:
    """Say it in one line: `3 checks passed`, `2 high findings`, `1 of 3 checks failed`."""
    if not reports:
        return NONE_SENT
    total: Counter[str] = Counter()
    for report in reports:
        total.update({name: report.counts.get(name, 0) for name in SEVERITIES})
    worst = next((name for name in SEVERITIES if total[name]), "")
    if worst:
        return f"{total[worst]:,} {worst} finding{'' if total[worst] == 1 else 's'}"
    for state, did in ((Outcome.FAILED, "failed"), (Outcome.WARNING, "warned")):
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
        number: Mark("checks", line_of(reports), _TONES[Outcome(state_of(reports))], "checks", len(reports))
        for number, reports in found.items()
    }


def _standing(release: Release) -> str:
    return state_of(Report.objects.about(release).newest())


FACET = RoomFacet("checks", "Checks", shape.STATES, _standing)
