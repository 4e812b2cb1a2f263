"""The blocks and attributes that are read, and at what cost. Everything else in a file only has to parse."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# Bounds on what one module may cost to read.
MAX_FILES = 4_000  # in the whole archive
MAX_FILE_BYTES = 1024 * 1024
MAX_VALUE_BYTES = 64 * 1024
MAX_DEPTH = 200  # brackets inside each other
MAX_DIAGNOSTICS = 100  # in one unit
MAX_FAULTS = 5  # in one unit
MAX_DOCUMENT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of block: how many labels it has, which attributes of it are kept, and which blocks inside it."""

    labels: int
    attributes: frozenset[str] = frozenset()
    blocks: Mapping[str, "Shape"] = field(default_factory=dict)
    every_attribute: bool = False  # whatever their names, and with the entries of objects

    def keeps(self, attribute: str) -> bool:
        return self.every_attribute or attribute in self.attributes


EXPRESSIONS = frozenset({"type"})  # never a literal; in JSON a string that holds one
LOCAL = "local"  # each value of a `locals` block is read as a block: no page shows it, but two of a name are a fault
REFERENCES = frozenset({"provider", "configuration_aliases"})

_OF_RESOURCE = frozenset({"provider"})
_FLAGS = frozenset({"description", "sensitive", "ephemeral", "deprecated"})

SCHEMA: Mapping[str, Shape] = {
    "terraform": Shape(0, frozenset({"required_version"}), {"required_providers": Shape(0, every_attribute=True)}),
    "variable": Shape(
        1, _FLAGS | {"type", "default", "nullable"}, {"validation": Shape(0, frozenset({"error_message"}))}
    ),
    "output": Shape(1, _FLAGS),
    "resource": Shape(2, _OF_RESOURCE),
    "data": Shape(2, _OF_RESOURCE),
    "ephemeral": Shape(2, _OF_RESOURCE),
    "provider": Shape(1, frozenset({"version", "alias"})),
    "module": Shape(1, frozenset({"source", "version"})),
    "moved": Shape(0, frozenset({"from", "to"})),
    "check": Shape(1, blocks={"data": Shape(2, _OF_RESOURCE)}),
}
