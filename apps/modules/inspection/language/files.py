"""A file that was read without damage, as the judge takes it."""

from collections.abc import Iterable
from typing import Any

from apps.lib.hcl.expressions import NativeBody
from apps.modules.inspection.blocks import Reading
from apps.modules.inspection.language.clients import EVERY, Finding, required
from apps.modules.inspection.language.judge import Judged, duplicates, judge
from apps.modules.inspection.language.uses import uses_in_json, uses_in_native


def judged(path: str, reading: Reading, *, is_override: bool) -> list[Judged]:
    """Return what some client refuses in a file, or in each part into which damage has cut it.

    Drops its trees: they are large.
    """
    found = []
    for file, content in reading.sound:
        one = judge(file, content, is_override=is_override)
        if reading.is_complete:
            nodes = [block.body.block for block in content.blocks if isinstance(block.body, NativeBody)]
            is_json = path.endswith(".json")
            one.uses = uses_in_json(file, one.evaluated) if is_json else uses_in_native(file, nodes, one.evaluated)
        one.evaluated.clear()  # with the nodes of its tree
        found.append(one)
    reading.sound.clear()
    return found


def findings_in(readings: Iterable[Reading]) -> list[Finding]:
    """Everything in the files of a folder that some client refuses."""
    files: list[Judged] = [one for reading in readings for one in reading.judged]
    return [*(finding for one in files for finding in one.findings), *duplicates(files)]


def requirements(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """The clients that a folder needs, each with the first place that needs them: rows for its page."""
    rows: dict[str, dict[str, Any]] = {}
    for finding in findings:
        place = finding.diagnostic
        if text := required(EVERY & ~finding.refusing):
            rows.setdefault(text, {"text": text, "why": place.message, "file": place.file, "line": place.line})
    return list(rows.values())
