"""Text to copy about a module version, with the right host."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from django.conf import settings
from django.urls import reverse

from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.modules import usage_examples
from apps.modules.models import ModuleVersion
from apps.modules.usage_examples import Ready
from apps.snippets import client_setup, oci_snippets

_LABEL = re.compile(r"[A-Za-z_][\w-]*")
_EMPTY_VALUES = (
    (("string",), '""'),
    (("number",), "0"),
    (("bool",), "false"),
    (("list", "set", "tuple"), "[]"),
    (("map", "object"), "{}"),
)
LONGEST_TYPE = 60
INPUTS_SHOWN = 100  # in a block to copy
Inputs = Iterable[Mapping[str, Any]]  # as apps.modules.inspection documents variables
EXACT_HINT = "Always this version, until you change the number."
OCI_HINT = "For OpenTofu 1.10 and later. Without ?tag= it is the highest stable version; ?digest= pins the bytes."
OCI_SIGN_IN = "The token of tofu login has no effect here:"


@dataclass(frozen=True, slots=True)
class Usage:
    """One way to use a version: text to copy under a short `title`, with what it means. `key` names the way."""

    key: str
    title: str
    text: str
    hint: str = ""


def usages(
    address: ModuleAddress,
    version: str,
    *,
    folder: str = "",
    inputs: Inputs = (),
    is_public: bool = False,
) -> list[Usage]:
    """The lines for exactly this version, for compatible versions, as a package, and the block with required inputs."""
    constraint, is_range = version, not versions.parse(version).is_prerelease  # ranges match no pre-release
    ways = [Usage("exact", "Exact", "\n".join(_origin(address, version, folder)), EXACT_HINT)]
    if is_range:
        constraint = compatible(version)
        ways.append(Usage("range", "Range", "\n".join(_origin(address, constraint, folder)), range_hint(version)))
    hint = OCI_HINT if is_public else f"{OCI_HINT} {OCI_SIGN_IN}"
    ways.append(Usage("oci", "OCI", _package(address, version, folder), hint))
    lines = input_lines(inputs)
    fill_in = "Replace the values of the inputs with your own." if lines else "It has no required inputs."
    ways.append(Usage("form", "Form", module_block(address, constraint, folder=folder, lines=lines), fill_in))
    return ways


def range_hint(version: str) -> str:
    """The versions that `compatible` of it allows, in words."""
    least = compatible(version).removeprefix("~> ").split(".")
    below = [*least[:-2], str(int(least[-2]) + 1)]
    least, below = [[*numbers, "0", "0"][:3] for numbers in (least, below)]
    return f"The highest version from {'.'.join(least)}, below {'.'.join(below)}."


def submodule_usages(address: ModuleAddress, version: str, folders: Mapping[str, Inputs]) -> list[Usage]:
    """The block of each submodule with its required inputs, for a module that has no root to call."""
    return [
        Usage(folder, folder, module_block(address, version, folder=folder, lines=input_lines(inputs)))
        for folder, inputs in folders.items()
    ]


def unit_to_call(shown: ModuleVersion) -> Mapping[str, Any]:
    """The root, or the first submodule if there is no root, as apps.modules.inspection documents units."""
    units = shown.inspection.get("units", [])
    if shown.release.notes.get("no_root"):
        units = sorted((unit for unit in units if unit.get("path")), key=lambda unit: unit.get("kind") != "submodule")
    else:
        units = [unit for unit in units if not unit.get("path")]
    return units[0] if units else {}


def block_of_unit(address: ModuleAddress, version: str, unit: Mapping[str, Any]) -> str:
    """The block with a placeholder for each required input."""
    return module_block(address, version, folder=unit.get("path", ""), lines=required_lines(unit))


def required_lines(unit: Mapping[str, Any]) -> list[str]:
    return input_lines(one for one in unit.get("variables", []) if one["required"])


def module_block(address: ModuleAddress, version: str, *, folder: str = "", lines: Sequence[str] = ()) -> str:
    return _block(label_of(address, folder), _origin(address, version, folder), lines)


def package_block(address: ModuleAddress, version: str, *, folder: str = "", lines: Sequence[str] = ()) -> str:
    return _block(label_of(address, folder), [_package(address, version, folder)], lines)


def _origin(address: ModuleAddress, constraint: str, folder: str) -> list[str]:
    return [f'source  = "{source_of(address, folder)}"', f'version = "{constraint}"']


def _package(address: ModuleAddress, version: str, folder: str) -> str:
    """An `oci://` source. A `version` beside it is an error: the tag is the version."""
    return f'source = "{oci_snippets.source(address, version, folder)}"'


def _block(label: str, origin: Sequence[str], lines: Sequence[str]) -> str:
    inside = [*origin, "", *lines] if lines else origin
    body = "\n".join(f"  {line}" if line else "" for line in inside)
    return f'module "{label}" {{\n{body}\n}}'


def source_of(address: ModuleAddress, folder: str = "") -> str:
    return f"{client_setup.host()}/{address}" + (f"//{folder}" if folder else "")


def label_of(address: ModuleAddress, folder: str = "") -> str:
    """The name of the folder or of the module. Clients accept no leading digit, which both may have."""
    names = [name for name in (folder.rpartition("/")[2], address.name) if name]
    return next(label for name in names for label in (name, f"module_{name}") if _LABEL.fullmatch(label))


def compatible(version: str) -> str:
    """`~> 1.2` for 1.2.3, i.e. 1.2 or later before 2.0; below 1.0.0 each minor version may break."""
    major, minor, patch = version.partition("+")[0].split(".")
    return f"~> {major}.{minor}" if int(major) else f"~> {major}.{minor}.{patch}"


def credentials_block() -> str:
    """For the CLI configuration file: a TF_TOKEN_ variable cannot name a host with a port."""
    return f'credentials "{client_setup.host()}" {{\n  token = "lrd_…"\n}}'


def ready_example(shown: ModuleVersion, unit: Mapping[str, Any]) -> Ready:
    """An example of the version as a configuration that calls this registry: its part of the inspection is `unit`.

    Reads storage. Raises Unavailable if it fails.
    """
    address = shown.module.address
    folders = [one["path"] for one in shown.inspection["units"] if one["kind"] != "example"]
    sources = {folder: source_of(address, folder) for folder in folders}
    return usage_examples.ready(shown, unit, sources=sources, own=source_of(address))


def publish_command(address: ModuleAddress, latest: str) -> str:
    """One curl line that publishes the version after `latest`."""
    version = next_version(latest)
    path = reverse("api:module-release", args=[address.namespace, address.name, address.system, version])
    return (
        'curl --fail-with-body --header "Authorization: Bearer $LARDER_TOKEN" \\\n'
        f"  --upload-file {address.name}-{version}.zip \\\n"
        f"  {settings.PUBLIC_URL}{path}"
    )


def next_version(latest: str) -> str:
    """The likely next version: 1.2.0 -> 1.3.0, and 2.0.0-rc.1 -> 2.0.0."""
    core, is_prerelease = latest.partition("+")[0].partition("-")[0], versions.parse(latest).is_prerelease
    major, minor, _ = core.split(".")
    return core if is_prerelease else f"{major}.{int(minor) + 1}.0"


def input_lines(inputs: Inputs) -> list[str]:
    """A placeholder of its type for each of the first inputs, aligned as the clients' `fmt` does it."""
    shown = [_input_line(one) for one in islice(inputs, INPUTS_SHOWN) if _LABEL.fullmatch(one["name"])]
    width = max((len(name) for name, _, _ in shown), default=0)
    lines: list[str] = []
    for has_type, run in groupby(shown, key=lambda line: bool(line[2])):  # a line without a comment ends their column
        rows = [(f"{name:{width}} = {value}", kind) for name, value, kind in run]
        column = max(len(assignment) for assignment, _ in rows)
        lines += [f"{assignment:{column}} # {kind}" if has_type else assignment for assignment, kind in rows]
    return lines


def _input_line(variable: Mapping[str, Any]) -> tuple[str, str, str]:
    """Name, placeholder, and the type in one line: pasted text must not continue after the comment."""
    kind = " ".join(variable["type"].split())
    begin = re.split(r"\W", kind, maxsplit=1)[0]
    value = next((value for names, value in _EMPTY_VALUES if begin in names), "null")
    return variable["name"], value, kind if len(kind) <= LONGEST_TYPE else f"{kind[: LONGEST_TYPE - 1]}…"
