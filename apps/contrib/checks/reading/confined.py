"""Reports of strangers, read in a child that can only read and is killed at its limits."""

import tempfile
from collections.abc import Iterable
from dataclasses import fields
from hashlib import sha256
from typing import Any

from apps.accounts.access import slots
from apps.accounts.access.gate import Viewer
from apps.contrib.checks.reading import shape
from apps.contrib.checks.reading.shape import Finding, Report, Run
from apps.lib.digests import counted
from apps.lib.errors import Invalid, Unavailable
from apps.lib.sandbox import parent

_MIB = 1024 * 1024
LIMITS = parent.Limits(seconds=10, memory_bytes=512 * _MIB, document_bytes=32 * _MIB)
_PROGRAM = "apps.contrib.checks.reading.child"
_HINT = "docs/checks.md says which reports Larder reads."


def read(viewer: Viewer, chunks: Iterable[bytes]) -> tuple[Report, str]:
    """Return the report, and the sha256 of its bytes. Raises TooLarge, Invalid with what is wrong, and Unavailable."""
    digest = sha256()
    with tempfile.TemporaryFile() as file:
        for chunk in counted(chunks, limit=shape.MAX_BYTES, what="The report"):
            digest.update(chunk)
            file.write(chunk)
        try:
            with slots.slot_of(viewer):
                answer = parent.run(program=_PROGRAM, request={}, stdin=file, limits=LIMITS, site_packages=True)
            if "refused" in answer:
                raise Invalid(f"found {answer['refused']}.", hint=_HINT)
            return _checked(answer), digest.hexdigest()
        except parent.TooExpensive:
            raise Invalid("The report takes too much time or memory to read.", hint=_HINT) from None
        except (parent.CheckBroken, ValueError, KeyError, TypeError) as error:
            raise Unavailable("Larder's reader of reports failed.", hint="Send the same report again.") from error


def _checked(answer: dict[str, Any]) -> Report:
    """Check the answer like the text: a child that was taken over answers what it likes. Raises ValueError."""
    report = Report(
        format=_one_of(("sarif", "junit", "test", "plain"), answer["format"]),
        state=_one_of(shape.STATES, answer["state"]),
        tool=shape.text(answer["tool"]),
        tool_version=shape.text(answer["tool_version"], 60),
        summary=shape.text(answer["summary"], shape.MAX_MESSAGE),
        url=shape.link(answer["url"]),
    )
    for one in answer["findings"]:
        _one_of(shape.SEVERITIES, one["severity"])
        report.add(Finding(**_texts(Finding, one), line=shape.number(one["line"])))
    for one in answer["runs"]:
        _one_of(shape.RUN_STATES, one["state"])
        report.add(Run(**_texts(Run, one), line=shape.number(one["line"])))
    return report


def _texts(kind: type[Finding | Run], found: dict[str, Any]) -> dict[str, str]:
    limits = {"message": shape.MAX_MESSAGE, "file": shape.MAX_PATH, "url": shape.MAX_URL}
    names = [one.name for one in fields(kind) if one.name != "line"]
    texts = {name: str(found[name])[: limits.get(name, shape.MAX_TEXT)].replace("\0", "") for name in names}
    return texts | ({"url": shape.link(texts["url"])} if "url" in texts else {})


def _one_of(choices: Iterable[str], found: str) -> str:
    if found not in choices:
        raise ValueError(found)
    return found
