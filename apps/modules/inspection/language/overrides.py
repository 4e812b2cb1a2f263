"""The effect of override files on a module: clients check types and defaults again after merging
(`module_merge.go`).
"""

from collections.abc import Iterable, Iterator

from apps.lib.hcl.expressions import NativeExpression
from apps.modules.inspection.blocks import LOCAL, Block, Reading, Value
from apps.modules.inspection.declarations import Declarations
from apps.modules.inspection.language import types
from apps.modules.inspection.language.clients import EVERY, Finding, since
from apps.modules.inspection.language.sources import expected_source


def overridden(found: Declarations) -> Iterator[Finding]:
    for merged, override in found.overridden:
        if merged.kind == "variable":
            yield from _variable(merged, override)
        elif merged.kind == "module":
            yield from _call(merged, override)


def unmet(readings: Iterable[Reading], found: Declarations) -> Iterator[Finding]:
    """Yield the references that are evaluated on loading, and are not declared (OpenTofu `static_scope.go`)."""
    declared = {("var", block.name) for block in found.of("variable")}
    declared |= {("local", block.name) for block in found.of(LOCAL)}
    for reading in readings:
        for one in reading.judged:
            yield from (need.finding for need in one.needs if (need.kind, need.name) not in declared)


def mistaken_instances(readings: Iterable[Reading]) -> Iterator[Finding]:
    """References to providers that have no instances, or only such (OpenTofu `resource.go`, InstanceValidation).
    `readings`: all of a folder without override files.
    """
    judged = [one for reading in readings for one in reading.judged]
    instanced = {one.name for file in judged for one in file.configurations if one.has_instances}
    for file in judged:
        for use in file.provider_uses:
            if (use.name in instanced) != (use.kind == "instance"):
                yield use.finding


def _variable(merged: Block, override: Block) -> Iterator[Finding]:
    default, stated = merged.attributes.get("default"), merged.attributes.get("type")
    if default is None or not {"type", "default", "nullable"} & override.attributes.keys():
        return
    if default.literal is None and not merged.flag("nullable", absent=True, unreadable=True):
        yield _finding(override, f"variable {merged.name}: the default is null, which nullable refuses")
    value, kind = _parsed(default), _parsed(stated)
    if value is None or kind is None or default.literal is None or not value.is_constant:
        return
    try:
        problem = types.misfit(value, types.read_type(kind, is_bare=True))
    except types.WrongType:
        return
    if problem:
        yield _finding(override, f"variable {merged.name}: the default does not fit the type ({problem})")


def _parsed(value: Value | None) -> NativeExpression | None:
    """A value of JSON is read as HCL too: it is the same, except for templates, which are not judged."""
    return None if value is None or not value.known else NativeExpression.parsed(value.source, 0)


def _call(merged: Block, override: Block) -> Iterator[Finding]:
    source, version = merged.attributes.get("source"), merged.attributes.get("version")
    if source is None or version is None or version.literal is None or not isinstance(source.literal, str):
        return
    if "source" in override.attributes and "version" in override.attributes:
        return  # the judge of the file has seen both
    if expected := expected_source(source.literal, has_version=True):
        newer = EVERY & ~(since(None, 0) & ~since(None, 15))
        yield _finding(override, f"module {merged.name}: the source is {source.literal}, expected {expected}", newer)


def _finding(override: Block, message: str, refusing: int = EVERY) -> Finding:
    return Finding(override.diagnostic(f"overridden {message}"), refusing)
