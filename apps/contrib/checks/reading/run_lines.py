"""The lines of JSON of `tofu test -json` and `terraform test -json`."""

from typing import Any

from apps.contrib.checks.reading import shape
from apps.contrib.checks.reading.shape import FAILED, PASSED, BadReport, Report, Run, object_of

_STATES = {"pass": PASSED, "fail": FAILED, "error": FAILED, "skip": "skipped"}
_TYPES = ("version", "test_abstract", "test_file", "test_run", "test_summary")
Document = dict[str, Any]


def is_one(lines: list[Document]) -> bool:
    return any(line.get("type") in _TYPES for line in lines)


def read(lines: list[Document]) -> Report:
    """The state is the client's verdict: warnings do not change it. But a client that left behind what a run has made
    has failed, as Terraform says and OpenTofu does not. Raises BadReport.
    """
    report, runs = Report("test"), dict[tuple[str, str], Run]()
    warnings, problems = list[str](), list[str]()
    summary: Document = {}
    for line in lines:
        kind = line.get("type")
        if kind == "version":
            report.tool = "OpenTofu" if "tofu" in line else "Terraform"
            report.tool_version = shape.text(line.get("tofu") or line.get("terraform"), shape.MAX_VERSION)
        elif kind == "test_run":
            _take_run(object_of(line.get("test_run")), runs, report)
        elif kind == "diagnostic":
            found = object_of(line.get("diagnostic"))
            run = runs.get((shape.text(line.get("@testfile")), shape.text(line.get("@testrun"))))
            if found.get("severity") != "error":
                warnings.append(f"Warning: {_words(found)}")
            elif run is not None and run.state == FAILED:
                _explain(run, found)
            else:  # before the first run, or when what a run has made was removed
                problems.append(_words(found))
        elif kind == "test_summary":
            summary = object_of(line.get("test_summary"))
    # A configuration that cannot be loaded has problems, and no summary.
    if not (summary or problems):
        raise BadReport("output without its summary, expected all lines of `tofu test -json` or `terraform test -json`")
    if not runs and not problems:
        raise BadReport("output without a single test run, expected the tests of the module")
    has_passed = summary.get("status") in ("pass", "skip") and all(run.state != FAILED for run in runs.values())
    report.state = PASSED if has_passed and not problems else FAILED
    report.summary = shape.text("; ".join(one.rstrip(".") for one in problems + warnings), shape.MAX_MESSAGE)
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
    place = object_of(found.get("range"))
    if not run.message:
        run.file = shape.path(place.get("filename"))
        run.line = shape.number(object_of(place.get("start")).get("line"))
    run.message = "\n".join(filter(None, (run.message, _words(found))))[: shape.MAX_MESSAGE]


def _words(found: Document) -> str:
    said = filter(None, (shape.paragraph(found.get(name)) for name in ("summary", "detail")))
    return ": ".join(said)
