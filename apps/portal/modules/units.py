"""Inspection results of a module's files for its pages. Empty for a version that was never inspected."""

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, Self

from apps.lib.addresses import ModuleAddress
from apps.modules.models import ModuleVersion

Rows = list[dict[str, Any]]
_CLIENTS = {"opentofu": "OpenTofu", "terraform": "Terraform"}
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
    compatible_with: Rows = field(default_factory=list)
    moved: Rows = field(default_factory=list)
    removed: Rows = field(default_factory=list)
    imports: Rows = field(default_factory=list)
    actions: Rows = field(default_factory=list)
    queries: Rows = field(default_factory=list)
    migrations: Rows = field(default_factory=list)
    warnings: Rows = field(default_factory=list)
    requires: Rows = field(default_factory=list)
    plan_errors: Rows = field(default_factory=list)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """From its JSON; ignores unknown keys and allows missing ones of other Larder versions."""
        return cls(**{name: fields[name] for name in cls.__dataclass_fields__ if name in fields})

    @property
    def place(self) -> str:
        """The kind of its page's URL: submodules and examples have theirs only in modules/ and examples/."""
        return self.kind if not self.path or self.path.startswith(_TOPS.get(self.kind, "/")) else "other"

    @property
    def route(self) -> str:
        return f"portal:module-{'folder' if self.place == 'other' else self.kind}"

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
    def data_sources(self) -> Rows:
        return [resource for resource in self.resources if resource["mode"] == "data"]

    @property
    def ephemeral(self) -> Rows:
        return [resource for resource in self.resources if resource["mode"] == "ephemeral"]

    @property
    def requirements(self) -> list[tuple[str, str]]:
        """The required versions by client: `[("OpenTofu or Terraform", ">= 1.6, < 2.0")]`."""
        named = ((str(row["client"]), str(row["text"])) for row in self.compatible_with)
        found = [(_CLIENTS.get(client, client), text) for client, text in named]
        if self.required_version:
            # OpenTofu 1.12 reads what `language` says for it. Modules that say so mean the other for Terraform.
            both = "Terraform" if any(client == "OpenTofu" for client, _ in found) else "OpenTofu or Terraform"
            found.append((both, ", ".join(row["text"] for row in self.required_version)))
        return found

    @property
    def state_changes(self) -> Rows:
        """The changes that a plan makes to the state besides creating and destroying."""
        removed = {True: "destroyed", False: "forgotten", None: "removed"}
        return [
            *({**row, "change": "moved", "address": row["from"]} for row in self.moved),
            *({**row, "change": removed[row["destroy"]], "address": row["from"]} for row in self.removed),
            *(
                {"change": "imported", "address": row["to"], "file": row["file"], "line": row["line"]}
                for row in self.imports
            ),
            *({**row, "change": "migrated", "address": f'{row["kind"]} "{row["type"]}"'} for row in self.migrations),
        ]

    @property
    def has_resources(self) -> bool:
        """There is something to show on the tab of resources."""
        return bool(self.resources or self.actions or self.state_changes or self.queries)

    @property
    def has_output_types(self) -> bool:
        return any(row.get("type") for row in self.outputs)

    @property
    def called(self) -> "list[Call]":
        found = []
        for row in self.calls:
            path, is_local = "", row["source"].startswith(("./", "../")) and "source" not in row.get("computed", ())
            if is_local:
                path = posixpath.normpath(posixpath.join(self.path, row["source"]))
            found.append(Call(row, "" if path.startswith("..") or path == "." else path))
        return found


def grouped(units: Iterable[Unit]) -> list[tuple[str, list[Unit]]]:
    """(heading, units) in order; the heading is empty for units that need none."""
    headed = groupby(units, lambda one: one.parent or ("Other folders" if one.kind == "other" else ""))
    return [(heading, list(found)) for heading, found in headed]


@dataclass(frozen=True)
class Call:
    """A module block; `folder` is the folder in this archive that its source means, or empty."""

    row: dict[str, Any]
    folder: str


class CalledUnit(NamedTuple):
    """The block that calls a unit of a module: the subject of its sections."""

    address: ModuleAddress
    version: str
    unit: Unit


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

    @property
    def plan_errors(self) -> Rows:
        return [error for unit in self.all for error in unit.plan_errors]

    def named(self, place: str, slug: str) -> Unit | None:
        return next((unit for unit in self.all if unit.place == place and unit.slug == slug), None)

    def below(self, unit: Unit) -> list[Unit]:
        return [one for one in self.all if one.path.startswith(f"{unit.path}/")]

    def at(self, folders: Iterable[str]) -> dict[str, Unit]:
        wanted = set(folders)
        return {unit.path: unit for unit in self.all if unit.path in wanted}

    def of_kind(self, kind: str) -> list[Unit]:
        """In tree order: units directly in the kind's folder first, then folder by folder."""
        return sorted((one for one in self.all if one.kind == kind), key=lambda one: (one.parent, one.name))
