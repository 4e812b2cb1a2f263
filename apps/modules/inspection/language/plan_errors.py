"""Faults of one folder that loads and can never be planned: names that nothing declares, `each`, `count` and `self`
where they do not exist, and circles of local values.

Sources: `evaluate.go` and `evaluate_valid.go` of both clients, HCL `hclsyntax/expression.go` (FunctionCallExpr).
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import Any

from apps.modules.inspection.blocks import LOCAL
from apps.modules.inspection.declarations import Declarations
from apps.modules.inspection.language.evaluation import OBJECTS
from apps.modules.inspection.language.functions import FUNCTIONS
from apps.modules.inspection.language.references import Mode, Subject
from apps.modules.inspection.language.uses import Uses

MAX_PLAN_ERRORS = 20  # in one folder
MAX_CIRCLES = 3
_MAX_NAME_CHARACTERS = 100
_MAX_COMPARED = 1_000  # names that a wrong one may resemble
_ROOTS = {"variable": "var", LOCAL: "local", "module": "module"}
_MODES: dict[str, Mode] = {"resource": "managed", "data": "data", "ephemeral": "ephemeral"}
_HOW = {
    "var": 'declare it: variable "{}" {{ … }}',
    "local": "add {} to a locals block",
    "module": 'call it: module "{}" {{ … }}',
    "resource": "declare it: {}",
}
# Where an object exists, and how to fix a reference that stands elsewhere.
_EXISTS = {
    "each": (
        "in a block that sets for_each, and not in for_each itself",
        "Set for_each in this block, or refer to something else.",
    ),
    "count": (
        "in a block that sets count, and not in count itself",
        "Set count in this block, or refer to something else.",
    ),
    "self": (
        "in provisioners, connections and postconditions of a resource",
        "Write the address of a resource, such as aws_instance.web.",
    ),
}


@dataclass(frozen=True, slots=True)
class PlanError:
    """`hint`: how to fix it."""

    file: str
    line: int
    message: str
    hint: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def in_order(errors: Iterable[PlanError]) -> list[PlanError]:
    """The first ones, by place."""
    return sorted(errors, key=lambda one: (one.file, one.line, one.message))[:MAX_PLAN_ERRORS]


def plan_errors(uses: Mapping[str, Uses], found: Declarations) -> list[PlanError]:
    """The first ones; `uses` by the path of each file of a folder."""
    errors = (
        *(_undeclared(uses, found), _misplaced(uses)),
        *(_unknown_functions(uses), _circles_of_locals(uses.values(), found)),
    )
    return in_order(one for kind in errors for one in islice(kind, MAX_PLAN_ERRORS))


def _undeclared(uses: Mapping[str, Uses], found: Declarations) -> Iterator[PlanError]:
    names = _Names(found)
    for path, used in uses.items():
        for subject, line in used.subjects.items():
            if not names.has(subject):
                yield PlanError(path, line, f"found {shown(subject.text)}, which is not declared", names.hint(subject))
        for word, line in used.words.items():
            meant = next((one for one in ("var", "local") if names.has(Subject(one, (word,)))), None)
            hint = (
                f"Write {meant}.{shown(word)}." if meant else f'Write "{shown(word)}", or a reference such as var.name.'
            )
            yield PlanError(path, line, f"found {shown(word)}, which is neither a text in quotes nor a reference", hint)


def _misplaced(uses: Mapping[str, Uses]) -> Iterator[PlanError]:
    for path, used in uses.items():
        for (text, owner), line in used.misplaced.items():
            root, _, attribute = text.partition(".")
            known = [f"{root}.{one}" for one in OBJECTS[root]]
            if known and attribute and text not in known:
                near = nearest(text, known)
                hint = f"Write {near}." if near else f"Write {' or '.join(known)}."
                yield PlanError(path, line, f"{owner}: found {shown(text)}, expected {' or '.join(known)}", hint)
            else:
                where, hint = _EXISTS[root]
                yield PlanError(path, line, f"{owner}: found {shown(text)}, which exists only {where}", hint)


def _unknown_functions(uses: Mapping[str, Uses]) -> Iterator[PlanError]:
    for path, used in uses.items():
        for name, line in used.functions.items():
            if "::" not in name and name not in FUNCTIONS:
                near = nearest(name, FUNCTIONS)
                hint = f"Write {near}." if near else "Use another one; a provider's is called provider::name::function."
                yield PlanError(path, line, f"found the function {shown(name)}, which no client has", hint)


class _Names:
    """The names that a folder declares."""

    def __init__(self, found: Declarations) -> None:
        self._declared: dict[Subject, None] = {}
        for kind, labels in found.named:
            if kind in _ROOTS:
                self._declared[Subject(_ROOTS[kind], labels)] = None
            elif kind in _MODES:
                self._declared[Subject("resource", labels, _MODES[kind])] = None

    def has(self, subject: Subject) -> bool:
        return subject in self._declared

    def hint(self, subject: Subject) -> str:
        alike = {
            ".".join(one.names): one
            for one in islice(self._declared, _MAX_COMPARED)
            if one.kind == subject.kind and one.mode == subject.mode
        }
        near = nearest(".".join(subject.names), alike)
        near = shown(alike[near].text) if near else ""
        named = shown(subject.names[-1])
        if subject.kind == "resource":
            block = {"managed": "resource", "data": "data", "ephemeral": "ephemeral"}[subject.mode]
            named = f'{block} "{shown(subject.names[0])}" "{named}" {{ … }}'
        how = _HOW[subject.kind].format(named)
        return f"Write {near}, or {how}." if near else f"{how[0].upper()}{how[1:]}."


def nearest(name: str, names: Iterable[str]) -> str:
    """The one that resembles it most, or nothing."""
    compared = islice(names, _MAX_COMPARED)
    alike = sorted(one for one in compared if abs(len(one) - len(name)) <= 2)  # noqa: PLR2004  # letters
    found = difflib.get_close_matches(name, alike, 1, cutoff=0.75)
    return found[0] if found else ""


def shown(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARACTERS else f"{name[: _MAX_NAME_CHARACTERS - 1]}…"


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The first circles among nodes and what they lead to, each from its first node in the order of the graph."""
    found: list[list[str]] = []
    order = {node: at for at, node in enumerate(graph)}
    left = {node: sorted(target for target in targets if target in order) for node, targets in graph.items()}
    while len(found) < MAX_CIRCLES:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            nodes: list[str] = error.args[1][:0:-1]  # it names what is led to first, and the first node twice
            start = nodes.index(min(nodes, key=order.__getitem__))
            found.append([*nodes[start:], *nodes[:start]])
            gone = set(nodes)
            left = {node: [one for one in there if one not in gone] for node, there in left.items() if node not in gone}
        else:
            break
    return found


def _circles_of_locals(uses: Iterable[Uses], found: Declarations) -> Iterator[PlanError]:
    graph: dict[str, set[str]] = {}
    for used in uses:
        for (call, name), subjects in used.owned.items():
            if not call:
                graph.setdefault(name, set()).update(one.names[0] for one in subjects if one.kind == "local")
    for circle in circles(graph):
        block = found.named[LOCAL, (circle[0],)]
        path = around(f"local.{shown(name)}" for name in circle)
        message = f"found a circle of local values: {path}" if len(circle) > 1 else f"{path}: it refers to itself"
        yield PlanError(block.file, block.line, message, "Compute one of them without the others.")


def around(names: Iterable[str]) -> str:
    """A circle in words: the names up to the first again."""
    listed: Sequence[str] = list(names)
    most = 8
    middle = [*listed[:most], *(["…"] if len(listed) > most else [])]
    return " → ".join([*middle, listed[0]])
