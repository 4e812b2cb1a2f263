"""The parts of a module's version pages that providers lack."""

from typing import Any

from django.db.models import BigIntegerField, F
from django.urls import reverse

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.modules.catalogue import entries, reading
from apps.modules.catalogue.documents import archive_name
from apps.modules.comparing import versions as comparing
from apps.modules.models import Module, ModuleVersion
from apps.portal.modules.attachments import tags_of
from apps.portal.modules.units import Unit, Units
from apps.portal.versions.pages import DescriptionForm, VersionPages
from apps.portal.versions.switcher import Switcher
from apps.releases.catalogue.comparing import Comparison
from apps.releases.models import Kind
from apps.snippets import module_snippets

_PEOPLE = ("created_by", "lifecycle_by", "quarantined_by")
_DEFAULT: CompiledQuery[ModuleVersion] = CompiledQuery(
    lambda: (
        ModuleVersion.objects.published()
        .filter(module=Slot("module", BigIntegerField()))
        .default_first()
        .for_pages()
        .select_related("module__namespace", *(f"release__{one}" for one in _PEOPLE))[:1]
    )
)


class ModulePages(VersionPages):
    kind = Kind.MODULE
    address_type = ModuleAddress
    path = "modules/<str:namespace>/<str:name>/<str:system>"
    publish_route = "portal:publish"
    actions = lifecycle.ACTIONS
    settings_form = DescriptionForm
    switcher = Switcher(Module, ModuleVersion, Kind.MODULE)
    columns = {
        "required": F("module_version__inspection__units__0__required_version"),
        "compatible": F("module_version__inspection__units__0__compatible_with"),
    }

    def parent_and_role(
        self, viewer: Viewer, address: ModuleAddress, *, need: Role = Role.READER
    ) -> tuple[Module, Role]:
        return reading.module_and_role(viewer, address, need=need)

    def version_of(self, viewer: Viewer, parent: Module, version: str) -> ModuleVersion:
        return reading.version_of(viewer, parent, version, even_quarantined=True)

    def default_of(self, viewer: Viewer, parent: Module) -> ModuleVersion | None:  # noqa: ARG002
        found = _DEFAULT(module=parent.pk)
        return found[0] if found else None

    def files_of(self, shown: ModuleVersion) -> list[tuple[str, str]]:
        return [(archive_name(shown.release.name, shown.release.version), shown.release.digest)]

    def details_of(self, shown: ModuleVersion) -> dict[str, Any]:
        units = Units.from_version(shown)
        return {
            "lead": shown.module.description or shown.summary,
            "counts": _counts(shown, units),
            "units": units,
            "root": units.root,
            "files_path": reverse("portal:module-files", args=where(shown.module.address, shown.release.version)),
        }

    def compare(self, viewer: Viewer, address: ModuleAddress, numbers: str) -> Comparison:
        return comparing.compare(viewer, address, numbers)

    def describe(self, parent: Module, *, actor: Viewer, **fields: str) -> None:
        entries.describe(module=parent, actor=actor, **fields)

    def beside_versions(self, parent: Module) -> dict[str, Any]:
        return tags_of(parent)

    def publish_command(self, address: ModuleAddress, highest: str) -> str:
        return module_snippets.publish_command(address, highest)


MODULES = ModulePages()


def where(address: ModuleAddress, version: str) -> list[str]:
    """The arguments of every route of one version."""
    return [address.namespace, address.name, address.system, version]


def _counts(shown: ModuleVersion, units: Units) -> dict[str, int | None]:
    root = units.root

    def count(number: int) -> int | None:
        return number if units.is_inspected else None

    def found(number: int) -> int | None:
        """The number of rows of the root; None for zero if some file could not be parsed."""
        return count(number) if number or not root.warnings else None

    of_root = {
        "inputs": found(len(root.variables)),
        "outputs": found(len(root.outputs)),
        "resources": found(len(root.resources) + len(root.actions)),
    }
    return {
        "version": None,
        **(of_root if units.has_root else {}),
        "dependencies": found(depends_on(root)) if units.has_root else None,
        "submodules": count(len(units.submodules)),
        "examples": count(len(units.examples)),
        "files": shown.file_count,
    }


def depends_on(unit: Unit) -> int:
    return len(unit.providers) + len(unit.calls)
