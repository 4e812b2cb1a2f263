"""The lifecycle of a module version (D9); steps and permissions are in `releases.lifecycle.actions`."""

from apps.lib.addresses import ModuleAddress
from apps.modules import pushed_manifests
from apps.modules.catalogue import entries, reading
from apps.modules.models import Module, ModuleVersion
from apps.releases.lifecycle.actions import Acts
from apps.releases.models import Release


def _refresh(release: Release) -> None:
    name, _, system = release.name.partition("/")
    entries.refresh(Module.objects.get(namespace=release.namespace, name=name, system=system))


def _drop(release: Release) -> None:
    pushed_manifests.drop(release)
    ModuleVersion.objects.filter(release=release).delete()


ACTS: Acts[ModuleAddress] = Acts(coordinate_of=reading.coordinate_of, refresh=_refresh, drop=_drop)

deprecate, yank, quarantine, restore = ACTS.deprecate, ACTS.yank, ACTS.quarantine, ACTS.restore
purge, purge_here, verify, release_of = ACTS.purge, ACTS.purge_here, ACTS.verify, ACTS.release_of
