"""A file that was read without damage, as the judge takes it."""

from collections.abc import Iterable, Iterator
from typing import Any

from tree_sitter import Node

from apps.lib.hcl.bodies import Inner
from apps.lib.hcl.expressions import inner
from apps.lib.hcl.files import File
from apps.modules.inspection.blocks import Reading
from apps.modules.inspection.json_syntax import Located
from apps.modules.inspection.language.clients import EVERY, Finding, required
from apps.modules.inspection.language.json_bodies import JsonBody
from apps.modules.inspection.language.judge import Judged, duplicates, judge
from apps.modules.inspection.language.schema import BLOCKS, TOP_LEVEL
from apps.modules.inspection.language.uses import uses_in_json, uses_in_native


def judge_native(pieces: Iterable[tuple[File, list[Node]]], *, is_override: bool) -> list[Judged]:
    """`pieces`: the sound nodes of a file, or of the parts into which damage has cut it."""
    return [judge(file, _inner(file, nodes), _loose(file, nodes), is_override=is_override) for file, nodes in pieces]


def _inner(file: File, nodes: Iterable[Node]) -> Iterator[Inner]:
    return (inner(file, node) for node in nodes if node.type == "block")


def _loose(file: File, nodes: Iterable[Node]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if node.type == "attribute":
            name = file.source(node.children[0])[:40]
            yield node.start_byte, f"found an argument {name} outside of all blocks, expected a block"


def judge_json(file: File, document: Located, *, is_override: bool) -> Judged:
    labels = {kind: len(BLOCKS[nested.key].labels) for kind, nested in TOP_LEVEL.items()}
    content = JsonBody(document).content(labels, only_arguments=False)
    unknown = [
        (argument.at, f"found the property {argument.name[:40]}, expected a block of a module")
        for argument in content.arguments
    ]
    if document.content is None:
        unknown.append((document.start, "found null, expected an object"))
    return judge(file, content.blocks, [*content.problems, *unknown], is_override=is_override)


def judged(path: str, reading: Reading, *, is_override: bool) -> list[Judged]:
    """Return what some client refuses in a file. Drops its trees: they are large."""
    is_json = path.endswith(".json")
    if is_json:
        found = [judge_json(file, document, is_override=is_override) for file, document in reading.sound]
    else:
        found = judge_native(reading.sound, is_override=is_override)
    for (file, held), one in zip(reading.sound, found, strict=True):
        if reading.is_complete:
            one.uses = uses_in_json(file, one.evaluated) if is_json else uses_in_native(file, held, one.evaluated)
        one.evaluated.clear()  # with the nodes of its tree
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
