"""The blocks of a folder put together, by OpenTofu's rules for override files, as the parts of a unit's document."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from apps.lib.hcl.files import NOT_LITERAL, Diagnostic
from apps.modules.inspection.blocks import REPETITIONS, SENSITIVE, UNKNOWN, Block, Value
from apps.modules.inspection.language.clients import EVERY, ONLY_OPENTOFU, Clients

Key = tuple[str, tuple[str, ...]]
MODES = {"resource": "managed", "data": "data", "ephemeral": "ephemeral"}
UNNAMED = ("moved", "removed", "import", "language")
# Comes with every client: nobody installs it.
BUILT_IN = "terraform"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Clients refuse it: a second declaration (`other` is the file of the first), or an override of nothing."""

    diagnostic: Diagnostic
    other: str = ""
    refusing: Clients = EVERY


@dataclass(slots=True)
class Declarations:
    """Everything that one folder declares."""

    named: dict[Key, Block] = field(default_factory=dict)
    providers: list[Block] = field(default_factory=list)
    unnamed: dict[str, list[Block]] = field(default_factory=lambda: {kind: [] for kind in UNNAMED})
    required_versions: list[tuple[str, Value]] = field(default_factory=list)  # with the file
    requirements: dict[str, tuple[str, Value]] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    configured: dict[tuple[str, str], Block] = field(default_factory=dict)  # by provider and alias
    overridden: list[tuple[Block, Block]] = field(default_factory=list)  # after each override, and the override
    requiring: Block | None = None  # the first block of required_providers

    def of(self, *kinds: str) -> list[Block]:
        return [block for (kind, _), block in self.named.items() if kind in kinds]


def declared(primary: Iterable[Block], overrides: Iterable[list[Block]]) -> Declarations:
    """`overrides`: the blocks of each override file, in the order of their names."""
    found = Declarations()
    for block in _flat(primary):
        if block.kind == "terraform":
            _require(found, block)
        elif block.kind == "provider":
            _provide(found, block)
        elif block.kind in UNNAMED:
            found.unnamed[block.kind].append(block)
        elif (key := (block.kind, block.labels)) not in found.named:
            found.named[key] = block
        else:
            first = found.named[key]
            problem = block.diagnostic(f"{_titled(block)} is already declared in {first.file}, line {first.line}")
            found.diagnostics.append(problem)
            found.conflicts.append(Conflict(problem, first.file))
            if "sensitive" in block.attributes and "sensitive" not in first.attributes:
                # No module that works, but one of the two says that this is a secret.
                found.named[key] = replace(
                    first, attributes={**first.attributes, "sensitive": block.attributes["sensitive"]}
                )
    for blocks in overrides:
        _override(found, list(_flat(blocks)))
    return found


def _flat(blocks: Iterable[Block]) -> Iterable[Block]:
    """A `check` is not shown, but the data source in it belongs to the module like any other."""
    for block in blocks:
        yield from block.blocks if block.kind == "check" else [block]


def _provide(found: Declarations, block: Block) -> None:
    alias = block.attributes.get("alias")
    if alias is None or isinstance(alias.literal, str):
        first = found.configured.setdefault((block.name, block.text("alias")), block)
        if first is not block:
            problem = block.diagnostic(f"{_titled(block)} is already configured in {first.file}, line {first.line}")
            found.conflicts.append(Conflict(problem, first.file))
    found.providers.append(block)


def _require(found: Declarations, block: Block) -> None:
    if "required_version" in block.attributes:
        found.required_versions.append((block.file, block.attributes["required_version"]))
    for inner in block.blocks:
        first = found.requiring
        if first is not None:
            problem = inner.diagnostic(f"required_providers is already set in {first.file}, line {first.line}")
            found.conflicts.append(Conflict(problem, first.file))
        found.requiring = first or inner
    for name, value in _required_providers(block):
        if name in found.requirements:
            found.diagnostics.append(
                Diagnostic(block.file, value.line, 1, f"required provider {name} is already declared")
            )
        else:
            found.requirements[name] = (block.file, value)


def _required_providers(block: Block) -> list[tuple[str, Value]]:
    return [pair for inner in block.blocks for pair in inner.attributes.items()]


def _override(found: Declarations, blocks: list[Block]) -> None:
    versions = [
        (block.file, block.attributes["required_version"])
        for block in blocks
        if block.kind == "terraform" and "required_version" in block.attributes
    ]
    if versions:
        found.required_versions = versions
    for block in blocks:
        if block.kind == "terraform":
            # Entry by entry, each as a whole.
            found.requirements |= {name: (block.file, value) for name, value in _required_providers(block)}
        elif block.kind == "provider":
            for at, base in enumerate(found.providers):
                if base.labels == block.labels and base.text("alias") == block.text("alias"):
                    found.providers[at] = _merged(base, block)
                    break
            else:
                if alias := block.text("alias"):
                    _overrides_nothing(found, block, f"provider {block.name} with the alias {alias}", EVERY)
                found.providers.append(block)
        elif block.kind in UNNAMED:
            found.unnamed[block.kind].append(block)
        elif (key := (block.kind, block.labels)) in found.named:
            found.named[key] = _merged(found.named[key], block)
            found.overridden.append((found.named[key], block))
        else:
            # Terraform takes no notice of ephemeral resources in override files.
            refusing = ONLY_OPENTOFU if block.kind == "ephemeral" else EVERY
            _overrides_nothing(found, block, _titled(block), refusing)


