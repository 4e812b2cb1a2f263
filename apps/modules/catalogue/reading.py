"""Read modules through the gate, for pages, clients, and the lists and details that update bots read."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from django.db.models import BigIntegerField, BinaryField, CharField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Now

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role
from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, canonical
from apps.lib.errors import Misspelled, NotFound, existing
from apps.modules.models import Module, ModuleQuerySet, ModuleVersion
from apps.releases.catalogue import nearest, search
from apps.releases.catalogue.reading import latest_of, no_version, sort_key_of, with_people
from apps.releases.cooldown import require_visible, shown
from apps.releases.models import Kind, Release, SearchDoc

_LISTED = CompiledQuery(
    lambda: (
        ModuleVersion.objects.published()
        .filter(
            module__namespace=Slot("namespace", BigIntegerField()),
            module__name=Slot("name", CharField()),
            module__system=Slot("system", CharField()),
        )
        .unyanked()
        .newest_first()
        .values_list("release__version", "release__published_at", "release__visible_at", "module__source_url")
    )
)
_PUBLISHED = CompiledQuery(
    lambda: Release.objects.published().filter(
        kind=Kind.MODULE,
        namespace=Slot("namespace", BigIntegerField()),
        name=Slot("name", CharField()),
        sort_key=Slot("sort_key", BinaryField()),
    )
)


class Listed(NamedTuple):
    versions: list[tuple[str, datetime]]  # with the time of publication
    source_url: str
    next_at: datetime | None = None  # when a version that is held back joins them


def visible_modules(viewer: Viewer) -> ModuleQuerySet:
    return Module.objects.filter(namespace__in=gate.visible_namespaces(viewer))


def module_for(viewer: Viewer, address: ModuleAddress) -> Module:
    """Raises CredentialsRequired, or NotFound, also for a name that no row can have."""
    return module_and_role(viewer, address)[0]


def module_and_role(viewer: Viewer, address: ModuleAddress, *, need: Role = Role.READER) -> tuple[Module, Role]:
    namespace, role = gate.namespace_and_role(viewer, address.namespace, need=need, only_name=address.path_name)
    modules = Module.objects.filter(namespace=namespace, name=address.name, system=address.system)
    module = modules.select_related("namespace").first()
    if module is None:
        raise unknown_module(namespace, address)
    return module, role


def unknown_module(namespace: Namespace, address: ModuleAddress) -> NotFound:
    """To be raised in a namespace that the viewer sees; suggests the module with the nearest name."""
    wanted = canonical(address.path_name)
    docs = SearchDoc.objects.filter(kind=Kind.MODULE, namespace=namespace).order_by("sort_key", "pk")
    names = docs.values_list("name", flat=True)[: nearest.MAX_COMPARED]
    compared = ((nearest.edits_between(wanted, canonical(name)), name) for name in names)
    near = [(edits, name) for edits, name in compared if edits is not None]
    hint = f"Did you mean {namespace.name}/{min(near)[1]}?" if near else ""
    return Misspelled(f"There is no module {address.path_name} in {namespace.name}.", hint=hint)


def version_for(
    viewer: Viewer, address: ModuleAddress, version: str, *, even_quarantined: bool = False, with_markdown: bool = False
) -> ModuleVersion:
    """The version equal to `version` by precedence, as clients normalise it (M6). Includes yanked versions.

    Quarantined versions are not found, except by staff (`even_quarantined`) for pages that say so and serve no bytes.
    """
    module = module_for(viewer, address)
    return version_of(viewer, module, version, even_quarantined=even_quarantined, with_markdown=with_markdown)


def version_of(
    viewer: Viewer,
    module: Module,
    version: str,
    *,
    even_quarantined: bool = False,
    with_markdown: bool = False,
) -> ModuleVersion:
    """Return the version like `version_for`, of a module that the gate let the viewer see."""
    address = module.address
    rows = ModuleVersion.objects.filter(module=module, release__sort_key=sort_key_of(address, version))
    if not with_markdown:
        rows = rows.for_pages()
    rows = with_people(rows, viewer, even_quarantined=even_quarantined)
    module_version = rows.select_related("module__namespace").first()
    if module_version is None:
        raise no_version(address, version, coordinate_of(address, version))
    return module_version


def default_version_for(viewer: Viewer, address: ModuleAddress) -> ModuleVersion:
    """The version that pages show first. Raises as `module_for` does, and NotFound if nothing can be read."""
    module = module_for(viewer, address)
    rows = ModuleVersion.objects.filter(module=module).published().default_first().for_pages()
    found = rows.select_related("release__namespace", "module__namespace").first()
    return existing(found, f"{address} has no version that you can see.")


def listed_versions(viewer: Viewer, address: ModuleAddress) -> Listed:
    """Every listed version, highest first by SemVer precedence (the index gives the order), and the repository.

    Two queries, as protocol reads have a budget: a module exists exactly if it has a version. If all its versions are
    yanked the list is empty, and clients report that it has no versions instead of not found.
    """
    return listed_in(gate.namespace_for(viewer, address.namespace), address)


def listed_in(namespace: Namespace, address: ModuleAddress) -> Listed:
    """Return the versions like `listed_versions`, where the gate was asked."""
    listed = _LISTED(namespace=namespace.pk, name=address.name, system=address.system)
    if not listed:
        named = {"module__namespace": namespace, "module__name": address.name, "module__system": address.system}
        if not ModuleVersion.objects.published().filter(**named).exists():
            raise unknown_module(namespace, address)
    found = shown(listed, lambda row: row[2])
    return Listed([(row[0], row[1]) for row in found.rows if row[1]], listed[0][3] if listed else "", found.next_at)


def published_release(viewer: Viewer, address: ModuleAddress, version: str) -> Release:
    """Return the release like `version_for`, for a client's download: without page texts, in two queries. Raises
    HeldBack as well.
    """
    namespace = gate.namespace_for(viewer, address.namespace)
    key = sort_key_of(address, version)
    found = _PUBLISHED(namespace=namespace.pk, name=address.path_name, sort_key=key)
    if not found:
        raise NotFound(f"There is no version {version} of {address}.")
    found[0].namespace = namespace
    require_visible(found[0])
    return found[0]


def latest_release(viewer: Viewer, address: ModuleAddress, version: str) -> Release:
    """The newest release of an exact version in any state, for scripts that poll their upload (D24)."""
    # With the name: a token that publishes only this module may see more than a reader.
    namespace, role = gate.namespace_and_role(viewer, address.namespace, only_name=address.path_name)
    same = Q(kind=Kind.MODULE, namespace=namespace, name=address.path_name, sort_key=versions.sort_key(version))
    return latest_of(same, role, f"There is no version {version} of {address}.")


def coordinate_of(address: ModuleAddress, version: str) -> Q:
    """Releases with this number, in any state. Asks no gate: the caller must have done so."""
    return Q(
        kind=Kind.MODULE,
        namespace__name=address.namespace,
        name=address.path_name,
        sort_key=sort_key_of(address, version),
    )


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
    """Without those whose only versions are held back: they are few, so a list asks for them alone."""
    docs = docs.exclude(release__in=Release.objects.filter(visible_at__gt=Now()))
    source = ModuleVersion.objects.filter(release=OuterRef("release")).values("module__source_url")
    return docs.select_related("namespace").annotate(source_url=Subquery(source))
