"""The health of a version: ten points that say how well it is described and pinned. Nothing of it is a gate.

It is found when a version is published or inspected again, and on reading where that is older. docs/module-health.md
has the points in the same order: a test compares. A point is its rule, what is said where it fails, and how to fix it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from apps.modules.models import ModuleVersion

MAX_NAMED = 5
_LICENCE = re.compile(r"(?:licen[cs]e|copying|unlicense)(?:[.-][\w.-]*)?", re.IGNORECASE)
_CHANGELOG = re.compile(r"(?:changelog|changes|history)(?:\.\w+)?", re.IGNORECASE)
# What pins a source that is no registry's.
_REFERENCE = re.compile(r"[?&](?:ref|tag|digest|checksum)=[^&]")

Document = Mapping[str, Any]


class Rule(NamedTuple):
    sentence: str
    failed: str
    hint: str


RULES = {
    "readme": Rule(
        "The root of the archive has a README.",
        "The root of the archive has no README.",
        "Add README.md with the module's purpose and an example call.",
    ),
    "example": Rule(
        "There is an example.", "There is no example.", "Add a configuration that calls the module under examples/."
    ),
    "licence": Rule(
        "The root of the archive has a licence.",
        "The root of the archive has no licence.",
        "Add LICENSE, even if it only reserves all rights.",
    ),
    "changelog": Rule(
        "The root of the archive has a changelog.",
        "The root of the archive has no changelog.",
        "Add CHANGELOG.md with a heading for each version.",
    ),
    "inputs_described": Rule(
        "Every input has a description.", "Inputs without a description", "Add a description to each variable."
    ),
    "inputs_typed": Rule(
        "Every input has a type.", "Inputs without a type", "Add a type to each variable; any accepts everything."
    ),
    "outputs_described": Rule(
        "Every output has a description.", "Outputs without a description", "Add a description to each output."
    ),
    "client_pinned": Rule(
        "required_version is set.", "required_version is not set.", "Add required_version to a terraform block."
    ),
    "providers_pinned": Rule(
        "Every provider has a version constraint.",
        "Providers without a version constraint",
        "Add a version to each entry of required_providers.",
    ),
    "calls_pinned": Rule(
        "Every module it calls is pinned to a version.",
        "Module calls without a version",
        "Add a version to each call from a registry, ?ref= to a source in Git, ?tag= to one over OCI.",
    ),
}
# Increase it with the rules: what an older one stored is not used any more.
VERSION = 1


@dataclass(frozen=True, slots=True)
class Point:
    """One rule, and what was found where it does not hold."""

    code: str
    gained: bool
    found: str = ""

    @property
    def sentence(self) -> str:
        return RULES[self.code].sentence

    @property
    def failed(self) -> str:
        """The fault, with its number and names where there can be several."""
        failed = RULES[self.code].failed
        return failed if failed.endswith(".") else f"{failed}: {self.found}."

    @property
    def hint(self) -> str:
        return RULES[self.code].hint


@dataclass(frozen=True, slots=True)
class Health:
    points: Sequence[Point]

    @property
    def score(self) -> int:
        return sum(point.gained for point in self.points)

    @property
    def total(self) -> int:
        return len(self.points)

    @property
    def missing(self) -> list[Point]:
        return [point for point in self.points if not point.gained]

    @property
    def gained(self) -> list[Point]:
        return [point for point in self.points if point.gained]

    def as_dict(self) -> dict[str, Any]:
        """Return the health in its stored form: `{"rules": 1, "missing": {code: what was found}}`."""
        return {"rules": VERSION, "missing": {point.code: point.found for point in self.missing}}

    @classmethod
    def from_dict(cls, stored: Any) -> Self | None:
        """Read the stored form; None if there is none, or if other rules made it."""
        if not isinstance(stored, dict) or stored.get("rules") != VERSION:
            return None
        missing = stored["missing"]
        return cls([Point(code, code not in missing, missing.get(code, "")) for code in RULES])


def health_of(version: ModuleVersion) -> Health | None:
    """None if the configuration was never read."""
    found = Health.from_dict(version.health)
    return found or measure(version.inspection, has_readme=bool(version.readme_html), files=version.files)


def measure(inspection: Document, *, has_readme: bool, files: Iterable[Document]) -> Health | None:
    """The health of the module and its submodules; examples and other folders count only as examples."""
    units: list[Document] = inspection.get("units", [])
    if not units:
        return None
    offered = [unit for unit in units if unit["kind"] in ("root", "submodule")]
    top = [name for file in files if "/" not in (name := str(file["name"]))]
    inputs, outputs = _rows(offered, "variables"), _rows(offered, "outputs")
    needs = any(unit.get("required_version") for unit in offered)
    points = {
        "readme": "" if has_readme else "no README",
        "example": "" if any(unit["kind"] == "example" for unit in units) else "no folder below examples/",
        "licence": "" if licence_file(top) else "no licence",
        "changelog": "" if any(map(_CHANGELOG.fullmatch, top)) else "no changelog",
        "inputs_described": _lacking(inputs, "inputs", lambda entry: entry["description"]),
        "inputs_typed": _lacking(inputs, "inputs", lambda entry: entry["type"]),
        "outputs_described": _lacking(outputs, "outputs", lambda entry: entry["description"]),
        "client_pinned": "" if needs else "no required_version",
        "providers_pinned": _lacking(_rows(offered, "providers"), "providers", lambda entry: entry["version"]),
        "calls_pinned": _lacking(_rows(offered, "calls"), "calls", _is_pinned),
    }
    return Health([Point(code, not points[code], points[code]) for code in RULES])


def licence_file(names: Iterable[str]) -> str:
    """The file with the licence in the root of the archive; empty without one."""
    return next(filter(_LICENCE.fullmatch, names), "")


def _rows(units: Iterable[Document], part: str) -> list[tuple[str, Document]]:
    """Each entry, with its name and the submodule that has it."""
    return [
        (f"{unit['path']}: {entry['name']}" if unit["path"] else entry["name"], entry)
        for unit in units
        for entry in unit.get(part, ())
    ]


def _lacking(rows: Sequence[tuple[str, Document]], what: str, has: Callable[[Document], Any]) -> str:
    """`2 of 9 inputs: cidr, name`; empty if every row has it, also if there is none."""
    names = [name[:80] for name, entry in rows if not has(entry)]
    if not names:
        return ""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"{len(names)} of {len(rows)} {what}: {', '.join(names[:MAX_NAMED])}{more}"


def _is_pinned(call: Document) -> bool:
    """A local folder is of the same version as its caller. It is unknown where a computed source leads."""
    source = call["source"]
    if "source" in call.get("computed", ()):
        return True
    return source.startswith(("./", "../")) or bool(call["version"]) or bool(_REFERENCE.search(source))
