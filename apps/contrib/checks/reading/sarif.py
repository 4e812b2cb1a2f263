"""SARIF 2.1.0, as Trivy, Checkov, KICS, tflint, Snyk and others write it."""

from typing import Any
from urllib.parse import unquote

from apps.contrib.checks.reading import shape
from apps.contrib.checks.reading.shape import BadReport, Finding, Report

# Of the property that GitHub defined, the most severe first.
_SCORES = ((9.0, "critical"), (7.0, "high"), (4.0, "medium"), (0.0, "low"))
_LEVELS = {"error": "high", "warning": "medium", "note": "low", "none": "info"}
_NAMED = {"moderate": "medium", "error": "high", "warning": "medium", "informational": "info", "negligible": "info"}
_NO_FINDING = {"pass", "notApplicable", "informational", "open"}
Document = dict[str, Any]


def read(document: Document) -> Report:
    """Raises BadReport."""
    version = shape.text(document.get("version")) or "none"
    if not version.startswith("2.1"):
        raise BadReport(f"SARIF of version {version[:20]!a}, expected 2.1.0")
    runs = shape.objects(document.get("runs"))
    if not runs:
        raise BadReport("SARIF without a run, expected at least one entry in `runs`")
    report = Report("sarif")
    drivers = [shape.object_of(shape.object_of(run.get("tool")).get("driver")) for run in runs]
    report.tool = shape.text(", ".join(dict.fromkeys(shape.text(one.get("name")) for one in drivers)))
    report.tool_version = next(filter(None, map(_version_of, drivers)), "")
    for run, driver in zip(runs, drivers, strict=True):
        _read_run(run, driver, report)
    report.state = shape.state_of(report.findings)
    return report


def _version_of(driver: Document) -> str:
    return shape.text(driver.get("semanticVersion") or driver.get("version"), 60)


def _read_run(run: Document, driver: Document, report: Report) -> None:
    extensions = shape.objects(shape.object_of(run.get("tool")).get("extensions"))
    rules = shape.objects(driver.get("rules"))
    known = {
        rule["id"]: rule
        for one in (driver, *extensions)
        for rule in shape.objects(one.get("rules"))
        if isinstance(rule.get("id"), str)
    }
    for result in shape.objects(run.get("results")):
        if result.get("suppressions") or result.get("kind") in _NO_FINDING or result.get("baselineState") == "absent":
            continue
        report.add(_finding(result, _rule_of(result, rules, known)))


def _rule_of(result: Document, rules: list[Document], known: dict[str, Document]) -> Document:
    by_id = result.get("ruleId") or shape.object_of(result.get("rule")).get("id")
    if isinstance(by_id, str) and by_id in known:
        return known[by_id]
    index = result.get("ruleIndex")
    if isinstance(index, int) and 0 <= index < len(rules):
        return rules[index]
    return {"id": by_id}


def _finding(result: Document, rule: Document) -> Finding:
    message = shape.object_of(result.get("message"))
    places = shape.objects(result.get("locations"))
    physical = shape.object_of(places[0].get("physicalLocation")) if places else {}
    uri = shape.object_of(physical.get("artifactLocation")).get("uri")
    title = shape.object_of(rule.get("shortDescription")).get("text") or rule.get("name")
    return Finding(
        rule=shape.text(rule.get("id") or result.get("ruleId")),
        severity=_severity(result, rule),
        message=shape.paragraph(message.get("text") or message.get("markdown") or title),
        file=shape.path(unquote(uri)) if isinstance(uri, str) else "",
        line=shape.number(shape.object_of(physical.get("region")).get("startLine")),
        url=shape.link(rule.get("helpUri")),
    )


def _severity(result: Document, rule: Document) -> str:
    """The score of the result or its rule; else a word of theirs, else the level."""
    for one in (result, rule):
        properties = shape.object_of(one.get("properties"))
        try:
            score = float(properties.get("security-severity") or 0)
        except (TypeError, ValueError):
            score = 0
        if 0 < score <= 10:  # noqa: PLR2004  # NaN is none
            return next(severity for least, severity in _SCORES if score >= least)
        word = shape.text(properties.get("severity") or properties.get("problem.severity")).lower()
        if (word := _NAMED.get(word, word)) in shape.SEVERITIES:
            return word
    level = result.get("level") or shape.object_of(rule.get("defaultConfiguration")).get("level")
    return _LEVELS.get(level if isinstance(level, str) else "", "medium")
