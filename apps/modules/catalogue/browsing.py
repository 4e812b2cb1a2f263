"""Read modules for list and detail documents, for browsers and update bots.

Yanked and quarantined versions appear only if requested exactly.
"""

from collections.abc import Mapping

from django.db.models import F, QuerySet

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import existing
from apps.modules.models import ModuleVersion
from apps.releases.catalogue import search
from apps.releases.models import Kind, SearchDoc, visible_now


def listed_modules(viewer: Viewer, *, query: str = "", filters: Mapping[str, str] | None = None) -> QuerySet[SearchDoc]:
    """All modules that the viewer may see: by name, or best match first for a query."""
    return _with_source(
        search.search(kind=Kind.MODULE, namespaces=gate.visible_namespaces(viewer), query=query, filters=filters or {})
    )


def modules_in(viewer: Viewer, name: str, *, filters: Mapping[str, str] | None = None) -> QuerySet[SearchDoc]:
    """Modules of one namespace. Raises CredentialsRequired or NotFound if the viewer cannot see it."""
    return _in_namespace(gate.namespace_for(viewer, name), filters)


def systems_of(viewer: Viewer, namespace: str, name: str) -> QuerySet[SearchDoc]:
    """One module name in each of its systems, by name."""
    return modules_in(viewer, namespace).filter(release__module_version__module__name=name)


def latest_version(viewer: Viewer, address: ModuleAddress) -> ModuleVersion:
    """The default version with its texts. Raises NotFound if none is listed."""
    namespace = gate.namespace_for(viewer, address.namespace)
    rows = ModuleVersion.objects.listed().filter(
        module__namespace=namespace, module__name=address.name, module__system=address.system
    )
    version = rows.default_first().select_related("release__namespace", "module__namespace").first()
    return existing(version, f"There is no module {address.path_name} with a listed version in {namespace.name}.")


def siblings(version: ModuleVersion) -> dict[str, int]:
    """The listed systems of the module's name, with their downloads."""
    rows = _in_namespace(version.module.namespace, {}).filter(release__module_version__module__name=version.module.name)
    return dict(rows.values_list("release__module_version__module__system", "downloads"))


def _in_namespace(namespace: Namespace, filters: Mapping[str, str] | None) -> QuerySet[SearchDoc]:
    only_this = Namespace.objects.filter(pk=namespace.pk)
    docs = search.search(kind=Kind.MODULE, namespaces=only_this, filters=filters)
    return _with_source(docs.filter(namespace=namespace))


def _with_source(docs: QuerySet[SearchDoc]) -> QuerySet[SearchDoc]:
    """Without those whose only versions are held back."""
    docs = docs.filter(visible_now("release__"))
    return docs.select_related("namespace").annotate(source_url=F("release__module_version__module__source_url"))
