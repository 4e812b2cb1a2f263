"""The rules: each difference between two inspections as a change with a severity.

docs/version-guard.md has the table of SENTENCES: a test compares them.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from apps.lib.errors import Invalid
from apps.modules.comparing import types
from apps.modules.comparing.constraints import ANOTHER_MAJOR, NARROWER, UNKNOWN, WIDER, compare_constraints
from apps.modules.inspection.language.types import Type, parse
from apps.releases.catalogue.comparing import Change, Severity, severity_of, sorted_by_severity

SENTENCES = {
    "input_removed": "input removed",
    "input_renamed": "input renamed",
    "input_added_required": "new required input",
    "input_made_required": "default removed: the input is now required",
    "input_type_narrowed": "narrower type: values accepted before now fail",
    "input_not_nullable": "null no longer accepted, no default",
    "input_default_changed": "default changed",
    "input_type_unreadable": "type changed, and Larder cannot read it",
    "input_attribute_removed": "attribute removed from the type: its value is ignored",
    "input_type_specified": "type made specific: values of another shape fail",
    "input_null_is_default": "null now means the default",
    "input_validated": "new validation: some values may be rejected",
    "input_constant": "value must now be known before a plan",
    "input_not_constant": "value may now be unknown before a plan",
    "input_sensitive": "input now sensitive",
    "input_no_longer_sensitive": "input no longer sensitive",
    "input_added": "new optional input",
    "input_made_optional": "default added: the input is now optional",
    "input_type_widened": "wider type: more values accepted",
    "input_deprecated": "input deprecated",
    "output_removed": "output removed",
    "output_type_narrowed": "narrower type: part of the value removed",
    "output_type_extended": "wider type: the value contains more",
    "output_type_changed": "type added, removed or not comparable: the value may be converted",
    "output_sensitive": "output now sensitive: callers that pass it on must mark it sensitive",
    "output_no_longer_sensitive": "output no longer sensitive",
    "output_added": "new output",
    "output_deprecated": "output deprecated",
    "resource_instances_replaced": "new instance addresses: they are destroyed and created again",
    "resource_instances_changed": "for_each changed: instances may be destroyed or created",
    "resource_forgotten": "forgotten by a removed block: the object stays, but is no longer managed",
    "resource_removed": "removed without a moved block: its objects are destroyed",
    "placeholder_removed": "removed, without destroying a real object",
    "resource_moved": "moved by a moved block",
    "resource_added": "a new address",
    "import_added": "imports an existing object",
    "action_removed": "action removed: commands that invoke it fail",
    "action_added": "new action",
    "call_changed": "module call changed to another module or version",
    "provider_added": "new provider to configure",
    "provider_replaced": "provider source changed",
    "provider_alias_added": "another provider configuration must be passed",
    "provider_alias_removed": "a required provider configuration is no longer accepted",
    "provider_removed": "provider no longer needed",
    "provider_constraint_raised": "drops support for a major provider version",
    "provider_constraint_narrowed": "narrower provider constraint",
    "provider_constraint_widened": "wider provider constraint",
    "provider_constraint_changed": "constraint changed, and Larder cannot read it",
    "client_constraint_raised": "drops support for a major version of OpenTofu or Terraform",
    "client_constraint_narrowed": "narrower constraint on OpenTofu or Terraform",
    "client_constraint_widened": "wider constraint on OpenTofu or Terraform",
    "client_constraint_changed": "constraint changed, and Larder cannot read it",
    "submodule_removed": "submodule removed",
    "submodule_added": "new submodule",
}
__all__ = ["Change", "Severity", "between", "severity_of"]

Document = Mapping[str, Any]
Managed = dict[str, Document]
Expression = Mapping[str, str] | None
_PLACEHOLDERS = ("null_resource.", "terraform_data.")
# How a default of such types begins.
_SHAPES = {"{": ("map", "object"), "[": ("list", "set", "tuple"), '"': ("string", "number", "bool")}
# Booleans and numbers as they were written before version 0.12.
_QUOTED = {"bool": re.compile(r'"(?:true|false)"'), "number": re.compile(r'"-?\d+(?:\.\d+)?"', re.ASCII)}
_ADDRESS = re.compile(r"^([\w-]+\.[\w-]+).*", re.DOTALL)  # of a managed resource or a module call


def sentence_of(rule: str) -> str:
    return SENTENCES[rule]


def between(old: Document, new: Document) -> list[Change]:
    """The changes from one inspection to another, the most severe first."""
    before, after = _units(old), _units(new)
    found = [change for path in before.keys() & after.keys() for change in _unit(before[path], after[path], path)]
    found += [
        Change("submodule", path or ".", Severity.BREAKING, "submodule_removed", before=path)
        for path in before.keys() - after.keys()
    ]
    found += [
        Change("submodule", path or ".", Severity.COMPATIBLE, "submodule_added", after=path)
        for path in after.keys() - before.keys()
    ]
    return sorted_by_severity(found)


def _units(document: Document) -> dict[str, Document]:
    """Return the module and its submodules: examples and tests are not called."""
    return {unit["path"]: unit for unit in document.get("units", ()) if unit["kind"] in ("root", "submodule")}


def _unit(old: Document, new: Document, path: str) -> Iterator[Change]:
    yield from _inputs(_named(old["variables"]), _named(new["variables"]), path)
    yield from _outputs(_named(old["outputs"]), _named(new["outputs"]), path)
    yield from _addresses(old, new, path)
    yield from _actions(old, new, path)
    yield from _calls(_named(old["calls"]), _named(new["calls"]), path)
    yield from _providers(_named(old["providers"]), _named(new["providers"]), path)
    yield from _clients(old, new, path)


def _named(entries: Iterable[Document]) -> dict[str, Document]:
    return {entry["name"]: entry for entry in entries}


# --- Inputs -----------------------------------------------------------------------------------------------------------


def _inputs(old: Mapping[str, Document], new: Mapping[str, Document], unit: str) -> Iterator[Change]:
    removed, added = old.keys() - new.keys(), new.keys() - old.keys()
    renamed = _renamed([old[name] for name in removed], [new[name] for name in added])
    for before, after in renamed.items():
        yield Change("input", before, Severity.BREAKING, "input_renamed", before, after, unit)
    for name in removed - renamed.keys():
        yield Change("input", name, Severity.BREAKING, "input_removed", _declared(old[name]), "", unit)
    for name in added - set(renamed.values()):
        required = new[name]["required"]
        severity = Severity.BREAKING if required else Severity.COMPATIBLE
        rule = "input_added_required" if required else "input_added"
        yield Change("input", name, severity, rule, "", _declared(new[name]), unit)
    for name in old.keys() & new.keys():
        yield from _input(name, old[name], new[name], unit)


def _input(name: str, old: Document, new: Document, unit: str) -> Iterator[Change]:
    if old["required"] != new["required"]:
        rule = "input_made_required" if new["required"] else "input_made_optional"
        severity = Severity.BREAKING if new["required"] else Severity.COMPATIBLE
        yield Change("input", name, severity, rule, old["default"] or "", new["default"] or "", unit)
    elif old["default"] != new["default"]:
        before, after = old["default"] or "", new["default"] or ""
        yield Change("input", name, Severity.RISKY, "input_default_changed", before, after, unit)
    yield from _type(name, old, new, unit)
    if old["nullable"] and not new["nullable"]:
        # With a default, null is no error: it stands for the default.
        rule = "input_not_nullable" if new["required"] else "input_null_is_default"
        severity = Severity.BREAKING if new["required"] else Severity.RISKY
        yield Change("input", name, severity, rule, "null", new["default"] or "", unit)
    if more := [message for message in new["validations"] if message not in old["validations"]]:
        yield Change("input", name, Severity.RISKY, "input_validated", "", "; ".join(more), unit)
    if "const" in old and old["const"] != new["const"]:
        rule = "input_constant" if new["const"] else "input_not_constant"
        yield Change("input", name, Severity.BREAKING if new["const"] else Severity.COMPATIBLE, rule, unit=unit)
    if old["sensitive"] != new["sensitive"]:
        rule = "input_sensitive" if new["sensitive"] else "input_no_longer_sensitive"
        yield Change("input", name, Severity.RISKY, rule, unit=unit)
    if new.get("deprecated") and not old.get("deprecated"):
        yield Change("input", name, Severity.COMPATIBLE, "input_deprecated", "", new["deprecated"], unit)


def _type(name: str, before: Document, after: Document, unit: str) -> Iterator[Change]:
    texts = before["type"], after["type"]
    try:
        old, new = map(parse, texts)
    except Invalid:
        if texts[0] != texts[1]:
            yield Change("input", name, Severity.RISKY, "input_type_unreadable", *texts, unit)
        return
    for path, was, is_now in types.changed_defaults(new, old):
        shown = f"{path}: {was}", f"{path}: {is_now}"
        yield Change("input", name, Severity.RISKY, "input_default_changed", *shown, unit)
    lost = types.lost_attributes(new, old)
    if lost:
        yield Change("input", name, Severity.RISKY, "input_attribute_removed", ", ".join(lost), "", unit)
    if old == new:
        return
    rule, severity = "input_type_narrowed", Severity.BREAKING
    if types.accepts(new, old):
        if lost:
            return
        rule, severity = "input_type_widened", Severity.COMPATIBLE
    elif _only_specified(new, old, before["default"] or ""):
        rule, severity = "input_type_specified", Severity.RISKY
    yield Change("input", name, severity, rule, texts[0] or "any", texts[1] or "any", unit)


def _only_specified(new: Type, old: Type, default: str) -> bool:
    """A default tells what an open type stood for: a list is no mere detail of what was a map."""
    if old.name == "string" and new.name in ("number", "bool"):
        return bool(_QUOTED[new.name].fullmatch(default))
    fits = next((names for start, names in _SHAPES.items() if default.startswith(start)), (new.name,))
    return types.specifies(new, old) and new.name in fits


def _declared(entry: Document) -> str:
    return str(entry["type"] or "any")


def _renamed(removed: Iterable[Document], added: Iterable[Document]) -> dict[str, str]:
    """Return the entries that look alike under another name, if no others do. A hint for people: a renamed one was
    removed.
    """
    before, after = defaultdict[Any, list[Document]](list), defaultdict[Any, list[Document]](list)
    for forms, entries in ((before, removed), (after, added)):
        for entry in entries:
            forms[entry["type"], entry["default"], entry["description"]].append(entry)
    return {
        alike[0]["name"]: after[form][0]["name"]
        for form, alike in before.items()
        if len(alike) == len(after.get(form, ())) == 1 and alike[0]["description"]
    }


# --- Outputs ----------------------------------------------------------------------------------------------------------


def _outputs(old: Mapping[str, Document], new: Mapping[str, Document], unit: str) -> Iterator[Change]:
    for name in old.keys() - new.keys():
        yield Change("output", name, Severity.BREAKING, "output_removed", name, "", unit)
    for name in new.keys() - old.keys():
        yield Change("output", name, Severity.COMPATIBLE, "output_added", "", name, unit)
    for name in old.keys() & new.keys():
        yield from _output_type(name, old[name].get("type"), new[name].get("type"), unit)
        if new[name]["sensitive"] and not old[name]["sensitive"]:
            yield Change("output", name, Severity.BREAKING, "output_sensitive", unit=unit)
        elif old[name]["sensitive"] and not new[name]["sensitive"]:
            yield Change("output", name, Severity.RISKY, "output_no_longer_sensitive", unit=unit)
        if new[name].get("deprecated") and not old[name].get("deprecated"):
            yield Change("output", name, Severity.COMPATIBLE, "output_deprecated", "", new[name]["deprecated"], unit)


def _output_type(name: str, before: str | None, after: str | None, unit: str) -> Iterator[Change]:
    """None is what an older Larder knew of it. Without a type the type of the value is unknown."""
    if before is None or after is None or before == after:
        return
    rule, severity = "output_type_changed", Severity.RISKY
    if before and after:
        try:
            old, new = parse(before), parse(after)
        except Invalid:
            pass
        else:
            if old == new:
                return
            if not types.is_vague(old) and not types.is_vague(new):
                extended = types.provides(new, old)
                rule = "output_type_extended" if extended else "output_type_narrowed"
                severity = Severity.COMPATIBLE if extended else Severity.BREAKING
    yield Change("output", name, severity, rule, before or "any", after or "any", unit)


# --- Addresses in the state: resources and module calls ---------------------------------------------------------------


def _addresses(old: Document, new: Document, unit: str) -> Iterator[Change]:
    """A managed address that is gone destroys what it stood for, unless `moved` says where it went, or `removed` that
    it stays without being managed.
    """
    before, after = _managed(old), _managed(new)
    forgotten = {one["from"] for one in new.get("removed", ()) if one["destroy"] is False}
    moved = {one["from"]: one["to"] for one in new.get("moved", ())}
    # The resource or call of this module to which a `from` belongs: it may name an instance, or what a call made.
    ends = {_ADDRESS.sub(r"\1", source): target for source, target in reversed(moved.items())}
    for address in before.keys() - after.keys():
        where = ends.get(address)
        if where is None and address in forgotten:
            yield Change("resource", address, Severity.RISKY, "resource_forgotten", address, "", unit)
        elif where is None and address.startswith(_PLACEHOLDERS):
            yield Change("resource", address, Severity.RISKY, "placeholder_removed", address, "", unit)
        elif where is None:
            yield Change("resource", address, Severity.BREAKING, "resource_removed", address, "", unit)
        else:
            yield Change("resource", address, Severity.COMPATIBLE, "resource_moved", address, where, unit)
    for address in after.keys() - before.keys() - set(moved.values()):
        yield Change("resource", address, Severity.COMPATIBLE, "resource_added", "", address, unit)
    yield from _instances(before, after, ends, unit)
    imported = {one["to"] for one in old.get("imports", ())}
    for target in {one["to"] for one in new.get("imports", ())} - imported:
        yield Change("resource", target, Severity.RISKY, "import_added", "", target, unit)


def _instances(before: Managed, after: Managed, moved: Collection[str], unit: str) -> Iterator[Change]:
    """Clients themselves move a single instance to `[0]` and back, but know no key of `for_each`."""
    for address in before.keys() & after.keys() - set(moved):
        repetitions = [one.get("repetition") for one in (before[address], after[address])]
        if repetitions == ["for_each", "for_each"]:
            yield from _expressions(address, before[address].get("for_each"), after[address].get("for_each"), unit)
        if None in repetitions or (repetitions[0] == "for_each") == (repetitions[1] == "for_each"):
            continue
        was, is_now = (one or "" for one in repetitions)
        rule, severity = "resource_instances_replaced", Severity.BREAKING
        if address.startswith(_PLACEHOLDERS):
            rule, severity = "placeholder_removed", Severity.RISKY
        yield Change("resource", address, severity, rule, was, is_now, unit)


def _expressions(address: str, old: Expression, new: Expression, unit: str) -> Iterator[Change]:
    """Of `for_each`; None where an older Larder has not read it. Who knows which keys a new expression has?"""
    if old and new and old["digest"] != new["digest"]:
        texts = (old["text"], new["text"])
        yield Change("resource", address, Severity.RISKY, "resource_instances_changed", *texts, unit)


def _managed(unit: Document) -> Managed:
    """The row of each address, with its repetition: empty without one, absent where an older Larder has not read it."""
    resources = {f"{one['type']}.{one['name']}": one for one in unit["resources"] if one["mode"] == "managed"}
    return resources | {f"module.{call['name']}": call for call in unit["calls"]}


def _actions(old: Document, new: Document, unit: str) -> Iterator[Change]:
    before, after = ({f"{one['type']}.{one['name']}" for one in each.get("actions", ())} for each in (old, new))
    for address in before - after:
        yield Change("action", address, Severity.RISKY, "action_removed", address, "", unit)
    for address in after - before:
        yield Change("action", address, Severity.COMPATIBLE, "action_added", "", address, unit)


def _calls(old: Mapping[str, Document], new: Mapping[str, Document], unit: str) -> Iterator[Change]:
    for name in old.keys() & new.keys():
        # An older Larder left the quotes of a computed source.
        before, after = (
            " ".join(part.strip('"') for part in (one["source"], one["version"]) if part)
            for one in (old[name], new[name])
        )
        if before != after:
            yield Change("call", name, Severity.RISKY, "call_changed", before, after, unit)


# --- What it needs ----------------------------------------------------------------------------------------------------


def _providers(old: Mapping[str, Document], new: Mapping[str, Document], unit: str) -> Iterator[Change]:
    for name in new.keys() - old.keys():
        asked = " ".join(filter(None, (new[name]["source"], new[name]["version"])))
        yield Change("provider", name, Severity.RISKY, "provider_added", "", asked, unit)
    for name in old.keys() - new.keys():
        yield Change("provider", name, Severity.COMPATIBLE, "provider_removed", old[name]["source"], "", unit)
    for name in old.keys() & new.keys():
        before, after = old[name], new[name]
        if before["source"] and after["source"] and before["source"] != after["source"]:
            sources = before["source"], after["source"]
            yield Change("provider", name, Severity.BREAKING, "provider_replaced", *sources, unit)
        yield from _constraint("provider", name, before["version"], after["version"], unit)
        if more := [alias for alias in after["aliases"] if alias not in before["aliases"]]:
            yield Change("provider", name, Severity.BREAKING, "provider_alias_added", "", ", ".join(more), unit)
        if less := [alias for alias in before["aliases"] if alias not in after["aliases"]]:
            yield Change("provider", name, Severity.BREAKING, "provider_alias_removed", ", ".join(less), "", unit)


def _clients(old: Document, new: Document, unit: str) -> Iterator[Change]:
    """`language { compatible_with }` says for one client what `required_version` says for all."""
    before, after = (", ".join(one["text"] for one in each["required_version"]) for each in (old, new))
    yield from _constraint("client", "required_version", before, after, unit)
    was, is_now = (defaultdict[str, list[str]](list) for _ in range(2))
    for texts, each in ((was, old), (is_now, new)):
        for one in each.get("compatible_with", ()):
            texts[one["client"]].append(one["text"])
    for client in was.keys() | is_now.keys():
        said = ", ".join(was.get(client, [before])), ", ".join(is_now.get(client, [after]))
        yield from _constraint("client", client, *said, unit)


def _constraint(kind: str, name: str, before: str, after: str, unit: str) -> Iterator[Change]:
    """Raised: what the old one allowed is allowed no longer. By a new major number that breaks; else it is risky."""
    if before == after:
        return
    verdict = compare_constraints(before, after)
    severity = {
        WIDER: Severity.COMPATIBLE,
        NARROWER: Severity.RISKY,
        UNKNOWN: Severity.RISKY,
        ANOTHER_MAJOR: Severity.BREAKING,
    }[verdict]
    yield Change(kind, name, severity, f"{kind}_constraint_{verdict}", before, after, unit)
