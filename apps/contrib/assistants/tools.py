"""The questions that assistants can ask. Each tool reads through the gate with the caller's token, as the API does, and
changes nothing. Each answer about a version has its lifecycle, and `warnings` in words if it is deprecated or yanked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from rest_framework.serializers import CharField, Serializer

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.api.catalogue.details import (
    ModuleComparison,
    ModuleVersionDetails,
    ProviderComparison,
    ProviderVersionDetails,
)
from apps.api.catalogue.lists import ModuleRow, ProviderRow
from apps.api.frame.shapes import Consequences, MomentField, Shape, VersionLifecycle, With
from apps.contrib.assistants.choosing import choice_of, warnings_of
from apps.lib import addresses
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid, NotFound
from apps.lib.net import hostnames
from apps.modules import lifecycle as module_lifecycle
from apps.modules.catalogue import reading as modules
from apps.modules.catalogue.documents import contents_of
from apps.modules.comparing import versions as module_versions
from apps.modules.dependents.impact import of_releases
from apps.modules.dependents.users import MAX_VERSIONS
from apps.modules.models import ModuleVersion
from apps.provenance import origin
from apps.providers import comparing as provider_versions
from apps.providers import lifecycle as provider_lifecycle
from apps.providers import reading as providers
from apps.providers.models import Provider
from apps.releases.catalogue import marks, search
from apps.releases.catalogue.comparing import SEPARATOR
from apps.releases.lifecycle.impact import Act
from apps.releases.models import Kind, Release, State
from apps.snippets.module_snippets import block_of_unit, ready_example, unit_to_call
from apps.snippets.provider_snippets import required_block

ACTS = (Act.DEPRECATE, Act.YANK, Act.QUARANTINE, Act.PURGE)
MAX_ACTED_ON = 50
FOUND = 20
LISTED = 20
Document = dict[str, Any]
Given = Mapping[str, str]
Address = ModuleAddress | ProviderAddress

_ADDRESS = "namespace/name/system of a module, or namespace/type of a provider; with or without the host."


class Search(Serializer[Any]):
    words = CharField(help_text="Search terms; each must match the start of a name or of a word of the description.")
    namespace = CharField(required=False, default="", allow_blank=True, help_text="Only in this namespace.")


class ModuleSearch(Search):
    system = CharField(required=False, default="", allow_blank=True, help_text="Only for this system, such as aws.")


class Choice(Serializer[Any]):
    address = CharField(help_text=_ADDRESS)
    constraint = CharField(
        required=False, default="", allow_blank=True, help_text="A version constraint, such as ~> 1.4; empty for any."
    )


class Description(Serializer[Any]):
    address = CharField(help_text=_ADDRESS)
    version = CharField(required=False, default="", allow_blank=True, help_text="Empty for the default version.")
    folder = CharField(
        required=False, default="", allow_blank=True, help_text="A submodule or example; empty for the module itself."
    )


class Example(Serializer[Any]):
    address = CharField(help_text="namespace/name/system of a module.")
    example = CharField(help_text="Its name or folder, as describe_version lists it.")
    version = CharField(required=False, default="", allow_blank=True, help_text="Empty for the default version.")


class TwoVersions(Serializer[Any]):
    address = CharField(help_text=_ADDRESS)
    before = CharField(help_text="The version in use.")
    after = CharField(help_text="The version to change to.")


class ActOn(Serializer[Any]):
    address = CharField(help_text=_ADDRESS)
    version = CharField(help_text="The version that would be taken away; several separated by commas.")
    act = CharField(required=False, default="yank", help_text="deprecate, yank, quarantine or purge; yank by default.")


class ListedVersion(Shape):
    # Of a Release.
    version = CharField()
    published_at = MomentField()
    lifecycle = VersionLifecycle(source="*")


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    says: str
    takes: type[Serializer[Any]]
    answer: Callable[[Viewer, Given], Document]

    @property
    def schema(self) -> Document:
        """The JSON Schema of its arguments, all of which are texts."""
        fields = self.takes().fields
        return {
            "type": "object",
            "properties": {
                name: {"type": "string", "description": str(field.help_text)} for name, field in fields.items()
            },
            "required": [name for name, field in fields.items() if field.required],
            "additionalProperties": False,
        }


def find_modules(viewer: Viewer, given: Given) -> Document:
    return _found(viewer, Kind.MODULE, given, "modules", ModuleRow)


def find_providers(viewer: Viewer, given: Given) -> Document:
    return _found(viewer, Kind.PROVIDER, given, "providers", ProviderRow)


def _found(viewer: Viewer, kind: Kind, given: Given, what: str, shape: type[Shape]) -> Document:
    filters = {name: given[name] for name in ("namespace", "system") if name in given}
    rows = search.search(
        kind=kind,
        namespaces=gate.visible_namespaces(viewer),
        query=given["words"],
        filters=filters,
        sort=search.RELEVANCE,
    ).select_related("namespace")[: FOUND + 1]
    found = [{"address": str(row), **_shown(shape, viewer, row)} for row in rows]
    return {what: found[:FOUND], "more": len(found) > FOUND}


def choose_version(viewer: Viewer, given: Given) -> Document:
    address = address_of(given["address"])
    kind = Kind.MODULE if isinstance(address, ModuleAddress) else Kind.PROVIDER
    parent = _opened(viewer, address)
    rows = Release.objects.published().filter(kind=kind, namespace=parent.namespace, name=address.path_name)
    releases = list(rows.newest_first().select_related("lifecycle_by").defer("notes", "reasons")[:MAX_VERSIONS])
    choice = choice_of(releases, given["constraint"])
    return {
        "address": str(parent.address),
        "version": choice.version,
        "selected_by_clients": choice.selected,
        "advice": choice.advice,
        "warnings": choice.warnings,
        "block": _block(viewer, parent, choice.version),
        "versions": [_shown(ListedVersion, viewer, one) for one in releases[:LISTED]],
        "version_count": len(releases),
    }


def describe_version(viewer: Viewer, given: Given) -> Document:
    address = address_of(given["address"])
    if isinstance(address, ProviderAddress):
        return _described_provider(viewer, address, given)
    row = _module_version(viewer, address, given["version"])
    whole = _shown(ModuleVersionDetails, viewer, With(row, downloads=None, contents=contents_of(row)))
    units = [whole.pop("root"), *whole["submodules"], *whole["examples"]]
    stored = _unit_of(row, given["folder"]) if given["folder"] else unit_to_call(row)
    folder = next((unit for unit in units if unit["path"] == stored.get("path", "")), units[0])
    is_example = stored.get("kind") == "example"
    del folder["readme"], whole["downloads"]
    return {
        "address": str(row.module.address),
        **whole,
        "origin": origin.line_of(row.release),
        **_marks_of(row.release),
        "warnings": warnings_of(row.release),
        "block": None if is_example else block_of_unit(row.module.address, row.release.version, stored),
        "folder": folder,
        **{part: [unit["path"] for unit in whole[part]] for part in ("submodules", "examples")},
    }


def _marks_of(release: Release) -> Document:
    """The few words that rooms say of it, by their names."""
    return {one.name: one.text for one in marks.of([release.pk])[release.pk]}


def _described_provider(viewer: Viewer, address: ProviderAddress, given: Given) -> Document:
    if given["folder"]:
        raise Invalid("A provider has no folders.", hint="Leave `folder` empty.")
    provider = _opened(viewer, address)
    row = providers.version_of(viewer, provider, _number(provider, given["version"]))
    whole = _shown(ProviderVersionDetails, viewer, With(row, downloads=None))
    del whole["downloads"]
    pages = row.docs_pages.without_texts().order_by("kind", "name").values_list("kind", "name")
    return {
        "address": str(provider.address),
        **whole,
        "origin": origin.line_of(row.release),
        **_marks_of(row.release),
        "warnings": warnings_of(row.release),
        "block": required_block(provider.address, row.release.version),
        "documentation": [f"{kind}: {name}" for kind, name in pages],
    }


def read_example(viewer: Viewer, given: Given) -> Document:
    address = address_of(given["address"])
    if isinstance(address, ProviderAddress):
        raise Invalid("A provider has no examples.", hint="Give the address of a module: namespace/name/system.")
    row = _module_version(viewer, address, given["version"])
    stored = _unit_of(row, given["example"], "example")
    ready = ready_example(row, stored)
    return {
        "address": str(row.module.address),
        "version": row.release.version,
        "lifecycle": _shown(VersionLifecycle, viewer, row.release),
        "warnings": warnings_of(row.release),
        "example": stored["path"],
        "files": {one.name: one.text or one.problem for one in ready.files},
        "other_files": ready.others,
    }


def compare_versions(viewer: Viewer, given: Given) -> Document:
    address, numbers = address_of(given["address"]), f"{given['before']}{SEPARATOR}{given['after']}"
    if isinstance(address, ModuleAddress):
        comparison: Any = module_versions.compare(viewer, address, numbers)
        shown = _shown(ModuleComparison, viewer, comparison)
    else:
        comparison = provider_versions.compare(viewer, address, numbers)
        shown = _shown(ProviderComparison, viewer, comparison)
    del shown["markdown"]  # the changes again
    releases = (comparison.before, comparison.after)
    return {
        "address": str(comparison.address),
        "warnings": [warning for release in releases for warning in warnings_of(release)],
        "lifecycles": {one.version: _shown(VersionLifecycle, viewer, one) for one in releases},
        **shown,
    }


def show_consequences(viewer: Viewer, given: Given) -> Document:
    """Answer as much as the caller's role and token let them read: see `modules.dependents.impact`."""
    address, act = address_of(given["address"]), given["act"] or Act.YANK
    if act not in ACTS:
        raise Invalid(f"The act is {act[:40]!a}.", hint=f"Expected one of: {', '.join(ACTS)}.")
    numbers = list(dict.fromkeys(given["version"].replace(",", " ").split()))
    if not 0 < len(numbers) <= MAX_ACTED_ON:
        raise Invalid(f"{len(numbers)} versions are named.", hint=f"Expected 1 to {MAX_ACTED_ON}, separated by commas.")
    actions: Any = module_lifecycle.ACTIONS if isinstance(address, ModuleAddress) else provider_lifecycle.ACTIONS
    found = [actions.release_and_role(viewer, address, number, need=Role.READER) for number in numbers]
    releases = [release for release, _ in found]
    if gone := next((one for one in releases if one.state != State.PUBLISHED), None):
        raise NotFound(gone.removal)
    consequences = of_releases(viewer, releases, Act(act), role=found[0][1])
    return {
        "address": str(address),
        "act": act,
        "lifecycles": {one.version: _shown(VersionLifecycle, viewer, one) for one in releases},
        "warnings": [warning for one in releases for warning in warnings_of(one)],
        **_shown(Consequences, viewer, consequences),
    }


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "find_modules",
            "Find modules of this registry that the caller may read, with their default version.",
            ModuleSearch,
            find_modules,
        ),
        Tool(
            "find_providers",
            "Find providers of this registry that the caller may read, with their default version.",
            Search,
            find_providers,
        ),
        Tool(
            "choose_version",
            "Say which version of a module or provider to use, what clients select for a constraint, which versions "
            "are deprecated or yanked and why, and the block to copy into a configuration.",
            Choice,
            choose_version,
        ),
        Tool(
            "describe_version",
            "Describe a version: inputs, outputs, resources, requirements, submodules and examples of a module, or "
            "platforms and documentation pages of a provider; with the block to copy.",
            Description,
            describe_version,
        ),
        Tool(
            "read_example",
            "Read the files of a module's example. Sources use the address of this registry.",
            Example,
            read_example,
        ),
        Tool(
            "compare_versions",
            "Compare two versions of a module or provider: what changed, what breaks, and why.",
            TwoVersions,
            compare_versions,
        ),
        Tool(
            "show_consequences",
            "Say who is hit if versions are deprecated, yanked, quarantined or purged, without doing it: the modules "
            "that call them and, for publishers and owners, configurations and downloads; who fails, and who moves to "
            "which version.",
            ActOn,
            show_consequences,
        ),
    )
}


