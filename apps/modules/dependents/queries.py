"""Dependencies between modules, limited to what the viewer may see of both ends."""

from typing import Any

from django.db.models import Exists, OuterRef, Subquery, Value
from django.db.models.functions import Concat, Lower, Replace

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules.catalogue.reading import visible_modules
from apps.modules.models import OCI, Module, ModuleCall, ModuleQuerySet, ModuleVersion
from apps.releases.models import Kind, SearchDoc


def hosted_targets(viewer: Viewer, version: ModuleVersion, unit: str) -> dict[str, ModuleAddress]:
    """Modules of this registry that one unit of the version calls, keyed by call name, in one query."""
    visible = visible_modules(viewer).filter(
        namespace__canonical=_folded(OuterRef("target_namespace")),
        canonical=_folded(Concat(OuterRef("target_name"), Value("/"), OuterRef("target_system"))),
    )
    calls = (
        version.calls.filter(unit=unit)
        .exclude(target_name="")
        .annotate(
            namespace=Subquery(visible.values("namespace__name")[:1]), module=Subquery(visible.values("name")[:1])
        )
    )
    fields = ("name", "source", "target_namespace", "target_name", "target_system", "namespace", "module")
    targets = {}
    for name, source, *parts, namespace, module in calls.exclude(module=None).values_list(*fields):
        address = ModuleAddress(namespace, module, parts[2])
        # Addresses are case-sensitive in clients; OCI repositories are lower case.
        if "/".join(parts) == (address.repository if source.startswith(OCI) else str(address)):
            targets[name] = address
    return targets


def used_by(viewer: Viewer, module: Module) -> ModuleQuerySet:
    """Modules whose default version calls this one, by address."""
    defaults = SearchDoc.objects.filter(kind=Kind.MODULE).values("release")
    calls = ModuleCall.objects.to(module.address)
    calls = calls.filter(version__module=OuterRef("pk"), version__release__in=defaults)
    return visible_modules(viewer).filter(Exists(calls)).exclude(pk=module.pk).alphabetical()


def _folded(text: Any) -> Replace:
    """The SQL of `addresses.canonical`."""
    return Replace(Lower(text), Value("_"), Value("-"))
