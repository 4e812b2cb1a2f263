"""What tools really write: every kind of place, rule, message and outcome that recorded reports have."""

import json
from typing import Any

from apps.contrib.checks.models import Report as Row
from apps.contrib.checks.reading import child
from apps.contrib.checks.tests import samples
from tests.rows import for_each_row


def of_run(**run: Any) -> bytes:
    """SARIF of one result about `main.tf`, with more in its run."""
    return json.dumps({"version": "2.1.0", "runs": [{"results": [samples.result()], **run}]}).encode()


@for_each_row(
    ("location", "run", "file"),
    [
        ({"uri": "a%20b/main.tf"}, {}, "a b/main.tf"),
        ({"uri": "./a/../main.tf"}, {}, "main.tf"),
        ({"uri": "sub\\main.tf"}, {}, "sub/main.tf"),
        ({"uri": "../main.tf"}, {}, "../main.tf"),
        ({"uri": "file:///w/vpc/main.tf"}, {}, "/w/vpc/main.tf"),
        ({"uri": "file:///w/vpc/main.tf"}, {"originalUriBaseIds": {"ROOT": {"uri": "file:///w/vpc/"}}}, "main.tf"),
        ({"uri": "file:///w/vpc/a/main.tf"}, {"invocations": [{"workingDirectory": {"uri": "/w/vpc"}}]}, "a/main.tf"),
        ({"uri": "main.tf", "uriBaseId": "SRC"}, {"originalUriBaseIds": {"SRC": {"uri": "src/"}}}, "src/main.tf"),
        ({"uri": "main.tf", "uriBaseId": "ROOT"}, {"originalUriBaseIds": {"ROOT": {"uri": "file:///w/"}}}, "main.tf"),
        ({"index": 1}, {"artifacts": [{}, {"location": {"uri": "b.tf"}}]}, "b.tf"),
        ({}, {}, ""),
    ],
)
def test_a_finding_names_its_file_below_the_folder_that_was_scanned(location, run, file):
    result = samples.result(locations=[{"physicalLocation": {"artifactLocation": location}}])

    assert child.read(of_run(results=[result], **run)).findings[0].file == file


RULE = {"id": "R1", "helpUri": "https://r.example.com", "defaultConfiguration": {"level": "note"}}
DRIVER = {"tool": {"driver": {"name": "lint", "rules": [{"id": "R0"}, RULE]}}}
EXTENDED = {"tool": {"driver": {"name": "lint"}, "extensions": [{}, {"rules": [RULE]}]}}


@for_each_row(
    ("tool", "result"),
    [
        (DRIVER, {"ruleId": "R1"}),
        (DRIVER, {"ruleId": "R1/part"}),
        (DRIVER, {"ruleIndex": 1}),
        (DRIVER, {"rule": {"id": "R1"}}),
        (EXTENDED, {"ruleId": "R1"}),
        (EXTENDED, {"rule": {"index": 0, "toolComponent": {"index": 1}}}),
    ],
)
def test_the_rule_of_a_finding_gives_it_its_level_and_link(tool, result):
    [finding] = child.read(of_run(results=[{"message": {"text": "m"}, **result}], **tool)).findings

    assert (finding.rule, finding.severity, finding.url, finding.line) == ("R1", "low", "https://r.example.com", 0)


KICS = {
    "id": "c757c6a3-ac87-4b9d-b28d-e5a5add6a315",
    "name": "EBS Volume Encryption Disabled",
    "defaultConfiguration": {"level": "error"},
    "helpUri": "https://kics.example.com/1",
}
TRIVY = {
    "id": "AVD-AWS-0026",
    "name": "Misconfiguration",
    "defaultConfiguration": {"level": "error"},
    "properties": {"precision": "very-high", "security-severity": "9.5", "tags": ["misconfiguration", "CRITICAL"]},
}
SNYK = {
    "id": "SNYK-CC-TF-3",
    "defaultConfiguration": {"level": "error"},
    "properties": {"tags": ["security"], "problem": {"severity": "critical"}},
}


@for_each_row(
    ("rule", "result", "shown"),
    [
        (KICS, {"ruleIndex": 0, "kind": "fail"}, ("EBS Volume Encryption Disabled", "high")),
        (TRIVY, {"level": "error"}, ("AVD-AWS-0026", "critical")),
        (SNYK, {}, ("SNYK-CC-TF-3", "critical")),
    ],
)
def test_each_scanner_has_its_way_to_name_a_rule_and_its_severity(rule, result, shown):
    one = {"ruleId": rule["id"], "message": {"text": "m"}, **result}
    [finding] = child.read(of_run(results=[one], tool={"driver": {"name": "x", "rules": [rule]}})).findings

    assert (finding.rule, finding.severity) == shown


