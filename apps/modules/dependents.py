"""Modules that build on each other, as far as a viewer may know of both."""

from django.db.models import Exists, OuterRef

from apps.accounts.access import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules.models import Module, ModuleCall, ModuleQuerySet, ModuleVersion
from apps.modules.reading import visible_modules
from apps.releases.models import Kind, SearchDoc


def hosted_targets(viewer: Viewer, version: ModuleVersion, unit: str) -> dict[str, ModuleAddress]:
    """The modules of this registry that one unit of the version calls, by the name of the call, in one query."""
    visible = visible_modules(viewer).filter(
        namespace__name=OuterRef("target_namespace"),
        name=OuterRef("target_name"),
        system=OuterRef("target_system"),
    )
    calls = version.calls.filter(Exists(visible), unit=unit).exclude(target_name="")
    fields = ("name", "target_namespace", "target_name", "target_system")
    return {name: ModuleAddress(*target) for name, *target in calls.values_list(*fields)}


def used_by(viewer: Viewer, module: Module) -> ModuleQuerySet:
    """Modules whose default version calls this one, in the order of their addresses."""
    defaults = SearchDoc.objects.filter(kind=Kind.MODULE).values("release")
    calls = ModuleCall.objects.filter(
        version__module=OuterRef("pk"),
        version__release__in=defaults,
        target_namespace=module.namespace.name,
        target_name=module.name,
        target_system=module.system,
    )
    return visible_modules(viewer).filter(Exists(calls)).exclude(pk=module.pk).alphabetical()
