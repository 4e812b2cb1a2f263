"""References as clients read them: what a traversal names, and the text of one in quotes or in JSON.

Sources: HCL `hclsyntax/parser_traversal.go` (ParseTraversalAbs), `internal/addrs/parse_ref.go` (ParseRef),
`parse_target.go` and `move_endpoint.go`. OpenTofu and Terraform differ in the addresses only.
"""

import re
from dataclasses import dataclass
from typing import Literal

from apps.lib.hcl.bodies import KEY, ODD_KEY, Traversal
from apps.modules.inspection.language.clients import EVERY, NONE, ONLY_OPENTOFU, ONLY_TERRAFORM, Clients

Mode = Literal["managed", "data", "ephemeral"]
_NAME = r"[^\W\d][\w-]*"
_STEP = re.compile(
    rf'\s*(?:\.\s*(?P<name>{_NAME})|\[\s*(?:(?P<number>\d[\d.eE]*)|"(?P<text>(?:[^"\\]|\\.)*)")\s*\])\s*'
)
_ROOT = re.compile(rf"\s*(?P<name>{_NAME})\s*")
_ATTRIBUTES = frozenset({"count", "each", "local", "path", "terraform", "tofu", "var"})  # one name follows them
_PREFIXES: dict[str, Mode] = {"data": "data", "ephemeral": "ephemeral", "resource": "managed"}
_RESERVED = frozenset({"template", "lazy", "arg"})
_NO_TYPES = frozenset(
    {"count", "each", "local", "module", "path", "self", "terraform", "var", "template", "lazy", "arg"}
)


def read_reference(text: str) -> Traversal | None:
    """None if it is none."""
    found = _ROOT.match(text)
    if found is None:
        return None
    names, at = [found["name"]], found.end()
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            return None
        number = step["number"]
        names.append(step["name"] or (ODD_KEY if number and not number.isdecimal() else KEY))
        at = step.end()
    return tuple(names)


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that a reference names: `kind` is its root, "resource" for all of them; `names` follow it."""

    kind: str
    names: tuple[str, ...] = ()
    mode: Mode = "managed"

    @property
    def text(self) -> str:
        prefix = {"managed": "", "data": "data.", "ephemeral": "ephemeral."}[self.mode]
        return f"{'' if self.kind == 'resource' else f'{self.kind}.'}{prefix}{'.'.join(self.names)}"


def subject_of(found: Traversal) -> Subject | None:
    """None if clients refuse it as a reference."""
    root, *rest = found
    if root in _ATTRIBUTES or root == "module":
        is_named = bool(rest) and rest[0] not in (KEY, ODD_KEY) and (root != "module" or ODD_KEY not in rest[1:2])
        return Subject(root, tuple(rest[:1])) if is_named else None
    if root == "self":
        return Subject(root, tuple(rest[:1]))
    if root in _RESERVED:
        return None
    mode: Mode = "managed"
    if root in _PREFIXES:
        mode = _PREFIXES[root]
    else:
        rest = list(found)
    is_resource = len(rest) > 1 and not {KEY, ODD_KEY} & set(rest[:2]) and ODD_KEY not in rest[2:3]
    return Subject("resource", (rest[0], rest[1]), mode) if is_resource else None


@dataclass(frozen=True, slots=True)
class Target:
    """The object that the address in a block about the state names. `refusing`: clients that do not take it for an
    address.
    """

    kind: Literal["", "module", "resource"]
    mode: str = "managed"
    in_module: bool = False
    has_key: bool = False
    refusing: Clients = NONE


_NOTHING = Target("", refusing=EVERY)


def target_of(found: Traversal, *, is_removed: bool = False) -> Target:
    """Of the address of a resource or module; `kind` is empty if no client takes it for one. `is_removed`: of the
    block for which both clients know neither reserved words nor "resource".
    """
    rest, has_key = list(found), False
    while rest[:1] == ["module"]:
        if len(rest) < 2 or rest[1] in (KEY, ODD_KEY) or ODD_KEY in rest[2:3]:  # noqa: PLR2004
            return _NOTHING
        has_key |= KEY in rest[2:3]
        rest = rest[3:] if rest[2:3] == [KEY] else rest[2:]
        if not rest:
            return Target("module", has_key=has_key)
    in_module = len(rest) < len(found)
    opentofu, terraform = _resource(rest, ("data", "ephemeral")), _resource(rest, ("data", "ephemeral", "list"))
    if is_removed:
        terraform = _resource(rest, ("data",))
    elif rest[0] == "resource":
        terraform = _resource(rest[1:], ())
    elif rest[0] in _NO_TYPES:
        terraform = None
    refusing = (ONLY_OPENTOFU if opentofu is None else NONE) | (ONLY_TERRAFORM if terraform is None else NONE)
    if refusing == EVERY:
        return _NOTHING
    mode, is_instance = opentofu or terraform or ("managed", False)
    return Target("resource", mode, in_module, has_key or is_instance, refusing)


def _resource(rest: list[str], modes: tuple[str, ...]) -> tuple[str, bool] | None:
    """Its mode, and whether a key follows."""
    mode = "managed"
    if rest[:1] and rest[0] in modes:
        mode, rest = rest[0], rest[1:]
    if len(rest) not in (2, 3) or {KEY, ODD_KEY} & set(rest[:2]) or rest[2:] not in ([], [KEY]):
        return None
    return mode, len(rest) == 3  # noqa: PLR2004
