"""Blocks as the parts of a unit's document."""

from typing import Any

from apps.modules.inspection.blocks import NOT_LITERAL, SENSITIVE, UNKNOWN, Block
from apps.modules.inspection.overrides import Declarations

MODES = {"resource": "managed", "data": "data", "ephemeral": "ephemeral"}
# Comes with every client: nobody installs it.
BUILT_IN = "terraform"


def variable(block: Block, *, is_sure: bool) -> dict[str, Any]:
    """`is_sure` is false where an override file that nobody could read may say otherwise."""
    sensitive = block.flag("sensitive", absent=False, unreadable=True)
    default = block.attributes.get("default")
    value: Any = NOT_LITERAL
    shown: str | None = None
    if default is not None:
        is_known = default.known and is_sure
        shown = SENSITIVE if sensitive else default.source if is_known else UNKNOWN
        value = default.literal if is_known and not sensitive else NOT_LITERAL
    document = {
        "name": block.name,
        "type": _source(block, "type"),
        "default": shown,
        "required": default is None,
        "description": block.text("description"),
        "sensitive": sensitive,
        "nullable": block.flag("nullable", absent=True, unreadable=True),
        "ephemeral": block.flag("ephemeral", absent=False, unreadable=False),
        "deprecated": block.text("deprecated"),
        "validations": [inner.text("error_message") for inner in block.blocks if inner.kind == "validation"],
        "file": block.file,
        "line": block.line,
    }
    return document if value is NOT_LITERAL else document | {"value": value}


def output(block: Block) -> dict[str, Any]:
    return {
        "name": block.name,
        "description": block.text("description"),
        "sensitive": block.flag("sensitive", absent=False, unreadable=True),
        "ephemeral": block.flag("ephemeral", absent=False, unreadable=False),
        "deprecated": block.text("deprecated"),
        "file": block.file,
        "line": block.line,
    }


def resource(block: Block) -> dict[str, Any]:
    return {
        "mode": MODES[block.kind],
        "type": block.labels[0],
        "name": block.labels[1],
        "provider": provider_of(block),
        "file": block.file,
        "line": block.line,
    }


def call(block: Block) -> dict[str, Any]:
    return {
        "name": block.name,
        "source": block.text("source"),
        "version": block.text("version"),
        "file": block.file,
        "line": block.line,
    }


def moved(block: Block) -> dict[str, Any]:
    return {"from": block.text("from"), "to": block.text("to"), "file": block.file, "line": block.line}


def provider_of(block: Block) -> str:
    """The local name of a resource's provider: as it says, else the first word of its type; empty where unknown."""
    said = block.attributes.get("provider")
    if said is None:
        return block.labels[0].partition("_")[0]
    if isinstance(said.literal, str):  # quoted, as before version 0.12
        return said.literal.partition(".")[0]
    return said.references[0].partition(".")[0] if said.references else ""


def providers(found: Declarations) -> list[dict[str, Any]]:
    """By name: those that are required, configured, or only used."""
    entries = {name: _requirement(name, file, value) for name, (file, value) in found.requirements.items()}
    for block in found.providers:
        entry = entries.setdefault(block.name, _provider(block.name, block.file, block.line))
        # Until version 0.13 a constraint stood here; where one is required as well, both hold.
        constraint = block.text("version")
        if constraint and constraint not in entry["version"].split(", "):
            entry["version"] = ", ".join(filter(None, (entry["version"], constraint)))
    for block in found.of(*MODES):
        name = provider_of(block)
        if name and name != BUILT_IN:
            entries.setdefault(name, _provider(name, block.file, block.line))
    return [entries[name] for name in sorted(entries)]


def _provider(name: str, file: str, line: int) -> dict[str, Any]:
    return {"name": name, "source": "", "version": "", "aliases": [], "file": file, "line": line}


def _requirement(name: str, file: str, value: Any) -> dict[str, Any]:
    entry = _provider(name, file, value.line)
    if not value.known:
        return entry | {"source": UNKNOWN, "version": UNKNOWN}
    if value.entries is None:  # the old form: only a constraint
        return entry | {"version": value.text}
    parts = value.entries
    aliases = parts["configuration_aliases"].references if "configuration_aliases" in parts else ()
    texts = {key: parts[key].text for key in ("source", "version") if key in parts}
    return entry | texts | {"aliases": list(aliases)}


def _source(block: Block, attribute: str) -> str:
    value = block.attributes.get(attribute)
    if value is None:
        return ""
    return value.source if value.known else UNKNOWN
