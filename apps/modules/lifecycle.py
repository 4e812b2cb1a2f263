"""The lifecycle of a module version (D9); steps and permissions are in `releases.lifecycle.actions`."""

from django.db.models import Q

from apps.lib.addresses import ModuleAddress
from apps.modules import package_manifest, publishing
from apps.modules.catalogue import entries, reading
from apps.modules.models import Module, ModuleVersion
from apps.releases.lifecycle.actions import VersionActions
from apps.releases.models import Release


class ModuleActions(VersionActions[ModuleAddress]):
    address_type = ModuleAddress

    def address_of(self, release: Release) -> ModuleAddress:
        return publishing.address_of(release)

    def coordinate_of(self, address: ModuleAddress, version: str) -> Q:
        return reading.coordinate_of(address, version)

    def refresh(self, release: Release) -> None:
        entries.refresh(_module_of(release))

    def drop(self, release: Release) -> None:
        package_manifest.drop(release)
        ModuleVersion.objects.filter(release=release).delete()

    def default_version(self, release: Release) -> ModuleVersion | None:
        return entries.default_version(_module_of(release))


def _module_of(release: Release) -> Module:
    address = publishing.address_of(release)
    return Module.objects.get(namespace=release.namespace, name=address.name, system=address.system)


ACTIONS = ModuleActions()

deprecate, yank, quarantine, restore = ACTIONS.deprecate, ACTIONS.yank, ACTIONS.quarantine, ACTIONS.restore
purge, purge_here, verify, release_of = ACTIONS.purge, ACTIONS.purge_here, ACTIONS.verify, ACTIONS.release_of
