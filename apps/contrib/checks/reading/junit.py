"""JUnit XML, as Checkov, Terratest, pytest and `terraform test -junit-xml` write it.

Read event by event: a document type declaration, and with it every entity, ends the reading before it takes effect.
"""

from typing import NoReturn
from xml.parsers import expat

from apps.contrib.checks.reading import shape
from apps.contrib.checks.reading.shape import FAILED, PASSED, BadReport, Report, Run

MAX_DEPTH = 50
# A confined process imports no other codec.
ENCODINGS = ("utf-8", "utf-16", "iso-8859-1", "windows-1252", "us-ascii")
_OUTCOMES = {"failure": FAILED, "error": FAILED, "skipped": "skipped"}


class _Reader:
    def __init__(self) -> None:
        self.report = Report("junit")
        self.groups: list[str] = []
        self.depth = 0
        self.has_failed = False
        self.run: Run | None = None
        self.words: list[str] | None = None  # of a failure

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BadReport(f"XML that is nested more than {MAX_DEPTH} levels deep, expected JUnit")
        name = name.rpartition(":")[2]
        if self.depth == 1 and name not in ("testsuites", "testsuite"):
            raise BadReport(f"XML that begins with <{shape.text(name, 40)}>, expected <testsuites> or <testsuite>")
        if name.startswith("testsuite"):
            # A suite that broke before its first test has no test that failed.
            self.has_failed |= any(attributes.get(one, "0").strip("0") for one in ("failures", "errors"))
        if name == "testsuite":
            self.groups.append(attributes.get("name", ""))
        elif name == "testcase":
            group = attributes.get("classname") or next(filter(None, reversed(self.groups)), "")
            line = attributes.get("line", "")[:8]
            self.run = Run(attributes.get("name", ""), PASSED, group, file=attributes.get("file", ""))
            self.run.line = shape.number(int(line) if line.isascii() and line.isdecimal() else 0)
        elif name in _OUTCOMES and self.run is not None:
            self.run.state = _OUTCOMES[name] if self.run.state != FAILED else FAILED
            self.words = [attributes.get("message", ""), "\n"]

    def end(self, name: str) -> None:
        self.depth -= 1
        name = name.rpartition(":")[2]
        if name == "testsuite" and self.groups:
            self.groups.pop()
        elif name in _OUTCOMES and self.run is not None and self.words is not None:
            self.run.message = self.run.message or shape.paragraph("".join(self.words))
            self.words = None
        elif name == "testcase" and self.run is not None:
            self.report.add(self.run)
            self.run = None

    def characters(self, data: str) -> None:
        if self.words is not None and sum(map(len, self.words)) < shape.MAX_MESSAGE:
            self.words.append(data)

    def xml(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            known = f"one of {', '.join(ENCODINGS)}"
            raise BadReport(f"XML in the encoding {shape.text(encoding, 40)!a}, expected {known}")

    def declaration(self, *_: object) -> NoReturn:
        raise BadReport("XML with a document type declaration, expected JUnit without one")


def read(content: bytes) -> Report:
    """Raises BadReport."""
    reader, parser = _Reader(), expat.ParserCreate()
    parser.XmlDeclHandler = reader.xml
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = reader.declaration
    parser.EntityDeclHandler = reader.declaration
    try:
        parser.Parse(content, True)  # noqa: FBT003  # by position alone
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise BadReport(f"XML that cannot be read ({shape.text(str(error))}), expected well-formed JUnit") from None
    report = reader.report
    has_failed = reader.has_failed or any(run.state == FAILED for run in report.runs)
    report.state = FAILED if has_failed else PASSED
    if not report.runs:
        raise BadReport("JUnit without a test case, expected at least one")
    return report
