"""The providers that calls pass to modules of the archive.

Sources: `provider_validation.go` (validateProviderConfigs) and `config.go` (resolveProviderTypes) of both clients. Each
rule is decided by the called module, the call and the folder that it is in; callers of that folder decide nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from apps.lib.hcl.files import Diagnostic
from apps.modules.inspection.blocks import MAX_FAULTS
from apps.modules.inspection.interfaces import Interface, References
from apps.modules.inspection.language.clients import EVERY, NONE, ONLY_OPENTOFU, ONLY_TERRAFORM, Clients, Finding
from apps.modules.inspection.language.plan_errors import shown

_REGISTRIES = {ONLY_OPENTOFU: "registry.opentofu.org", ONLY_TERRAFORM: "registry.terraform.io"}
_DEFAULT_NAMESPACE = "hashicorp"
_MAX_SIBLINGS = 50  # more modules that one folder calls are not asked what a provider's name means

Type = tuple[str, str, str]  # of a provider: host, namespace and name; no host for the client's own registry


class Folder:
    """The interface of a folder, ready to be asked by each of its callers."""

    def __init__(self, interface: Interface) -> None:
        self.calls: list[dict[str, Any]] = interface["calls"]
        self.inputs = frozenset(interface["inputs"])
        self.required_inputs: dict[str, None] = dict.fromkeys(interface["required_inputs"])
        self.const: dict[str, bool] = interface["const"]
        self.locals: dict[str, References] = interface["locals"]
        self.early: list[list[Any]] = interface["early"]
        self.outputs = frozenset(interface["outputs"])
        self.required: dict[str, str] = interface["required"]
        self.configured: dict[str, None] = dict.fromkeys(interface["configured"])
        self.declared = {*self.required, *interface["aliases"]}
        self.empty = frozenset(interface["empty"])
        self.needed = [name for name in interface["aliases"] if name not in self.configured]
        self._names = {one.partition(".")[0] for one in (*self.configured, *self.empty)}

    def knows(self, name: str) -> bool:
        """Return whether clients have a type for the provider of this local name here."""
        return name in self.required or name in self._names

    def type_of(self, configuration: str, client: Clients) -> Type:
        """Of the provider of a configuration such as aws.replica, which need not be required."""
        name, _, _ = configuration.partition(".")
        return _type(name, self.required[name], client) if name in self.required else _implied(name)


@dataclass(frozen=True, slots=True)
class Edge:
    """A call of a folder of the archive. `given`: its inputs; None if that is not sure."""

    path: str
    call: Mapping[str, Any]
    target: str
    callee: Folder
    given: frozenset[str] | None

    @property
    def folder(self) -> str:
        return shown(self.call["source"])

    def finding(self, message: str, refusing: Clients = EVERY) -> tuple[str, Finding]:
        title = f'module "{shown(self.call["name"])}"'
        place = Diagnostic(self.call["file"], self.call["line"], 1, f"{title}: {message}")
        return self.path, Finding(place, refusing)


def refused_calls(folders: Mapping[str, Folder], edges: Mapping[str, Sequence[Edge]]) -> Iterator[tuple[str, Finding]]:
    """The first ones of each folder, with its path."""
    configuring = _configuring(folders, edges)
    for path, there in edges.items():
        yield from islice(_refused_in(folders[path], there, configuring), MAX_FAULTS)


def _refused_in(
    caller: Folder, edges: Sequence[Edge], configuring: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[str, Finding]]:
    siblings = {edge.target: edge.callee for edge in edges}
    is_sure = len(edges) == len(caller.calls) and len(siblings) <= _MAX_SIBLINGS
    for edge in edges:
        if edge.call["repeating"] and edge.target in configuring:
            folder, provider = configuring[edge.target]
            message = (
                f"found {edge.call['repetition']}, expected none: {shown(folder or 'the root')} configures the "
                f"provider {shown(provider)} itself"
            )
            yield edge.finding(message, edge.call["repeating"])
        if edge.call["providers"] is not None:
            yield from _passed(edge, dict(edge.call["providers"]))
            for theirs, ours in edge.call["providers"]:
                yield from _fitting(edge, theirs, ours, caller, [*siblings.values()] if is_sure else None)


def _configuring(folders: Mapping[str, Folder], edges: Mapping[str, Sequence[Edge]]) -> dict[str, tuple[str, str]]:
    """For each folder that configures a provider, itself or by its calls: which folder does, and which provider."""
    callers: dict[str, list[str]] = {}
    for path, there in edges.items():
        for edge in there:
            callers.setdefault(edge.target, []).append(path)
    found = {path: (path, next(iter(one.configured))) for path, one in folders.items() if one.configured}
    waiting = list(found)
    while waiting:
        target = waiting.pop()
        for caller in callers.get(target, ()):
            if caller not in found:
                found[caller] = found[target]
                waiting.append(caller)
    return found


def _passed(edge: Edge, passed: Mapping[str, str]) -> Iterator[tuple[str, Finding]]:
    for name in passed:
        if name in edge.callee.configured:
            yield edge.finding(f"passes the provider {shown(name)}, which {edge.folder} configures itself")
    for name in edge.callee.needed:
        if name not in passed:
            how = f"providers = {{ {shown(name)} = … }}"
            yield edge.finding(f"{edge.folder} needs the provider configuration {shown(name)}, expected {how}")


def _fitting(
    edge: Edge, theirs: str, ours: str, caller: Folder, siblings: Sequence[Folder] | None
) -> Iterator[tuple[str, Finding]]:
    """A provider that is passed must be one that the module knows, and of the same type."""
    callee = edge.callee
    missing, different = NONE, NONE
    for client in _REGISTRIES:
        is_declared = theirs in callee.declared
        expected = callee.type_of(theirs, client) if is_declared else _guessed(theirs, siblings, client)
        if expected is None:
            continue
        if not is_declared and theirs not in callee.empty and expected[:2] != ("", _DEFAULT_NAMESPACE):
            missing |= client
        # Clients look for the called module's name here.
        if caller.type_of(theirs if theirs in caller.required else ours, client) != expected:
            different |= client
    if missing:
        message = f"passes the provider {shown(theirs)}, expected one that {edge.folder} requires"
        yield edge.finding(message, missing)
    if different & ~missing:
        message = f"passes {shown(ours)} as {shown(theirs)}, expected a configuration of the same provider"
        yield edge.finding(message, different & ~missing)


def _guessed(theirs: str, siblings: Sequence[Folder] | None, client: Clients) -> Type | None:
    """Of a provider that the called module does not declare by this name: clients take the type that any module which
    the same folder calls gives to the name. None if that is not sure.
    """
    name, _, _ = theirs.partition(".")
    if siblings is None:
        return None
    known = {one.type_of(name, client) for one in siblings if one.knows(name)}
    return known.pop() if len(known) == 1 else _implied(name) if not known else None


def _implied(name: str) -> Type:
    return "", _DEFAULT_NAMESPACE, name


def _type(name: str, source: str, client: Clients) -> Type:
    """Of a provider with this local name; without a source it is implied."""
    if not source:
        return ("terraform.io", "builtin", name) if name == "terraform" else _implied(name)
    *above, kind = source.lower().split("/")
    host = above[0] if len(above) > 1 else ""
    return "" if host == _REGISTRIES[client] else host, above[-1] if above else _DEFAULT_NAMESPACE, kind
