"""Reports as tools write them, about a small module of ours."""

import json
from pathlib import Path
from typing import Any

# What Checkov 3.3.30 found in `box`, and once its volume was encrypted, and what `tofu test -json` of OpenTofu 1.12.6
# said of it: the bytes of real runs.
RECORDED = Path(__file__).with_name("recorded")
FOUND, FIXED = (RECORDED / f"checkov-{which}.sarif" for which in ("found", "fixed"))
TESTS = RECORDED / "tofu-test.json"


def sarif(*results: dict[str, Any], tool: str = "Checkov", version: str = "3.3.30") -> bytes:
    """As Checkov writes it: every rule has the level error, and no score."""
    rules = [
        {
            "id": one["ruleId"],
            "shortDescription": {"text": one["message"]["text"]},
            "defaultConfiguration": {"level": "error"},
            "helpUri": f"https://docs.example.com/{one['ruleId']}",
        }
        for one in results
    ]
    driver = {"name": tool, "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "results": list(results)}
    return json.dumps({"version": "2.1.0", "$schema": "sarif-2.1.0", "runs": [run]}).encode()


def result(rule: str = "CKV_AWS_1", text: str = "Ensure it is encrypted", **more: Any) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": more.pop("file", "main.tf")}, "region": {"startLine": more.pop("line", 1)}}
    found = {"ruleId": rule, "level": "error", "message": {"text": text}}
    return {**found, "locations": [{"physicalLocation": place}], **more}


CLEAN = sarif()
FINDINGS = sarif(result(), result("CKV_AWS_2", "Ensure it is logged", level="note", file="modules/a/main.tf", line=3))

JUNIT = b"""<?xml version="1.0"?>
<testsuites><testsuite name="plan"><testcase name="one" classname="vpc"/>
<testcase name="two"><failure message="it differs">got &lt;b&gt; at main.tf</failure></testcase>
<testcase name="three"><skipped/></testcase></testsuite></testsuites>"""


def run_lines(*, fails: bool = False) -> bytes:
    """What `terraform test -json` writes for a module with two runs."""
    status = "fail" if fails else "pass"
    path, run = "tests/label.tftest.hcl", "is_upper"
    lines: list[dict[str, Any]] = [
        {"type": "version", "terraform": "1.11.4", "ui": "1.2"},
        {"type": "test_abstract", "test_abstract": {path: ["labels", run]}},
        {"type": "test_run", "test_run": {"path": path, "run": "labels", "progress": "starting"}},
        {"type": "test_run", "test_run": {"path": path, "run": "labels", "progress": "complete", "status": "pass"}},
        {"type": "test_run", "test_run": {"path": path, "run": run, "progress": "complete", "status": status}},
    ]
    if fails:
        place = {"filename": path, "start": {"line": 14, "column": 1}}
        said = {"severity": "error", "summary": "Test assertion failed", "detail": "expected capital letters"}
        lines.append({"type": "diagnostic", "@testfile": path, "@testrun": run, "diagnostic": {**said, "range": place}})
    counts = {"passed": 2 - fails, "failed": int(fails), "errored": 0, "skipped": 0}
    lines.append({"type": "test_summary", "test_summary": {"status": status, **counts}})
    return "\n".join(json.dumps(one) for one in lines).encode()


def plain(state: str = "passed", **more: str) -> bytes:
    return json.dumps({"state": state, **more}).encode()
