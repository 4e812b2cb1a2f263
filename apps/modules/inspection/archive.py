"""The findings that concern several folders of an archive: circles of calls, the providers that calls pass, inputs and
outputs.

Sources: `module_install.go` of both clients (a circle ends when its paths are too long for a file system), and
`node_module_variable.go`, `evaluate.go` of Terraform and OpenTofu for inputs and outputs. Providers are in `passing`,
and values that clients need on loading in `early_values`.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from apps.lib.hcl.files import Diagnostic
from apps.modules.inspection.blocks import MAX_FAULTS
from apps.modules.inspection.early_values import refused_values
from apps.modules.inspection.interfaces import Interface
from apps.modules.inspection.language.clients import EVERY, NONE, Clients, Finding, required, since
from apps.modules.inspection.language.files import requirements
from apps.modules.inspection.language.plan_errors import (
    MAX_PLAN_ERRORS,
    PlanError,
    around,
    circles,
    in_order,
    nearest,
    shown,
)
from apps.modules.inspection.loading import called_folder, local_target
from apps.modules.inspection.passing import Edge, Folder, refused_calls

Document = dict[str, Any]
_IMPORTING = EVERY & ~since(None, 16)  # clients that take import blocks in the root of a configuration only


def judge_archive(
    units: Mapping[str, Document],
    interfaces: Mapping[str, Interface],
    refusing: Mapping[str, int],
    faults: dict[str, list[dict[str, Any]]],
) -> None:
    """Add what the folders say together to the units and faults, all by path. `interfaces`: of the folders of which
    everything is known; `refusing`: the clients that do not load a folder, unless all of them do.
    """
    folders = {path: Folder(interface) for path, interface in interfaces.items()}
    edges = {path: list(_edges(path, folders)) for path in folders}
    findings = [*_circles(units), *refused_calls(folders, edges), *refused_values(folders, edges)]
    whole = {path: refusing.get(path, NONE) | _importing(one) for path, one in units.items()}
    for path, finding in findings:
        whole[path] |= finding.refusing
    findings += _inherited(folders, whole)
    so_far = dict(refusing)
    for path, finding in findings:
        if whole[path] == EVERY:
            found = faults.setdefault(path, [])
            if len(found) < MAX_FAULTS:
                found.append(finding.diagnostic.as_dict())
        else:
            so_far[path] = so_far.get(path, NONE) | finding.refusing
            _require(units[path], Finding(finding.diagnostic, so_far[path]))
    for path, there in edges.items():
        errors = [*islice(_inputs(there), MAX_PLAN_ERRORS), *islice(_outputs(interfaces[path], there), MAX_PLAN_ERRORS)]
        if errors and path not in faults:
            known = [PlanError(**row) for row in units[path].get("plan_errors", ())]
            units[path]["plan_errors"] = [one.as_dict() for one in in_order([*known, *errors])]
    for path in faults:
        units[path].pop("plan_errors", None)


def _importing(unit: Document) -> Clients:
    """Examples are the root of a configuration."""
    return _IMPORTING if "imports" in unit and unit["kind"] != "example" else NONE


def _inherited(folders: Mapping[str, Folder], whole: dict[str, Clients]) -> list[tuple[str, Finding]]:
    """Return the findings that callers inherit: a client that does not load a module does not load its callers, and is
    added to their `whole` verdict.
    """
    called = {
        path: [(call, target) for call in one.calls if (target := local_target(path, call["source"])) is not None]
        for path, one in folders.items()
    }
    callers: dict[str, list[str]] = {}
    for path, there in called.items():
        for _, target in there:
            callers.setdefault(target, []).append(path)
    waiting = [path for path, clients in whole.items() if clients not in (NONE, EVERY)]
    while waiting:
        target = waiting.pop()
        for caller in callers.get(target, ()):
            if (clients := whole[caller] | whole[target]) != whole[caller]:
                whole[caller] = clients
                waiting.append(caller)
    found = []
    for path, there in called.items():
        for call, target in there:
            if (clients := whole.get(target, NONE)) not in (NONE, EVERY):
                message = f'module "{shown(call["name"])}": {shown(call["source"])} needs {required(EVERY & ~clients)}'
                found.append((path, Finding(Diagnostic(call["file"], call["line"], 1, message), clients)))
    return found


def _require(unit: Document, finding: Finding) -> None:
    """Record what only some clients refuse as a requirement of the others, each one narrower than those before."""
    for row in requirements([finding]):
        if all(known["text"] != row["text"] for known in unit.get("requires", ())):
            unit["requires"] = [*unit.get("requires", ()), row]


def _edges(path: str, folders: Mapping[str, Folder]) -> Iterator[Edge]:
    """The calls of a folder whose module is known."""
    for call in folders[path].calls:
        target = local_target(path, call["source"])
        if target is not None and target in folders:
            given = None if call["inputs"] is None else frozenset(call["inputs"])
            yield Edge(path, call, target, folders[target], given)


def _circles(units: Mapping[str, Document]) -> Iterator[tuple[str, Finding]]:
    """Clients follow the calls until a path is too long for a file system."""
    calls: dict[str, dict[str, Document]] = {path: {} for path in units}
    for path, unit in units.items():
        for call in unit["calls"]:
            target = called_folder(unit, call)
            if target is not None and target in units:
                calls[path].setdefault(target, call)
    for circle in circles(calls):
        first, call = circle[0], calls[circle[0]][circle[1 % len(circle)]]
        if len(circle) == 1:
            message = f"module {shown(call['name'])} calls its own folder, expected another one"
        else:
            path = around(shown(one or ".") for one in circle)
            message = f"module {shown(call['name'])} is part of a circle of calls: {path}"
        yield first, Finding(Diagnostic(call["file"], call["line"], 1, message))


def _inputs(edges: list[Edge]) -> Iterator[PlanError]:
    for edge in edges:
        if edge.given is None:
            continue
        inputs = edge.callee.inputs
        title, folder = f'module "{shown(edge.call["name"])}"', edge.folder
        file, line = edge.call["file"], edge.call["line"]
        for name in edge.call["inputs"]:
            if name not in inputs:
                near = nearest(name, inputs)
                hint = f"Write {near}." if near else f'Remove it, or add variable "{shown(name)}" to {folder}.'
                yield PlanError(file, line, f"{title}: {folder} has no input {shown(name)}", hint)
        for name in edge.callee.required_inputs:
            if name not in edge.given:
                message = f"{title}: {folder} requires the input {shown(name)}, which is not set"
                yield PlanError(file, line, message, f"Set {shown(name)}, or give the variable a default.")


def _outputs(interface: Interface, edges: list[Edge]) -> Iterator[PlanError]:
    called = {edge.call["name"]: edge for edge in edges}
    for name, output, file, line in interface["outputs_used"]:
        edge = called.get(name)
        if edge is not None and output not in edge.callee.outputs:
            near = nearest(output, edge.callee.outputs)
            hint = f"Write {near}." if near else f'Add output "{shown(output)}" to {edge.folder}.'
            message = f"found module.{shown(name)}.{shown(output)}, but {edge.folder} has no such output"
            yield PlanError(file, line, message, hint)
