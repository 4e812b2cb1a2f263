"""The shape into which every report is read, with its bounds. Plain Python, for the confined child.

All texts are a stranger's. Whatever is put into the shape is cut there, and loses what does not print, in the child
and again when its answer is read. Pages escape it.
"""

import posixpath
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

MAX_BYTES = 5_000_000
MAX_FINDINGS = 10_000
MAX_MESSAGE = 2_000
MAX_PATH = 400
MAX_TEXT = 200
MAX_URL = 500
MAX_VERSION = 60
FORMATS = {"sarif": "SARIF", "junit": "JUnit", "test": "test -json", "plain": "JSON"}
# The most severe first.
SEVERITIES = CRITICAL, HIGH, MEDIUM, LOW, INFO = ("critical", "high", "medium", "low", "info")
PASSED, WARNING, FAILED = STATES = ("passed", "warning", "failed")
RUN_STATES = (PASSED, FAILED, "skipped")


class BadReport(Exception):
    """A report that cannot be read. `str()` says what was found and what was expected."""


@dataclass(slots=True)
class Finding:
    """One finding of a scanner. `file` is as the scanner names it, mostly relative to the module; line 0 is unknown."""

    rule: str
    severity: str
    message: str
    file: str = ""
    line: int = 0
    url: str = ""

    def __post_init__(self) -> None:
        _require(self.severity, SEVERITIES)
        self.rule, self.message, self.url = text(self.rule), paragraph(self.message), link(self.url)
        self.file, self.line = path(self.file), number(self.line)


@dataclass(slots=True)
class Run:
    """One test. `group` is its file or suite."""

    name: str
    state: str
    group: str = ""
    message: str = ""
    file: str = ""
    line: int = 0

    def __post_init__(self) -> None:
        _require(self.state, RUN_STATES)
        self.name, self.group, self.message = text(self.name), text(self.group), paragraph(self.message)
        self.file, self.line = path(self.file), number(self.line)


@dataclass(slots=True)
class Report:
    """The words of one tool. `summary` is for what no finding or test says."""

    format: str
    state: str = PASSED
    tool: str = ""
    tool_version: str = ""
    summary: str = ""
    url: str = ""
    findings: list[Finding] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        _require(self.format, FORMATS)
        _require(self.state, STATES)
        self.tool, self.tool_version = text(self.tool), text(self.tool_version, MAX_VERSION)
        self.summary, self.url = text(self.summary, MAX_MESSAGE), link(self.url)

    def add(self, item: Finding | Run) -> None:
        """Raises BadReport beyond the limit."""
        if len(self.findings) + len(self.runs) >= MAX_FINDINGS:
            what = "findings" if isinstance(item, Finding) else "tests"
            raise BadReport(f"more than {MAX_FINDINGS:,} {what}, expected at most so many in one report")
        if isinstance(item, Finding):
            self.findings.append(item)
        else:
            self.runs.append(item)

    @property
    def counts(self) -> dict[str, int]:
        """Findings by severity and tests by state, of those that there are."""
        return Counter([one.severity for one in self.findings] + [one.state for one in self.runs])


def _require(value: str, choices: Collection[str]) -> None:
    """Readers make nothing else; a child that was taken over does. Raises ValueError."""
    if value not in choices:
        raise ValueError(f"found {value!r:.80}, expected one of {', '.join(choices)}")


def state_of(findings: list[Finding]) -> str:
    """The state that a scanner's findings have as a whole: one that is high or critical fails it."""
    if any(one.severity in (CRITICAL, HIGH) for one in findings):
        return FAILED
    return WARNING if findings else PASSED


def and_above(severity: str) -> tuple[str, ...]:
    """Return this severity and the higher ones."""
    return SEVERITIES[: SEVERITIES.index(severity) + 1]


def text(value: Any, limit: int = MAX_TEXT) -> str:
    """One line of what prints; empty for anything but text. Marks that turn the direction of text do not print."""
    if not isinstance(value, str):
        return ""
    cut = value[: limit * 2]
    if not cut.isprintable():
        cut = "".join(one if one.isprintable() else " " for one in cut)
    return cut.strip()[:limit]


def paragraph(value: Any) -> str:
    """A message: its lines, each without what does not print."""
    lines = value[:MAX_MESSAGE].splitlines() if isinstance(value, str) else []
    return "\n".join(text(line, MAX_MESSAGE) for line in lines).strip()


def link(value: Any) -> str:
    """A web address, or nothing: other schemes run something, or lead into the reader's own computer."""
    found = text(value, MAX_URL + 1)
    is_web = found.startswith(("https://", "http://")) and not any(one.isspace() for one in found)
    return found if is_web and len(found) <= MAX_URL else ""


def path(value: Any) -> str:
    """A file's path as reports write it, with `/` alone, without `file://`, `./` and `a/..`. It may lie outside."""
    found = text(value, MAX_PATH).replace("\\", "/").removeprefix("file://")
    return posixpath.normpath(found) if found else ""


def number(value: Any) -> int:
    """A line number, or 0."""
    is_line = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10_000_000  # noqa: PLR2004
    return value if is_line else 0


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; nothing for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
