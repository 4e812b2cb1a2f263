"""The places that clients evaluate when they plan, and in which `each`, `count` and `self` exist.

Sources: `evaluate.go` of both clients (GetCountAttr, GetForEachAttr), and who gives it which data:
`node_resource_validate.go`, `eval_conditions.go`, `node_module_variable.go`, `node_provider.go`, `eval_import.go`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from apps.lib.hcl.bodies import Argument, Expression
from apps.modules.inspection.language.rules.cases import Visited
from apps.modules.inspection.language.schema import BLOCKS

# What each object has. `caller` exists in actions, since Terraform 1.16; elsewhere it is the type of a resource.
OBJECTS: Final = {"each": ("key", "value"), "count": ("index",), "self": (), "caller": ()}
_UNEVALUATED = frozenset({"terraform", "language", "moved", "removed"})
_EVALUATED_RULES = frozenset(
    {"", "local", "condition", "own_condition", "condition_of_variable", "not_itself", "flag_of_terraform"}
    | {"references", "replacing"}
)
Owner = tuple[str, str]  # the name of a call and of its input; no call for a local value
_REPEATING = {"for_each": "each", "count": "count"}
_REPEATED = frozenset({"resource", "data", "ephemeral", "action", "module", "provider", "import"})
_OF_INSTANCE = frozenset({"provisioner", "connection", "postcondition"})
# Clients evaluate these for all instances at once.
_OF_ALL = frozenset({"enabled", "prevent_destroy", "destroy"})


@dataclass(frozen=True, slots=True)
class Scope:
    """`owner`: the title of the outermost block; `objects`: those of OBJECTS that exist, or are not judged;
    `iterators`: the names of the `dynamic` blocks around it.
    """

    owner: str
    objects: frozenset[str] = frozenset()
    iterators: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An expression that clients evaluate when they plan. `owner`: the local value, or input of a call, that it is."""

    expression: Expression
    scope: Scope
    owner: Owner | None = None


def scope_of(visited: Visited, title: str, around: Scope | None) -> Scope | None:
    """Of what is in a block; None if clients do not evaluate it when they plan, or do it on loading."""
    found, content = visited.found, visited.content
    if visited.around is None:
        return None if found.kind in _UNEVALUATED else Scope(title, _objects(visited))
    if around is None:
        return None
    if found.kind in _OF_INSTANCE:
        return replace(around, objects=around.objects | {"self"})
    if found.kind == "action_trigger":
        return replace(around, objects=frozenset(OBJECTS))
    if found.kind == "dynamic":
        iterator = content.value("iterator")
        named = iterator.traversal if iterator is not None else None
        names = {*(label for label in found.labels if label), *(named or ())[:1]}
        return replace(around, iterators=around.iterators | names)
    return around


def _objects(visited: Visited) -> frozenset[str]:
    """That exist in a block of a module, besides `self`."""
    kind, content = visited.found.kind, visited.content
    if kind not in _REPEATED:
        return frozenset()
    found = {name for argument, name in _REPEATING.items() if content.value(argument) is not None}
    if kind == "module" and (found or content.blocks):
        return frozenset(OBJECTS) - {"self"}  # without instances clients do not evaluate its arguments
    return frozenset({*found, "caller"} if kind == "action" else found)


def evaluated(scope: Scope, visited: Visited, argument: Argument, rule: str) -> Evaluated | None:
    """An argument with its rule of the table; None if clients do not evaluate it when they plan."""
    kind, name = visited.found.kind, argument.name
    if rule not in _EVALUATED_RULES or (kind == "dynamic" and name == "iterator"):
        return None
    if rule == "references" or (name == "dynamic" and argument.expression.is_json):  # names of its iterators are hidden
        scope = replace(scope, objects=frozenset(OBJECTS))
    elif (visited.around is None and name in _REPEATING and kind in _REPEATED) or (
        kind == "lifecycle" and name in _OF_ALL
    ):
        scope = replace(scope, objects=frozenset())
    return Evaluated(argument.expression, scope, ("", name) if rule == "local" else _input(visited, name))


def _input(visited: Visited, name: str) -> Owner | None:
    found = visited.found
    is_input = found.kind == "module" and visited.around is None and name not in BLOCKS["module"].arguments
    return (found.labels[0], name) if is_input and found.labels[0] else None


def is_sound(names: Sequence[str], scope: Scope) -> bool:
    """Return whether the scope allows the reference to one of OBJECTS."""
    root, *rest = names
    known = OBJECTS[root]
    return root in scope.objects and not (known and rest and rest[0] not in known)
