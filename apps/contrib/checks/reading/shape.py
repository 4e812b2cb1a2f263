"""The shape into which every report is read, with its bounds. Plain Python, for the confined child.

All texts are a stranger's: cut, and without characters that do not print. Pages escape them.
"""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

MAX_BYTES = 5_000_000
MAX_FINDINGS = 10_000
MAX_MESSAGE = 2_000
MAX_PATH = 400
MAX_TEXT = 200
MAX_URL = 500
# The most severe first.
SEVERITIES = ("critical", "high", "medium", "low", "info")
PASSED, WARNING, FAILED = STATES = ("passed", "warning", "failed")
# From here on a finding fails the report of a scanner; below, it is a warning.
FAILS_AT = "high"
RUN_STATES = ("passed", "failed", "skipped")


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


@dataclass(slots=True)
class Run:
    """One test. `group` is its file or suite."""

    name: str
    state: str
    group: str = ""
    message: str = ""
    file: str = ""
    line: int = 0


@dataclass(slots=True)
class Report:
    format: str
    state: str = PASSED
    tool: str = ""
    tool_version: str = ""
    summary: str = ""
    url: str = ""
    findings: list[Finding] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    def add(self, item: Finding | Run) -> None:
        """Raises BadReport beyond the limit."""
        if len(self.findings) + len(self.runs) >= MAX_FINDINGS:
            what = "findings" if isinstance(item, Finding) else "tests"
            raise BadReport(f"more than {MAX_FINDINGS:,} {what}, expected at most so many in one report")
        if isinstance(item, Finding):
            self.findings.append(item)
        else:
            self.runs.append(item)

    def as_fields(self) -> dict[str, Any]:
        return asdict(self) | {"counts": self.counts}

    @property
    def counts(self) -> dict[str, int]:
        """Findings by severity and tests by state, of those that there are."""
        return Counter([one.severity for one in self.findings] + [one.state for one in self.runs])


def state_of(findings: list[Finding]) -> str:
    """The state that a scanner's findings have as a whole."""
    if any(SEVERITIES.index(one.severity) <= SEVERITIES.index(FAILS_AT) for one in findings):
        return FAILED
    return WARNING if findings else PASSED


def text(value: Any, limit: int = MAX_TEXT) -> str:
    """One line of what prints; empty for anything but text. Marks that turn the direction of text do not print."""
    if not isinstance(value, str):
        return ""
    return "".join(one if one.isprintable() else " " for one in value[: limit * 2]).strip()[:limit]


def paragraph(value: Any) -> str:
    """A message: its lines, each without what does not print."""
    if not isinstance(value, str):
        return ""
    return "\n".join(text(line, MAX_MESSAGE) for line in value[:MAX_MESSAGE].splitlines()).strip()


def link(value: Any) -> str:
    """A web address, or nothing: other schemes run something, or lead into the reader's own computer."""
    found = text(value, MAX_URL + 1)
    is_web = found.startswith(("https://", "http://")) and not any(one.isspace() for one in found)
    return found if is_web and len(found) <= MAX_URL else ""


def path(value: Any) -> str:
    """A file's path as reports write it, without `file://` and `./`. It may lie outside the module."""
    found = text(value, MAX_PATH).replace("\\", "/").removeprefix("file://")
    while found.startswith("./"):
        found = found[2:]
    return found


def number(value: Any) -> int:
    """A line number, or 0."""
    is_line = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10_000_000  # noqa: PLR2004
    return value if is_line else 0


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; nothing for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
