"""The blocks of all files of a folder put together, by OpenTofu's rules for override files."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from apps.modules.inspection.blocks import Block, Diagnostic, Value
from apps.modules.inspection.schema import LOCAL

Key = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Clients refuse it: a second declaration (`other` is the file of the first), or an override of nothing."""

    diagnostic: Diagnostic
    other: str = ""


@dataclass(slots=True)
class Declarations:
    """Everything that one folder declares."""

    named: dict[Key, Block] = field(default_factory=dict)
    providers: list[Block] = field(default_factory=list)
    moved: list[Block] = field(default_factory=list)
    required_versions: list[tuple[str, Value]] = field(default_factory=list)  # with the file
    requirements: dict[str, tuple[str, Value]] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    configured: dict[tuple[str, str], Block] = field(default_factory=dict)  # by provider and alias
    requiring: Block | None = None  # the first block of required_providers

    def of(self, *kinds: str) -> list[Block]:
        return [block for (kind, _), block in self.named.items() if kind in kinds]


def declared(primary: Iterable[Block], overrides: Iterable[list[Block]]) -> Declarations:
    """`overrides`: the blocks of each override file, in the order of their names."""
    found = Declarations()
    for block in _flat(primary):
        _declare(found, block)
    for blocks in overrides:
        _override(found, list(_flat(blocks)))
    return found


def _flat(blocks: Iterable[Block]) -> Iterable[Block]:
    """A `check` is not shown, but the data source in it belongs to the module like any other."""
    for block in blocks:
        yield from block.blocks if block.kind == "check" else [block]


def _declare(found: Declarations, block: Block) -> None:
    if block.kind == "terraform":
        _require(found, block)
    elif block.kind == "provider":
        _provide(found, block)
    elif block.kind == "moved":
        found.moved.append(block)
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
        if first is not None and not inner.file.endswith(".json"):
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
        if block.kind == LOCAL:
            continue
        if block.kind == "terraform":
            # Entry by entry, each as a whole.
            found.requirements |= {name: (block.file, value) for name, value in _required_providers(block)}
        elif block.kind == "provider":
            _override_provider(found, block)
        elif block.kind == "moved":
            found.moved.append(block)
        elif (key := (block.kind, block.labels)) in found.named:
            found.named[key] = _merged(found.named[key], block)
        else:
            problem = block.diagnostic(f"there is no {_titled(block)} to override")
            found.diagnostics.append(problem)
            found.conflicts.append(Conflict(problem))


def _override_provider(found: Declarations, block: Block) -> None:
    for at, base in enumerate(found.providers):
        if base.labels == block.labels and base.text("alias") == block.text("alias"):
            found.providers[at] = _merged(base, block)
            return
    found.providers.append(block)


def _merged(base: Block, over: Block) -> Block:
    """Attributes replace; blocks inside it stay, as OpenTofu keeps the validations of a variable."""
    return replace(base, attributes={**base.attributes, **over.attributes})


def _titled(block: Block) -> str:
    return " ".join([block.kind, ".".join(block.labels)])
