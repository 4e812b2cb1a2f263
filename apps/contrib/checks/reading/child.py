"""The program that reads one report in a confined process; `confined` starts it."""

import codecs
import json
from dataclasses import asdict
from typing import Any

from apps.contrib.checks.reading import junit, run_lines, sarif, shape
from apps.contrib.checks.reading.shape import BadReport, Report
from apps.lib.sandbox.positioned import open_positioned

_PLAIN = {"state", "summary", "url"}
# PowerShell writes UTF-16, and a mark before UTF-8.
_BEFORE_XML = codecs.BOM_UTF8 + codecs.BOM_UTF16 + b" \t\r\n"
_EXPECTED = "SARIF 2.1.0, JUnit XML, the output of `tofu test -json`, or JSON with `state`, `summary` and `url`"


def prepare() -> None:
    """Import what is imported late: codecs, and the parser of XML."""
    for encoding in junit.ENCODINGS:
        junit.read(f'<?xml version="1.0" encoding="{encoding}"?><testsuite><testcase/></testsuite>'.encode(encoding))
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        read('{"state": "passed"}'.encode(encoding))


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    """Read the report in the file; the answer is its fields, or `refused` with the sentence."""
    del request
    with open_positioned(stdin) as file:
        content = file.read(shape.MAX_BYTES + 1)
    try:
        return asdict(read(content))
    except BadReport as refusal:
        return {"refused": str(refusal)}


def read(content: bytes) -> Report:
    """Tell the format by the content: what clients call it is mostly wrong. Raises BadReport."""
    if not content.strip():
        raise BadReport(f"an empty report, expected {_EXPECTED}")
    if content[:200].replace(b"\0", b"").lstrip(_BEFORE_XML).startswith(b"<"):
        return junit.read(content)
    documents = _documents(content)
    if run_lines.is_one(documents):
        return run_lines.read(documents)
    if len(documents) > 1:
        raise BadReport(f"{len(documents):,} lines of JSON that no test has written, expected {_EXPECTED}")
    [document] = documents
    if "runs" in document:
        return sarif.read(document)
    return _plain(document)


def _documents(content: bytes) -> list[dict[str, Any]]:
    """One JSON object, or one on each line. Runners of CI write lines of their own around those of a tool."""
    try:
        text = content.decode(json.detect_encoding(content))
        try:
            found = [json.loads(text)]
        except json.JSONDecodeError:
            found = [json.loads(line) for line in text.splitlines() if line.startswith('{"')]
            if len(found) < 2:  # noqa: PLR2004
                raise
    except UnicodeDecodeError as error:
        raise BadReport(
            f"a byte at {error.start:,} that is not {error.encoding.upper()}, expected {_EXPECTED}"
        ) from None
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
    report = Report("plain", state, summary=document.get("summary", ""), url=document.get("url", ""))
    if document.get("url") and not report.url:
        raise BadReport(f"the url {shape.text(document['url'], 80)!a}, expected a web address")
    return report
