"""The lines of JSON of `tofu test -json` and `terraform test -json`."""

from typing import Any

from apps.contrib.checks.reading import shape
from apps.contrib.checks.reading.shape import FAILED, PASSED, WARNING, BadReport, Report, Run

_STATES = {"pass": "passed", "fail": "failed", "error": "failed", "skip": "skipped"}
_TYPES = ("version", "test_abstract", "test_file", "test_run", "test_summary")
Document = dict[str, Any]


def is_one(lines: list[Document]) -> bool:
    return any(line.get("type") in _TYPES for line in lines)


def read(lines: list[Document]) -> Report:
    """Raises BadReport."""
    report, runs = Report("test"), dict[tuple[str, str], Run]()
    has_warnings, problems = False, list[str]()
    summary: Document = {}
    for line in lines:
        kind = line.get("type")
        if kind == "version":
            report.tool = "OpenTofu" if "tofu" in line else "Terraform"
            report.tool_version = shape.text(line.get("tofu") or line.get("terraform"), 60)
        elif kind == "test_run":
            _take_run(shape.object_of(line.get("test_run")), runs, report)
        elif kind == "diagnostic":
            found = shape.object_of(line.get("diagnostic"))
            key = shape.text(line.get("@testfile")), shape.text(line.get("@testrun"))
            if found.get("severity") != "error":
                has_warnings = True
            elif key in runs:
                _explain(runs[key], found)
            else:
                problems.append(_words(found))
        elif kind == "test_summary":
            summary = shape.object_of(line.get("test_summary"))
    # A configuration that cannot be loaded has problems, and no summary.
    if not (summary or problems):
        raise BadReport("output without its summary, expected all lines of `tofu test -json` or `terraform test -json`")
    if not runs and not problems:
        raise BadReport("output without a single test run, expected the tests of the module")
    failed = summary.get("status") not in ("pass", "skip") or any(run.state == FAILED for run in runs.values())
    report.state = FAILED if failed or problems else WARNING if has_warnings else PASSED
    report.summary = shape.text("; ".join(problems), shape.MAX_MESSAGE)
    return report


def _take_run(found: Document, runs: dict[tuple[str, str], Run], report: Report) -> None:
    """A run that has ended; those before say that it is starting. Older clients do not say which."""
    state = _STATES.get(shape.text(found.get("status")))
    key = shape.text(found.get("path")), shape.text(found.get("run"))
    if state is None:
        return
    if key not in runs:
        runs[key] = Run(key[1], state, group=key[0])
        report.add(runs[key])
    runs[key].state = state


def _explain(run: Run, found: Document) -> None:
    place = shape.object_of(found.get("range"))
    if not run.message:
        run.file = shape.path(place.get("filename"))
        run.line = shape.number(shape.object_of(place.get("start")).get("line"))
    run.message = "\n".join(filter(None, (run.message, _words(found))))[: shape.MAX_MESSAGE]


def _words(found: Document) -> str:
    said = filter(None, (shape.paragraph(found.get(name)) for name in ("summary", "detail")))
    return ": ".join(said)