def test_a_message_may_be_that_of_its_rule_with_arguments():
    rule = {"id": "R1", "messageStrings": {"bad": {"text": "{0} is {1}"}}, "shortDescription": {"text": "Title"}}
    said = [{"id": "bad", "arguments": ["x", "open"]}, {"markdown": "**m**"}, {}]
    results = [{"ruleId": "R1", "message": one} for one in said]

    report = child.read(of_run(results=results, tool={"driver": {"name": "lint", "rules": [rule]}}))

    assert [one.message for one in report.findings] == ["x is open", "**m**", "Title"]


def test_a_tool_that_did_not_end_well_has_not_passed():
    notes = [{"level": "error", "message": {"text": "no plugin"}}]
    broken = [{"executionSuccessful": False, "toolExecutionNotifications": notes}]

    report = child.read(of_run(results=[], invocations=broken))

    assert (report.state, report.summary) == ("failed", "The tool did not end well. no plugin")


def test_several_runs_are_one_report_of_the_tools_that_found_something():
    runs = [
        {"tool": {"driver": {"name": name, "version": "0.60"}}, "results": found}
        for name, found in (("tflint", [samples.result()]), ("tflint-errors", []), ("other", [samples.result()]))
    ]

    report = child.read(json.dumps({"version": "2.1.0", "runs": runs}).encode())

    assert (report.tool, report.tool_version, len(report.findings)) == ("tflint, other", "0.60", 2)


@for_each_row(
    ("suites", "state", "runs"),
    [
        (
            b'<testsuite name="a"><testsuite name="b"><testcase name="x"/></testsuite><testcase name="y"/></testsuite>',
            "passed",
            [("x", "b", "passed"), ("y", "a", "passed")],
        ),
        (
            b'<testsuite><testcase name="x"><error message="e"/><skipped/></testcase></testsuite>',
            "failed",
            [("x", "", "failed")],
        ),
        (b'<testsuite><testcase name="x"><skipped/></testcase></testsuite>', "passed", [("x", "", "skipped")]),
        (b'<testsuite errors="1"><testcase name="x"/></testsuite>', "failed", [("x", "", "passed")]),
        (b'<testsuite errors="0" failures=""><testcase name="x"/></testsuite>', "passed", [("x", "", "passed")]),
    ],
)
def test_suites_of_junit_may_be_nested_skipped_and_broken(suites, state, runs):
    report = child.read(b"<testsuites>" + suites + b"</testsuites>")

    assert (report.state, [(one.name, one.group, one.state) for one in report.runs]) == (state, runs)


RUN = {"@testfile": "a.tftest.hcl", "@testrun": "made"}
PASSED: dict[str, Any] = {
    "type": "test_run",
    "test_run": {"path": "a.tftest.hcl", "run": "made", "status": "pass"},
}
SUMMARY = {"type": "test_summary", "test_summary": {"status": "pass", "passed": 1}}


def said(severity: str, **place: str) -> dict[str, Any]:
    return {"type": "diagnostic", **place, "diagnostic": {"severity": severity, "summary": "Left", "detail": "it"}}


@for_each_row(
    ("lines", "state", "summary", "line"),
    [
        ([PASSED, said("warning", **RUN), SUMMARY], "passed", "Warning: Left: it", "1 of 1 test passed"),
        ([PASSED, said("error", **RUN), SUMMARY], "failed", "Left: it", "Left: it"),
        ([said("error")], "failed", "Left: it", "Left: it"),
        (
            [PASSED, {**PASSED, "test_run": {**PASSED["test_run"], "run": "b", "status": "skip"}}, SUMMARY],
            "passed",
            "",
            "1 of 1 test passed, 1 skipped",
        ),
    ],
)
def test_what_a_client_says_beside_its_runs_is_the_summary(lines, state, summary, line):
    content = "\n".join(json.dumps(one) for one in [{"type": "version", "tofu": "1.12.0"}, *lines])
    # As a runner of CI prints it.
    report = child.read(f"[command]/opt/tofu test -json\n{content}\n::debug::exitcode: 0\n".encode())

    assert (report.state, report.summary, report.tool) == (state, summary, "OpenTofu")
    assert Row(format="test", state=state, summary=summary, counts=report.counts).line == line
