"""Short ways to ask the inspection about a piece of HCL."""

import json

from apps.modules.inspection.units import read_unit


def unit_of(text="", **files):
    """The unit of these files: `main_tf="…"` is main.tf; a text alone is main.tf as well."""
    named = {path_of(name): content for name, content in ({"main_tf": text} | files).items() if content != ""}
    return read_unit(
        {path: content if isinstance(content, bytes) else content.encode() for path, content in named.items()}
    )


def variable(text, name="x", **files):
    (found,) = [entry for entry in unit_of(text, **files).parts["variables"] if entry["name"] == name]
    return found


def of_default(source, **others):
    """The variable x with this default."""
    return variable(f'variable "x" {{\n  default = {source}\n}}\n', **others)


def messages(unit):
    return [note.message for note in unit.diagnostics]


def as_json(**blocks):
    return json.dumps(blocks, indent=2)


def path_of(name):
    return name.replace("__", ".").replace("_tofu", ".tofu").replace("_tf", ".tf").replace("_json", ".json")
