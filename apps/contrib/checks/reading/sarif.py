"""SARIF 2.1.0, as Trivy, Checkov, KICS, tflint, Snyk and others write it. The numbers of sections are those of the
standard, https://docs.oasis-open.org/sarif/sarif/v2.1.0/.
"""

import posixpath
import re
from typing import Any
from urllib.parse import unquote

from apps.contrib.checks.reading import shape
from apps.contrib.checks.reading.shape import BadReport, Finding, Report, object_of, objects

# Of the property that GitHub defined, the most severe first.
_SCORES = ((9.0, shape.CRITICAL), (7.0, shape.HIGH), (4.0, shape.MEDIUM), (0.0, shape.LOW))
_LEVELS = {"error": shape.HIGH, "warning": shape.MEDIUM, "note": shape.LOW, "none": shape.INFO}
_NAMED = {one: one for one in shape.SEVERITIES} | {"moderate": shape.MEDIUM, "negligible": shape.INFO}
_NAMED |= {"error": shape.HIGH, "warning": shape.MEDIUM, "informational": shape.INFO}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_FINDING = {"pass", "notApplicable", "informational", "open"}
Document = dict[str, Any]


def read(document: Document) -> Report:
    """Raises BadReport."""
    version = shape.text(document.get("version")) or "none"
    if not version.startswith("2.1"):
        raise BadReport(f"SARIF of version {version[:20]!a}, expected 2.1.0")
    runs = objects(document.get("runs"))
    if not runs:
        raise BadReport("SARIF without a run, expected at least one entry in `runs`")
    drivers = [object_of(object_of(run.get("tool")).get("driver")) for run in runs]
    # tflint has a second tool for its own errors, which mostly has none.
    named = [one for one, run in zip(drivers, runs, strict=True) if run.get("results")] or drivers[:1]
    report = Report(
        "sarif",
        tool=", ".join(dict.fromkeys(shape.text(one.get("name")) for one in named)),
        tool_version=next(filter(None, (one.get("semanticVersion") or one.get("version") for one in drivers)), ""),
    )
    for run, driver in zip(runs, drivers, strict=True):
        _read_run(run, driver, report)
    report.state = shape.state_of(report.findings)
    broken = [one for run in runs for one in objects(run.get("invocations")) if one.get("executionSuccessful") is False]
    if broken:  # what it has not found proves nothing
        notes = [note for one in broken for note in objects(one.get("toolExecutionNotifications"))]
        said = "; ".join(filter(None, (shape.text(object_of(note.get("message")).get("text")) for note in notes)))
        report.state, report.summary = shape.FAILED, shape.text(f"The tool did not end well. {said}", shape.MAX_MESSAGE)
    return report


def _read_run(run: Document, driver: Document, report: Report) -> None:
    tool = object_of(run.get("tool"))
    rules = [rule for one in (driver, *objects(tool.get("extensions"))) for rule in objects(one.get("rules"))]
    known = {rule["id"]: rule for rule in rules if isinstance(rule.get("id"), str)}
    for result in objects(run.get("results")):
        is_suppressed = any(one.get("status", "accepted") == "accepted" for one in objects(result.get("suppressions")))
        if is_suppressed or result.get("kind") in _NO_FINDING or result.get("baselineState") == "absent":
            continue
        rule = _rule_of(result, tool, known)
        places = objects(result.get("locations"))
        physical = object_of(places[0].get("physicalLocation")) if places else {}
        finding = Finding(
            _name(rule.get("id") or result.get("ruleId"), rule),
            _severity(result, rule),
            _message(object_of(result.get("message")), rule),
            _file(object_of(physical.get("artifactLocation")), run),
            object_of(physical.get("region")).get("startLine", 0),
            rule.get("helpUri", ""),
        )
        report.add(finding)


def _rule_of(result: Document, tool: Document, known: dict[str, Document]) -> Document:
    """3.52: by its id, of which a result may name a part (`CA1/2` is of CA1), or by its place in the list of a tool."""
    reference = object_of(result.get("rule"))
    by_id = result.get("ruleId") or reference.get("id")
    if isinstance(by_id, str) and (rule := known.get(by_id) or known.get(by_id.rpartition("/")[0])):
        return rule
    extension = _at(tool.get("extensions"), object_of(reference.get("toolComponent")).get("index"))
    component = extension or object_of(tool.get("driver"))
    return _at(component.get("rules"), result.get("ruleIndex", reference.get("index"))) or {"id": by_id}


def _name(by_id: Any, rule: Document) -> Any:
    """Its id; of KICS its title, as the id is a UUID."""
    return rule.get("name") or by_id if isinstance(by_id, str) and _UUID.fullmatch(by_id) else by_id


def _at(values: Any, index: Any) -> Document:
    """The object at that place; empty for none, which SARIF writes as -1."""
    is_there = isinstance(values, list) and isinstance(index, int) and 0 <= index < len(values)
    return object_of(values[index]) if is_there else {}


def _message(message: Document, rule: Document) -> Any:
    """3.11: its text, or that of the rule by its id, with the arguments; else the title of the rule."""
    kept = object_of(object_of(rule.get("messageStrings")).get(str(message.get("id"))))
    found = message.get("text") or message.get("markdown") or kept.get("text") or kept.get("markdown")
    arguments = message.get("arguments")
    for number, argument in enumerate(arguments[:20] if isinstance(arguments, list) else []):
        found = shape.paragraph(found).replace(f"{{{number}}}", shape.text(argument))
    # One line: a long one of a rule would come again with each of its findings.
    return found or shape.text(object_of(rule.get("shortDescription")).get("text") or rule.get("name"))


def _file(location: Document, run: Document) -> str:
    """3.4: its path below the folder that was scanned, where the report says which that is."""
    if "uri" not in location:
        location = object_of(_at(run.get("artifacts"), location.get("index")).get("location"))
    path, bases = _path(location), object_of(run.get("originalUriBaseIds"))
    base = _path(object_of(bases.get(str(location.get("uriBaseId")))))
    if path and base and not path.startswith("/") and not base.startswith("/"):
        return posixpath.join(base, path)
    places = [*bases.values(), *(one.get("workingDirectory") for one in objects(run.get("invocations")))]
    folders = [_path(object_of(one)).rstrip("/") + "/" for one in places]
    inside = [one for one in folders if one != "/" and path.startswith(one)]
    return path.removeprefix(max(inside, key=len, default=""))


def _path(location: Document) -> str:
    """Without its scheme and with its characters: `file:///w/a%20b.tf` is `/w/a b.tf`. Others name no file."""
    uri = location.get("uri")
    return shape.path(unquote(uri)) if isinstance(uri, str) else ""


def _severity(result: Document, rule: Document) -> str:
    """The score of the result or its rule; else a word of theirs, else the level."""
    for one in (result, rule):
        properties = object_of(one.get("properties"))
        try:
            score = float(properties.get("security-severity") or 0)
        except (TypeError, ValueError):
            score = 0
        if 0 < score <= 10:  # noqa: PLR2004  # NaN is none
            return next(severity for least, severity in _SCORES if score >= least)
        snyk = object_of(properties.get("problem")).get("severity")
        word = shape.text(properties.get("severity") or properties.get("problem.severity") or snyk).lower()
        if word in _NAMED:
            return _NAMED[word]
    level = result.get("level") or object_of(rule.get("defaultConfiguration")).get("level")
    return _LEVELS.get(level if isinstance(level, str) else "", shape.MEDIUM)
