"""The program that reads one report in a confined process; `confined` starts it."""

import codecs
import json
from typing import Any

from apps.contrib.checks.reading import junit, run_lines, sarif, shape
from apps.contrib.checks.reading.shape import BadReport, Report
from apps.lib.sandbox.positioned import open_positioned

_PLAIN = {"state", "summary", "url"}
# What begins a text of another encoding. PowerShell writes UTF-16.
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_EXPECTED = "SARIF 2.1.0, JUnit XML, the output of `tofu test -json`, or JSON with `state`, `summary` and `url`"


def prepare() -> None:
    """Import what is imported late: codecs, and the parser of XML."""
    for mark, encoding in _MARKS:
        mark.decode(encoding)
    junit.read(b'<?xml version="1.0" encoding="utf-8"?><testsuite><testcase name="a"/></testsuite>')
    junit.read('<?xml version="1.0"?><testsuite><testcase name="a"/></testsuite>'.encode("utf-16"))
    for encoding in ("iso-8859-1", "windows-1252", "us-ascii"):
        junit.read(f'<?xml version="1.0" encoding="{encoding}"?><testsuite><testcase/></testsuite>'.encode())


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    """Read the report in the file; the answer is its fields, or `refused` with the sentence."""
    del request
    with open_positioned(stdin) as file:
        content = file.read(shape.MAX_BYTES + 1)
    try:
        return read(content).as_fields()
    except BadReport as refusal:
        return {"refused": str(refusal)}


def read(content: bytes) -> Report:
    """Tell the format by the content: what clients call it is mostly wrong. Raises BadReport."""
    if not content.strip():
        raise BadReport(f"an empty report, expected {_EXPECTED}")
    if _begins_like_xml(content):
        return junit.read(content)
    documents = _documents(_decoded(content))
    if run_lines.is_one(documents):
        return run_lines.read(documents)
    if len(documents) > 1:
        raise BadReport(f"{len(documents):,} lines of JSON that no test has written, expected {_EXPECTED}")
    [document] = documents
    if "runs" in document:
        return sarif.read(document)
    return _plain(document)


def _begins_like_xml(content: bytes) -> bool:
    beginning = content[:200].replace(b"\0", b"")
    for mark, _ in _MARKS:
        beginning = beginning.removeprefix(mark)
    return beginning.lstrip().startswith(b"<")


def _decoded(content: bytes) -> str:
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise BadReport(f"a byte at {error.start:,} that is not {encoding.upper()}, expected UTF-8") from None


def _documents(text: str) -> list[dict[str, Any]]:
    """One JSON object, or one on each line."""
    try:
        try:
            found = [json.loads(text)]
        except json.JSONDecodeError:
            lines = [line for line in text.splitlines() if line.strip()]
            if len(lines) < 2:  # noqa: PLR2004
                raise
            found = [json.loads(line) for line in lines]
    except json.JSONDecodeError as error:
        raise BadReport(f"neither XML nor JSON (line {error.lineno}: {error.msg}), expected {_EXPECTED}") from None
    except RecursionError:
        raise BadReport(f"JSON that is nested too deeply, expected {_EXPECTED}") from None
    except ValueError as error:
        raise BadReport(f"JSON that cannot be read ({shape.text(str(error))}), expected {_EXPECTED}") from None
    if not all(isinstance(one, dict) for one in found):
        raise BadReport(f"JSON that is not an object, expected {_EXPECTED}")
    return found


def _plain(document: dict[str, Any]) -> Report:
    unknown = sorted(set(document) - _PLAIN)
    if "state" not in document or unknown:
        what = f"the field {shape.text(unknown[0], 40)!a}" if unknown else "no field `state`"
        raise BadReport(f"a JSON object with {what}, expected {_EXPECTED}")
    state = shape.text(document["state"])
    if state not in shape.STATES:
        raise BadReport(f"the state {state[:40]!a}, expected passed, failed or warning")
    url = shape.link(document.get("url"))
    if document.get("url") and not url:
        raise BadReport(f"the url {shape.text(document['url'], 80)!a}, expected a web address")
    return Report("plain", state, summary=shape.text(document.get("summary"), shape.MAX_MESSAGE), url=url)