def address_of(text: str) -> Address:
    """Raises Invalid. Takes the source of a configuration too, if it names this registry."""
    host, _, rest = text.strip().partition("/")
    is_here = hostnames.is_one_of(host, (settings.PUBLIC_HOST, *settings.HOSTNAMES))
    return addresses.parse(rest if is_here else text.strip())


def _opened(viewer: Viewer, address: Address) -> Any:
    """The module or provider. The gate is asked here and nowhere else. Raises what it raises, and NotFound."""
    if isinstance(address, ModuleAddress):
        return modules.module_for(viewer, address)
    return providers.provider_for(viewer, address)


def _number(parent: Any, asked: str) -> str:
    """The version that was asked for, or the default one. Raises NotFound."""
    default = parent.versions.published().default_first().values_list("release__version", flat=True)
    number = asked or default.first()
    if number is None:
        raise NotFound(f"{parent} has no version that you can see.")
    return str(number)


def _module_version(viewer: Viewer, address: ModuleAddress, version: str) -> ModuleVersion:
    module = _opened(viewer, address)
    return modules.version_of(viewer, module, _number(module, version), with_markdown=True)


def _unit_of(version: ModuleVersion, named: str, *kinds: str) -> Mapping[str, Any]:
    """A submodule or example by its folder or name. Raises NotFound."""
    units = [one for one in version.inspection.get("units", []) if one["kind"] in (kinds or ("submodule", "example"))]
    for unit in units:
        if named.strip("/") in (unit["path"], unit["name"]):
            return dict(unit)
    has = ", ".join(unit["path"] for unit in units[:LISTED]) or "none"
    raise NotFound(f"{version} has no folder {named[:200]!a}.", hint=f"It has: {has}.")


def _block(viewer: Viewer, parent: Any, version: str | None) -> str | None:
    if version is None:
        return None
    if isinstance(parent, Provider):
        return required_block(parent.address, version)
    row = modules.version_of(viewer, parent, version)
    return block_of_unit(parent.address, version, unit_to_call(row))


def _shown(shape: type[Serializer[Any]], viewer: Viewer, row: Any) -> Document:
    return dict(shape(context={"viewer": viewer}).to_representation(row))