def _overrides_nothing(found: Declarations, block: Block, title: str, refusing: Clients) -> None:
    problem = block.diagnostic(f"there is no {title} to override")
    found.diagnostics.append(problem)
    found.conflicts.append(Conflict(problem, refusing=refusing))


def _merged(base: Block, over: Block) -> Block:
    """Attributes replace; blocks inside it stay, as OpenTofu keeps the validations of a variable."""
    return replace(base, attributes={**base.attributes, **over.attributes})


def _titled(block: Block) -> str:
    return " ".join([block.kind, ".".join(block.labels)])


def variable(block: Block, *, is_sure: bool) -> dict[str, Any]:
    """`is_sure` is false where an override file that could not be read may say otherwise."""
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
        "type": _type_of(block),
        "default": shown,
        "required": default is None,
        "description": block.text("description"),
        "sensitive": sensitive,
        "nullable": block.flag("nullable", absent=True, unreadable=True),
        "ephemeral": block.flag("ephemeral", absent=False, unreadable=False),
        "const": block.flag("const", absent=False, unreadable=False),
        "deprecated": block.text("deprecated"),
        "validations": [inner.text("error_message") for inner in block.blocks if inner.kind == "validation"],
        "file": block.file,
        "line": block.line,
    }
    return document if value is NOT_LITERAL else document | {"value": value}


def _type_of(block: Block) -> str:
    kind = block.attributes.get("type")
    return "" if kind is None else kind.source if kind.known else UNKNOWN


def output(block: Block) -> dict[str, Any]:
    return {
        "name": block.name,
        "type": _type_of(block),
        "description": block.text("description"),
        "sensitive": block.flag("sensitive", absent=False, unreadable=True),
        "ephemeral": block.flag("ephemeral", absent=False, unreadable=False),
        "deprecated": block.text("deprecated"),
        "file": block.file,
        "line": block.line,
    }


def resource(block: Block) -> dict[str, Any]:
    return {"mode": MODES[block.kind], **of_provider(block), **_repetition(block)}


def of_provider(block: Block) -> dict[str, Any]:
    """A block of a type that a provider defines: a resource, an action, a `list` of a query."""
    return {
        "type": block.labels[0],
        "name": block.labels[1],
        "provider": provider_of(block),
        "file": block.file,
        "line": block.line,
    }


def _repetition(block: Block) -> dict[str, Any]:
    name = next((name for name in REPETITIONS if name in block.attributes), "")
    value = block.attributes.get("for_each")
    expression = {"text": value.source, "digest": value.digest} if value is not None and value.digest else None
    return {"repetition": name} | ({"for_each": expression} if expression else {})


def call(block: Block) -> dict[str, Any]:
    said = {name: block.attributes[name] for name in ("source", "version") if name in block.attributes}
    return {
        "name": block.name,
        "source": said["source"].expression if "source" in said else "",
        "version": said["version"].expression if "version" in said else "",
        "computed": [name for name, value in said.items() if value.is_computed],
        **_repetition(block),
        "file": block.file,
        "line": block.line,
    }


def state_changes(found: Declarations) -> dict[str, list[dict[str, Any]]]:
    """Return the changes that a plan makes to the state besides creating and destroying: `moved`, `removed` and
    `imports`.
    """
    kinds = {"moved": ("moved", ("from", "to")), "removed": ("removed", ("from",)), "imports": ("import", ("to",))}
    rows = {
        name: [
            {**{end: block.text(end) for end in ends}, "file": block.file, "line": block.line}
            for block in found.unnamed[kind]
        ]
        for name, (kind, ends) in kinds.items()
    }
    for row, block in zip(rows["removed"], found.unnamed["removed"], strict=True):
        said = next((inner for inner in block.blocks if "destroy" in inner.attributes), None)
        row["destroy"] = None if said is None else said.flag("destroy", absent=True, unreadable=True)
    return rows


def compatible_with(found: Declarations) -> list[dict[str, Any]]:
    return [
        {"client": client, "text": value.text, "file": block.file, "line": value.line}
        for block in found.unnamed["language"]
        for inner in block.blocks
        for client, value in inner.attributes.items()
    ]


def migration(block: Block) -> dict[str, Any]:
    return {"kind": block.kind, "type": block.name, "file": block.file, "line": block.line}


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
    entries: dict[str, dict[str, Any]] = {}
    for name, (file, value) in found.requirements.items():
        entry = entries[name] = _provider(name, file, value.line)
        if not value.known:
            entry |= {"source": UNKNOWN, "version": UNKNOWN}
        elif value.entries is None:  # the old form: only a constraint
            entry["version"] = value.text
        else:
            parts = value.entries
            entry |= {key: parts[key].text for key in ("source", "version") if key in parts}
            if "configuration_aliases" in parts:
                entry["aliases"] = list(parts["configuration_aliases"].references)
    for block in found.providers:
        entry = entries.setdefault(block.name, _provider(block.name, block.file, block.line))
        # Until version 0.13 a constraint stood here; where one is required as well, both hold.
        constraint = block.text("version")
        if constraint and constraint not in entry["version"].split(", "):
            entry["version"] = ", ".join(filter(None, (entry["version"], constraint)))
    for block in found.of(*MODES, "action"):
        name = provider_of(block)
        if name and name != BUILT_IN:
            entries.setdefault(name, _provider(name, block.file, block.line))
    return [entries[name] for name in sorted(entries)]


def _provider(name: str, file: str, line: int) -> dict[str, Any]:
    return {"name": name, "source": "", "version": "", "aliases": [], "file": file, "line": line}
