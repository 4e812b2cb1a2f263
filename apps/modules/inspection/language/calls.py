"""The mentions of others in a folder: its calls of modules, and the providers that it configures.

Sources: `module_call.go` (decodeModuleBlock, decodePassedProviderConfigs), `provider.go` (decodeProviderBlock).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apps.lib.hcl.bodies import Content, Expression
from apps.modules.inspection.language.clients import EVERY, NONE, ONLY_OPENTOFU, Clients
from apps.modules.inspection.language.rules.cases import Visited
from apps.modules.inspection.language.rules.resources import static_reference
from apps.modules.inspection.language.schema import BLOCKS


@dataclass(frozen=True, slots=True)
class Call:
    """`providers`: pairs such as ("aws.replica", "aws"), the called module's name first; None if that is not sure.
    `inputs`: None likewise. `repetition`: the argument for which the `repeating` clients allow no configurations of
    providers in the called module.
    """

    name: str
    inputs: Sequence[str] | None
    providers: Sequence[tuple[str, str]] | None
    repetition: str
    repeating: Clients


@dataclass(frozen=True, slots=True)
class Configuration:
    """Of a provider, by its local name such as "aws.replica". Empty ones only declare it; None if that is not sure."""

    name: str
    is_empty: bool | None
    has_instances: bool


def call_of(visited: Visited) -> Iterator[Call]:
    """Nothing if its name cannot be read."""
    content, name = visited.content, visited.found.labels[0]
    if name is None:
        return
    known = BLOCKS["module"].arguments
    inputs = [one.name for one in content.arguments if one.name not in known]
    is_whole = all(inner.kind == "lifecycle" for inner in content.blocks) and not content.problems
    repetition, repeating = _repetition(content)
    passed = content.value("providers")
    providers = () if passed is None else _passed(passed)
    yield Call(name, inputs if is_whole else None, providers, repetition, repeating)


def _repetition(content: Content) -> tuple[str, Clients]:
    for name in ("count", "for_each"):
        if content.value(name) is not None:
            return name, EVERY
    for inner in content.blocks:
        if inner.kind == "lifecycle" and inner.body.content({}, only_arguments=True).value("enabled") is not None:
            return "enabled", ONLY_OPENTOFU
    depends_on = content.value("depends_on")
    if depends_on is not None and depends_on.elements:
        return "depends_on", EVERY
    return "", NONE


def _passed(expression: Expression) -> list[tuple[str, str]] | None:
    if expression.pairs is None:
        return None
    found: list[tuple[str, str]] = []
    for pair in expression.pairs:
        theirs, ours = (reference_to(side) for side in pair)
        if theirs is None or ours is None:
            return None
        found.append((theirs[0], ours[0]))
    return found


def reference_to(expression: Expression) -> tuple[str, bool] | None:
    """The name of a configuration, and whether a key follows; None if that is not sure."""
    held = expression.as_reference()
    parts = (static_reference(held) or held.path) if held is not None else None
    if not parts or len(parts) > 3:  # noqa: PLR2004  # name, alias, key
        return None
    return ".".join(parts[:2]), len(parts) == 3  # noqa: PLR2004


def provider_uses(visited: Visited) -> Iterator[tuple[Expression, str, bool]]:
    """Each reference to a configuration of a provider, with its name, and whether it is to one of several instances."""
    if visited.found.kind == "module":
        passed = visited.content.value("providers")
        values = [value for _, value in (passed.pairs if passed is not None else None) or ()]
    else:
        provider = visited.content.value("provider")
        values = [] if provider is None else [provider]
    for value in values:
        if found := reference_to(value):
            yield (value, *found)


def configuration_of(visited: Visited) -> Iterator[Configuration]:
    content, name = visited.content, visited.found.labels[0]
    alias = content.value("alias")
    text = alias.value if alias is not None else ""
    if name is None or not isinstance(text, str):
        return
    settings = [one for one in content.arguments if one.name not in ("alias", "for_each")]
    is_sure = not content.problems and all(inner.kind != "_" for inner in content.blocks)
    is_empty = not (settings or content.blocks) if is_sure else None
    yield Configuration(f"{name}.{text}" if text else name, is_empty, content.value("for_each") is not None)
