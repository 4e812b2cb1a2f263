"""Values that clients need when they load an archive: what its calls give to inputs that are not left for the plan.

OpenTofu evaluates `const` variables, the source and version of calls, and for_each of providers, with everything that
these refer to, through local values and calls, in branches that it does not take as well. There such values refer to
variables, local values, `path` and `terraform.workspace` only. Terraform knows `const` since 1.15, and wants a value
that is known without variables that are not `const` and without the workspace.

Sources: OpenTofu `static_scope.go` (StaticValidateReferences, GetInputVariable), `module.go` (NewModule),
`module_call.go` (decodeStaticVariables), `provider.go` (decodeStaticFields); Terraform `node_module_variable.go`,
`transform_module_variable.go` (transformSingle), `evaluate.go` (GetInputVariable).
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from apps.lib.hcl.files import Diagnostic
from apps.modules.inspection.interfaces import References
from apps.modules.inspection.language.clients import NONE, ONLY_OPENTOFU, Clients, Finding, since
from apps.modules.inspection.language.plan_errors import shown
from apps.modules.inspection.passing import Edge, Folder

_TERRAFORM = since(None, 15)  # the releases that know `const`
_MAX_STEPS = 100  # from one local value to another
_KNOWN = ("path", "terraform", "tofu")  # to OpenTofu
_WHEN_LOADING = "expected a value that clients know when they load the module"


@dataclass(frozen=True, slots=True)
class _Place:
    """An argument, or an input of a call, that needs a value early, as in `module "a": source`."""

    user: str
    file: str
    line: int

    def finding(self, reference: str, expected: str, refusing: Clients) -> Finding:
        message = f"{self.user} refers to {shown(reference)}, {expected}"
        return Finding(Diagnostic(self.file, self.line, 1, message), refusing)


def refused_values(folders: Mapping[str, Folder], edges: Mapping[str, Sequence[Edge]]) -> Iterator[tuple[str, Finding]]:
    """With the path of the folder that each is in."""
    walk = _Walk(folders, edges)
    yield from walk.findings()
    for there in edges.values():
        yield from (found for edge in there for found in _missing(edge, walk.required.get(edge.target, ())))


def _missing(edge: Edge, required: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    given = edge.given
    if given is None:
        return
    for name in islice((one for one in required if one not in given), 1):
        refusing = ONLY_OPENTOFU | (_TERRAFORM if edge.callee.const.get(name) else NONE)
        yield edge.finding(f"{edge.folder} needs the input {shown(name)} on loading, which is not set", refusing)


class _Walk:
    """From what is needed early to everything that it refers to, each once. `required`: inputs of each folder that are
    needed early and have no default, `const` ones first.
    """

    def __init__(self, folders: Mapping[str, Folder], edges: Mapping[str, Sequence[Edge]]) -> None:
        self.required: dict[str, list[str]] = {}
        self._folders = folders
        self._givers: dict[tuple[str, str], list[Edge]] = {}
        for edge in chain.from_iterable(edges.values()):
            for name in edge.call["values"]:
                self._givers.setdefault((edge.target, name), []).append(edge)
        self._waiting: deque[tuple[str, str, _Place | None]] = deque()
        for path, folder in folders.items():
            self._waiting += ((path, f"var.{name}", None) for name, is_const in folder.const.items() if is_const)
        for path, folder in folders.items():
            self._waiting += (
                (path, one, _Place(*place)) for value, *place in folder.early for one in _references(value)
            )
        self._seen: set[tuple[str, str]] = set()
        self._answers: dict[tuple[str, str], str] = {}

    def findings(self) -> Iterator[tuple[str, Finding]]:
        for path, folder in self._folders.items():
            for value, *needs in folder.early:
                yield from self._unknown(path, value, _Place(*needs))
        while self._waiting:
            path, reference, place = self._waiting.popleft()
            if (path, reference) not in self._seen:
                self._seen.add((path, reference))
                yield from self._followed(path, reference, place)

    def _followed(self, path: str, reference: str, place: _Place | None) -> Iterator[tuple[str, Finding]]:
        folder = self._folders[path]
        root, _, name = reference.partition(".")
        if root == "local":
            self._waiting += ((path, one, place) for one in _references(folder.locals.get(name, ())))
        elif root == "var":
            if place and folder.const.get(name) is False:
                yield path, place.finding(reference, "expected a variable without const = false", ONLY_OPENTOFU)
            if name in folder.required_inputs:
                self.required.setdefault(path, []).append(name)
            for edge in self._givers.get((path, name), ()):
                yield from self._given(edge, name)
        elif place and root not in _KNOWN:
            yield path, place.finding(reference, _WHEN_LOADING, ONLY_OPENTOFU)

    def _given(self, edge: Edge, name: str) -> Iterator[tuple[str, Finding]]:
        """The value that a call gives to an input which is needed early."""
        value: References = edge.call["values"][name]
        place = _Place(f'module "{shown(edge.call["name"])}": {shown(name)}', edge.call["file"], edge.call["line"])
        if edge.callee.const.get(name):
            yield from self._unknown(edge.path, value, place)
        self._waiting += ((edge.path, one, place) for one in _references(value))

    def _unknown(self, path: str, value: References, place: _Place) -> Iterator[tuple[str, Finding]]:
        """Yield the references that Terraform surely does not know when it loads the folder, if they decide a value."""
        if reference := self._unknown_to_terraform(path, value):
            refusing = _TERRAFORM
            if not reference.startswith(("var.", "terraform.", "tofu.")):
                refusing |= ONLY_OPENTOFU
                self._seen.add((path, reference))
            yield path, place.finding(reference, _WHEN_LOADING, refusing)

    def _unknown_to_terraform(self, path: str, value: References, steps: int = 0) -> str:
        """The first reference; empty if there is none for sure."""
        folder = self._folders[path]
        for reference in value.split() if isinstance(value, str) else ():
            root, _, name = reference.partition(".")
            if root == "local":
                if (path, name) not in self._answers:
                    self._answers[path, name] = ""  # in a circle
                    if steps < _MAX_STEPS:
                        within = folder.locals.get(name, ())
                        self._answers[path, name] = self._unknown_to_terraform(path, within, steps + 1)
                if answer := self._answers[path, name]:
                    return answer
            elif root != "path" and not (root == "var" and folder.const.get(name)):
                return reference
        return ""


def _references(value: References) -> Sequence[str]:
    return value.split() if isinstance(value, str) else value
