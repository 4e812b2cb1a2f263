"""Inspection results of a module's files for its pages. Empty for a version that was never inspected."""

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Self

from apps.modules.models import ModuleVersion

Rows = list[dict[str, Any]]
# The path segments of the kinds' pages.
_TOPS = {"submodule": "modules/", "example": "examples/"}


@dataclass(frozen=True)
class Unit:
    """A folder with configuration. The rows have the keys that apps.modules.inspection documents."""

    path: str = ""
    kind: str = "root"
    name: str = ""
    readme: str = ""
    summary: str = ""
    required_version: Rows = field(default_factory=list)
    variables: Rows = field(default_factory=list)
    outputs: Rows = field(default_factory=list)
    resources: Rows = field(default_factory=list)
    providers: Rows = field(default_factory=list)
    calls: Rows = field(default_factory=list)
    warnings: Rows = field(default_factory=list)
    requires: Rows = field(default_factory=list)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """From its JSON; ignores unknown keys and allows missing ones of other Larder versions."""
        return cls(**{name: fields[name] for name in cls.__dataclass_fields__ if name in fields})

    @property
    def route(self) -> str:
        return f"portal:module-{'folder' if self.kind == 'other' else self.kind}"

    @property
    def slug(self) -> str:
        """The name in its page's URL: `vpc` for modules/vpc, `compute/vm` for modules/compute/vm."""
        return self.path.removeprefix(_TOPS.get(self.kind, ""))

    @property
    def parent(self) -> str:
        """The folder that it is listed below; empty for those directly in modules/ and examples/."""
        above, _, _ = self.path.rpartition("/")
        return "" if self.kind in _TOPS and "/" not in self.slug else above

    @property
    def required(self) -> Rows:
        return [variable for variable in self.variables if variable["required"]]

    @property
    def optional(self) -> Rows:
        return [variable for variable in self.variables if not variable["required"]]

    @property
    def managed(self) -> Rows:
        return [resource for resource in self.resources if resource["mode"] == "managed"]

    @property
    def looked_up(self) -> Rows:
        """Data sources and ephemeral resources."""
        return [resource for resource in self.resources if resource["mode"] != "managed"]

    @property
    def constraint(self) -> str:
        """The required OpenTofu versions: `>= 1.6, < 2.0`."""
        return ", ".join(row["text"] for row in self.required_version)

    @property
    def called(self) -> "list[Call]":
        return [Call(row, self._folder(row["source"])) for row in self.calls]

    def _folder(self, source: str) -> str:
        """The folder in the archive that a local source means; empty for other sources."""
        if not source.startswith(("./", "../")):
            return ""
        path = posixpath.normpath(posixpath.join(self.path, source))
        return "" if path.startswith("..") or path == "." else path


def grouped(units: Iterable[Unit]) -> list[tuple[str, list[Unit]]]:
    """(heading, units) in order; the heading is empty for units that need none."""
    headed = groupby(units, lambda one: one.parent or ("Other folders" if one.kind == "other" else ""))
    return [(heading, list(found)) for heading, found in headed]


@dataclass(frozen=True)
class Call:
    """A module block; `folder` is the folder in this archive that its source means, or empty."""

    row: dict[str, Any]
    folder: str


@dataclass(frozen=True)
class Units:
    all: list[Unit]
    is_inspected: bool

    @classmethod
    def from_version(cls, version: ModuleVersion) -> Self:
        found = version.inspection.get("units", [])
        return cls([Unit.from_json(fields) for fields in found], is_inspected=bool(found))

    @property
    def root(self) -> Unit:
        return next((unit for unit in self.all if unit.kind == "root"), Unit())

    @property
    def has_root(self) -> bool:
        """The module itself can be called; otherwise only its submodules can."""
        return not self.is_inspected or any(unit.kind == "root" for unit in self.all)

    @property
    def submodules(self) -> list[Unit]:
        return self.of_kind("submodule")

    @property
    def examples(self) -> list[Unit]:
        return self.of_kind("example")

    @property
    def warnings(self) -> Rows:
        return [warning for unit in self.all for warning in unit.warnings]

    def named(self, kind: str, slug: str) -> Unit | None:
        return next((unit for unit in self.all if unit.kind == kind and unit.slug == slug), None)

    def below(self, unit: Unit) -> list[Unit]:
        return [one for one in self.all if one.path.startswith(f"{unit.path}/")]

    def at(self, folders: Iterable[str]) -> dict[str, Unit]:
        wanted = set(folders)
        return {unit.path: unit for unit in self.all if unit.path in wanted}

    def of_kind(self, kind: str) -> list[Unit]:
        """In tree order: units directly in the kind's folder first, then folder by folder."""
        return sorted((one for one in self.all if one.kind == kind), key=lambda one: (one.parent, one.name))
