"""Reports of tools, and what strangers send instead: each is read, or refused with a sentence."""

import json
from typing import Any

import pytest

from apps.contrib.checks.reading import child, shape
from apps.contrib.checks.reading.shape import BadReport
from apps.contrib.checks.tests import samples
from tests.rows import for_each_row


def refusal(content: bytes) -> str:
    with pytest.raises(BadReport) as refused:
        child.read(content)
    return str(refused.value)


def test_sarif_has_its_findings_with_severity_place_and_rule():
    report = child.read(samples.FINDINGS)

    assert (report.format, report.state, report.tool, report.tool_version) == ("sarif", "failed", "Checkov", "3.3.30")
    assert report.counts == {"high": 1, "low": 1}
    first = report.findings[0]
    assert (first.rule, first.message, first.file, first.line) == ("CKV_AWS_1", "Ensure it is encrypted", "main.tf", 1)
    assert first.url == "https://docs.example.com/CKV_AWS_1"


MORE: list[tuple[dict[str, Any], str]] = [
    ({"properties": {"security-severity": "9.8"}}, "critical"),
    ({"properties": {"security-severity": 5.5}, "level": "error"}, "medium"),
    ({"properties": {"security-severity": "0.0"}, "level": "warning"}, "medium"),
    ({"properties": {"security-severity": "nan"}, "level": "none"}, "info"),
    ({"properties": {"severity": "CRITICAL"}, "level": "note"}, "critical"),
    ({"level": ["error"]}, "medium"),
]


@for_each_row(("more", "severity"), MORE)
def test_a_score_comes_before_a_word_and_that_before_the_level(more, severity):
    assert child.read(samples.sarif(samples.result(**more))).findings[0].severity == severity


def test_what_is_suppressed_or_passed_is_no_finding():
    quiet: list[dict[str, Any]] = [
        {"suppressions": [{"kind": "inSource"}]},
        {"kind": "pass"},
        {"baselineState": "absent"},
    ]

    report = child.read(samples.sarif(*(samples.result(**one) for one in quiet)))

    assert (report.state, report.findings) == ("passed", [])
    rejected = samples.result(suppressions=[{"kind": "external", "status": "rejected"}])
    assert child.read(samples.sarif(rejected)).state == "failed"


def test_a_scanner_that_finds_only_little_warns():
    assert child.read(samples.sarif(samples.result(level="note"))).state == "warning"


def test_junit_has_its_tests_with_the_failures_first_words():
    report = child.read(samples.JUNIT)

    assert (report.format, report.state) == ("junit", "failed")
    assert [(run.name, run.group, run.state) for run in report.runs] == [
        ("one", "vpc", "passed"),
        ("two", "plan", "failed"),
        ("three", "plan", "skipped"),
    ]
    assert report.runs[1].message == "it differs\ngot <b> at main.tf"


@for_each_row(("fails", "state", "failed"), [(False, "passed", 0), (True, "failed", 1)])
def test_the_lines_of_a_clients_tests_have_its_runs_and_why_they_fail(fails, state, failed):
    report = child.read(samples.run_lines(fails=fails))

    assert (report.format, report.state, report.tool) == ("test", state, "Terraform")
    assert report.counts.get("failed", 0) == failed
    if fails:
        run = report.runs[1]
        assert (run.file, run.line) == ("tests/label.tftest.hcl", 14)
        assert run.message == "Test assertion failed: expected capital letters"


def test_lines_that_end_early_are_no_result():
    assert "without its summary" in refusal(b"\n".join(samples.run_lines().splitlines()[:-1]))


def test_a_configuration_that_cannot_be_loaded_has_failed():
    error = {"type": "diagnostic", "diagnostic": {"severity": "error", "summary": "Invalid expression"}}
    lines = [{"type": "version", "terraform": "1.11.4"}, error]

    report = child.read("\n".join(json.dumps(one) for one in lines).encode())

    assert (report.state, report.summary, report.runs) == ("failed", "Invalid expression", [])


def test_plain_json_says_its_state_and_where_to_read_more():
    report = child.read(b'{"state": "warning", "summary": "slow", "url": "https://ci.example.com/7"}')

    assert (report.state, report.summary, report.url) == ("warning", "slow", "https://ci.example.com/7")


@for_each_row("encoding", ["utf-8-sig", "utf-16"])
def test_what_powershell_writes_is_read(encoding):
    assert child.read(samples.CLEAN.decode().encode(encoding)).format == "sarif"
    assert child.read(samples.JUNIT.decode().partition("?>")[2].strip().encode(encoding)).format == "junit"


@for_each_row(
    ("content", "words"),
    [
        (b"", "an empty report"),
        (b"\xff\xfe{", "UTF-16"),
        (b'{"state": "\xe9"}', "not UTF-8"),
        (b"nothing", "neither XML nor JSON"),
        (b"[]", "not an object"),
        (b'{"a": 1}\n{"b": 2}', "lines of JSON that no test has written"),
        (b'{"state": "fine"}', "the state 'fine'"),
        (b'{"state": "passed", "colour": "red"}', "the field 'colour'"),
        (b'{"state": "passed", "url": "javascript:alert(1)"}', "expected a web address"),
        (b'{"runs": []}', "SARIF of version 'none'"),
        (b'{"version": "2.1.0", "runs": [7]}', "SARIF without a run"),
        (b'{"n": ' + b"9" * 5000 + b"}", "JSON that cannot be read"),
        (b"[" * 1_000_000, "nested too deeply"),
        (b"<html></html>", "XML that begins with <html>"),
        (b"<testsuite>", "XML that cannot be read"),
        (b"<testsuite/>", "without a test case"),
        (b"<testsuite>" * 60, "more than 50 levels deep"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><testsuite><testcase name="&b;"/></testsuite>', "document type"),
        (b'<?xml version="1.0" encoding="klingon"?><testsuite/>', "XML in the encoding 'klingon'"),
        ('<?xml version="1.0" encoding="shift_jis"?><testsuite/>'.encode("shift_jis"), "in the encoding 'shift_jis'"),
        (b"\x1f\x8b\x08", "a byte at 1 that is not UTF-8"),
    ],
)
def test_what_is_no_report_is_refused_with_what_was_expected(content, words):
    said = refusal(content)

    assert words in said
    assert "expected" in said


def test_more_findings_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(shape, "MAX_FINDINGS", 3)

    assert "more than 3 findings" in refusal(samples.sarif(*[samples.result()] * 4))
    assert "more than 3 tests" in refusal(b"<testsuite>" + b"<testcase/>" * 4 + b"</testsuite>")


def test_texts_are_cut_and_lose_what_does_not_print():
    text = "a\x1b[31mb\u202ec\x00d\r\n<script>" + "x" * 5000
    finding = child.read(samples.sarif(samples.result("r\x07", text, file="./a/../b.tf", line=-3))).findings[0]

    assert finding.message.startswith("a [31mb c d\n<script>xxx")
    assert len(finding.message) <= shape.MAX_MESSAGE
    assert (finding.rule, finding.file, finding.line) == ("r", "b.tf", 0)


def test_shapes_that_no_tool_writes_do_not_stop_the_reader():
    odd = {"ruleId": 7, "ruleIndex": "x", "message": [], "locations": {}, "properties": 3, "level": {}}
    document = {"version": "2.1.0", "runs": [{"tool": [], "results": [odd, 5, None]}]}

    [finding] = child.read(json.dumps(document).encode()).findings

    assert (finding.rule, finding.message, finding.severity) == ("", "", "medium")
