"""The interface and the calls of a folder, as the part of a document from which `archive` judges the whole archive.

{"inputs": [name], "required_inputs": [name], "outputs": [name],
 "calls": [{"name", "source", "file", "line",             # the source is empty if it is computed
            "inputs": [name] | null, "providers": [[theirs, ours]] | null, "repetition", "repeating": clients,
            "values": {input: value}}],                  # of folders of the archive; those that refer to something
 "const": {input: true | false}, "locals": {name: value},
 "early": [[value, argument, file, line]],               # what clients evaluate when they load the folder
 "outputs_used": [[call, output, file, line]],
 "configured": [provider], "empty": [provider],           # by their local names, such as aws.replica
 "required": {provider: source}, "aliases": [provider]}

A value is the list of its references, such as var.name and data.aws_vpc.main; or a text with blanks between them, if
it is nothing but a reference or a text with references.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from apps.modules.inspection.blocks import Reading, Value
from apps.modules.inspection.declarations import Declarations
from apps.modules.inspection.language.calls import Call
from apps.modules.inspection.language.evaluation import Owner
from apps.modules.inspection.language.judge import Need
from apps.modules.inspection.language.uses import Uses
from apps.modules.inspection.loading import local_target

Interface = dict[str, Any]
References = str | Sequence[str]


def interface_of(readings: Mapping[str, Reading], found: Declarations) -> Interface | None:
    """Of a folder of which everything was read; None if that leaves something open."""
    judged = [one for reading in readings.values() for one in reading.judged]
    configurations = [one for file in judged for one in file.configurations]
    required = _required(found)
    if required is None or any(one.is_empty is None for one in configurations):
        return None
    values = _values(readings)
    calls = [_call(call, found, values.get(call.name, {})) for file in judged for call in file.calls]
    early = [
        [_early(need), need.user, need.finding.diagnostic.file, need.finding.diagnostic.line]
        for file in judged
        for need in file.needs
    ]
    repeated = {block.name for block in found.of("module") if {"count", "for_each"} & block.attributes.keys()}
    return {
        "inputs": [block.name for block in found.of("variable")],
        "required_inputs": [block.name for block in found.of("variable") if "default" not in block.attributes],
        "outputs": [block.name for block in found.of("output")],
        "const": {
            block.name: block.flag("const", absent=False, unreadable=False)
            for block in found.of("variable")
            if "const" in block.attributes
        },
        "locals": values.get("", {}) if early or any(call["values"] for call in calls) else {},
        "early": early,
        "calls": calls,
        "outputs_used": [
            [call, output, path, line]
            for path, reading in readings.items()
            for uses in _uses(reading)
            for (call, output, has_key), line in uses.outputs.items()
            # Without a key behind a repeated call, the name may be a key.
            if has_key or call not in repeated
        ],
        "configured": [one.name for one in configurations if not one.is_empty],
        "empty": [one.name for one in configurations if one.is_empty],
        **required,
    }


def _uses(reading: Reading) -> list[Uses]:
    return [one.uses for one in reading.judged if one.uses is not None]


def _values(readings: Mapping[str, Reading]) -> dict[str, dict[str, References]]:
    """Of the inputs of each call by its name, and of local values by an empty one."""
    values: dict[str, dict[str, References]] = {}
    for reading in readings.values():
        for uses in _uses(reading):
            for owner in uses.owned:
                if value := _value(uses, owner):
                    values.setdefault(owner[0], {})[owner[1]] = value
    return values


def _value(uses: Uses, owner: Owner) -> References:
    texts = [one.text for one in uses.owned[owner]]
    return " ".join(texts) if owner in uses.plain else texts


def _early(need: Need) -> References:
    reference = f"{need.kind}.{need.name}"
    return reference if need.is_plain else [reference]


def _call(call: Call, found: Declarations, values: Mapping[str, References]) -> dict[str, Any]:
    block = found.named["module", (call.name,)]
    source = block.attributes.get("source")
    address = source.literal if source is not None and isinstance(source.literal, str) else ""
    return {
        "name": call.name,
        "source": address,
        "file": block.file,
        "line": block.line,
        "inputs": call.inputs,
        "providers": call.providers,
        "repetition": call.repetition,
        "repeating": call.repeating,
        "values": {} if call.inputs is None or local_target("", address) is None else values,
    }


def _required(found: Declarations) -> dict[str, Any] | None:
    sources, aliases = {}, []
    for name, (_, value) in found.requirements.items():
        if not value.known:
            return None
        sources[name] = ""
        if value.entries is not None:
            source = value.entries.get("source")
            if source is not None and not isinstance(source.literal, str):
                return None
            sources[name] = str(source.literal) if source is not None else ""
            aliases += _aliases(value.entries.get("configuration_aliases"))
    return {"required": sources, "aliases": aliases}


def _aliases(value: Value | None) -> list[str]:
    return [] if value is None else [one for one in value.references if "." in one]
