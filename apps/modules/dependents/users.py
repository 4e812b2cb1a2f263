"""Modules that build on a module or provider of this registry, by the default version of each that the viewer sees.

Some still get a deprecated or yanked version of it.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import CharField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Concat, Lower, Replace

from apps.accounts.access.gate import Viewer, visible_namespaces
from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, ProviderAddress, canonical
from apps.lib.constraints import Constraint
from apps.lib.errors import Invalid
from apps.lib.versions import Version
from apps.modules.catalogue.reading import visible_modules
from apps.modules.dependents import sources
from apps.modules.models import OCI, ModuleCall, ModuleVersion, ProviderRequirement
from apps.releases.models import Kind, Lifecycle, Release, SearchDoc

# Module blocks, or requirements, that are read for one module or provider.
MAX_USES = 2_000
# The same for a step from many modules.
MAX_USES_OF_MANY = 10_000
LATEST = "latest"
_CALLER = (
    "version__release__namespace__name",
    "version__release__name",
    "version__release__version",
    "constraint",
)
# Of one module or provider, or of those of one query.
MAX_VERSIONS = 5_000
# Addresses in one query: SQLite limits the depth of a condition.
BATCH_SIZE = 200

_CALLED = CompiledQuery(
    lambda: ModuleCall.objects.filter(
        target_namespace__in=(Slot("namespace", CharField()), Slot("lower_namespace", CharField())),
        target_name__in=(Slot("name", CharField()), Slot("lower_name", CharField())),
        target_system=Slot("system", CharField()),
    ).values_list("pk")[:1]
)

Address = ModuleAddress | ProviderAddress


@dataclass(frozen=True, slots=True)
class Use:
    """A module block, or a required provider, of a module in its default version. `source` is that of a block."""

    address: ModuleAddress
    version: str
    constraint: str
    source: str = ""

    @property
    def reference(self) -> sources.Reference | None:
        return sources.reference_of(self.source)

    @property
    def asked(self) -> str:
        """The versions that it asks for, in words: `~> 1.0`, `tag 1.2.0`."""
        reference = self.reference
        if reference is None:
            return self.constraint
        return f"digest {reference.digest[:19]}…" if reference.digest else f"tag {reference.tag or LATEST}"

    def refuses(self, version: Version) -> bool:
        """No version that it may use equals this one. False where the version that it uses is unknown."""
        reference = self.reference
        try:
            if reference is None:
                return not Constraint.parse(self.constraint).allows(version)
            if reference.digest or reference.tag in ("", LATEST):
                return False
            return version_of(reference.tag).precedence != version.precedence
        except Invalid:
            return False


def of(viewer: Viewer, address: Address) -> list[Use]:
    return of_module(viewer, address) if isinstance(address, ModuleAddress) else of_provider(viewer, address)


def of_module(viewer: Viewer, address: ModuleAddress) -> list[Use]:
    """The calls of other modules; a module does not use itself."""
    rows = ModuleCall.objects.to(address).installed().filter(version__release__in=default_releases(viewer))
    rows = rows.exclude(
        Q(version__release__namespace__name=address.namespace, version__release__name=address.path_name)
    )
    return _uses(rows, "source")


def is_called(address: ModuleAddress) -> bool:
    """Return whether any module calls one of this name, hidden ones too. Of most modules no one does, and the query for
    the rest takes Django longer to write than the database to answer.
    """
    asked = {"namespace": address.namespace, "name": address.name, "system": address.system}
    return bool(_CALLED(**asked, lower_namespace=address.namespace.lower(), lower_name=address.name.lower()))


def of_provider(viewer: Viewer, address: ProviderAddress) -> list[Use]:
    rows = ProviderRequirement.objects.filter(
        target_namespace=canonical(address.namespace),
        target_type=address.type,
        version__release__in=default_releases(viewer),
    )
    return _uses(rows)


def refusing(uses: list[Use], version: Version) -> list[Use]:
    """Those that would not accept the version. A pre-release is never accepted unasked, so there are none for one."""
    if version.is_prerelease:
        return []
    verdicts: dict[tuple[str, str], bool] = {}  # thousands of modules ask for the same few
    for use in uses:
        if (use.constraint, use.source) not in verdicts:
            verdicts[use.constraint, use.source] = use.refuses(version)
    return [use for use in uses if verdicts[use.constraint, use.source]]


def default_releases(viewer: Viewer) -> QuerySet[Any]:
    docs = SearchDoc.objects.filter(kind=Kind.MODULE, namespace__in=visible_namespaces(viewer))
    return docs.values("release")


def version_of(tag: str) -> Version:
    """The version that an OCI tag names: tags have no "+". Raises Invalid."""
    return versions.parse(tag.replace("_", "+"))


def address_of(namespace: str, path_name: str) -> ModuleAddress:
    name, _, system = path_name.partition("/")
    return ModuleAddress(namespace, name, system)


def with_targets(rows: QuerySet[Any]) -> Iterator[tuple[Use, ModuleAddress]]:
    """Each call with what it calls, as the call spells it."""
    fields = (*_CALLER, "source", "target_namespace", "target_name", "target_system")
    found = rows.values_list(*fields).distinct().order_by(*fields)[:MAX_USES_OF_MANY]
    for namespace, name, version, constraint, source, *target in found:
        yield Use(address_of(namespace, name), version, constraint, source), ModuleAddress(*target)


def _uses(rows: QuerySet[Any], *more: str) -> list[Use]:
    found = rows.values_list(*_CALLER, *more).distinct().order_by(*_CALLER, *more)[:MAX_USES]
    return [Use(address_of(namespace, name), *rest) for namespace, name, *rest in found]


@dataclass(frozen=True, slots=True)
class Offered:
    """A version that may be fetched. `manifest` is the digest of a module's OCI manifest."""

    version: str
    lifecycle: str
    manifest: str = ""


@dataclass(frozen=True, slots=True)
class Outdated:
    """`version` is what the use gets; a yanked one only over OCI. Else it fails, as nothing else is allowed."""

    use: Use
    version: str
    lifecycle: str

    @property
    def fails(self) -> bool:
        return self.lifecycle == Lifecycle.YANKED and self.use.reference is None


def offered(kind: str, namespace_id: int, name: str) -> list[Offered]:
    """All versions that may be fetched, highest first."""
    rows = Release.objects.published().filter(kind=kind, namespace=namespace_id, name=name).newest_first()
    found = rows.values_list("version", "lifecycle", "module_version__manifest_digest")[:MAX_VERSIONS]
    return [Offered(version, lifecycle, manifest or "") for version, lifecycle, manifest in found]


def offered_of(kind: Kind, addresses: Collection[Address]) -> dict[Address, list[Offered]]:
    """Return the versions like `offered`, of many addresses: of the first BATCH_SIZE, in at most one query. Of very
    many versions the highest.
    """
    by_name = {(one.namespace, one.path_name): one for one in list(addresses)[:BATCH_SIZE]}
    if not by_name:
        return {}
    named = reduce(or_, (Q(namespace__name=namespace, name=name) for namespace, name in by_name))
    rows = Release.objects.published().filter(named, kind=kind).newest_first()
    fields = ("namespace__name", "name", "version", "lifecycle", "module_version__manifest_digest")
    found: dict[Address, list[Offered]] = {one: [] for one in by_name.values()}
    for namespace, name, version, lifecycle, manifest in rows.values_list(*fields)[:MAX_VERSIONS]:
        found[by_name[namespace, name]].append(Offered(version, lifecycle, manifest or ""))
    return found


def outdated_among(uses: Iterable[Use], offered: Sequence[Offered]) -> list[Outdated]:
    """The uses that get a deprecated or yanked version today, failing ones first."""
    picked: dict[tuple[str, str], Offered | None] = {}  # thousands of modules ask for the same few
    for use in uses:
        if (use.constraint, use.source) not in picked:
            picked[use.constraint, use.source] = None
            with suppress(Invalid):  # of an unreadable constraint it is unknown
                picked[use.constraint, use.source] = _picked(use.constraint, use.source, offered)
    found = [
        Outdated(use, one.version, one.lifecycle)
        for use in uses
        if (one := picked[use.constraint, use.source]) and one.lifecycle != Lifecycle.MAINTAINED
    ]
    return sorted(found, key=lambda one: not one.fails)


def selected(constraint: str, source: str, offered: Sequence[Offered]) -> str | None:
    """The version that clients get now, a yanked one only over OCI; empty if they get none, None if that is unknown."""
    try:
        picked = _picked(constraint, source, offered)
    except Invalid:
        return None
    reference = sources.reference_of(source)
    if picked is None:
        return None if reference and reference.digest else ""  # the digest may be that of a package without a version
    return picked.version if reference or picked.lifecycle != Lifecycle.YANKED else ""


def _picked(constraint: str, source: str, offered: Sequence[Offered]) -> Offered | None:
    """Return the version that clients select among the listed ones, else the highest yanked one that is allowed. Raises
    Invalid.
    """
    reference = sources.reference_of(source)
    listed = [one for one in offered if one.lifecycle != Lifecycle.YANKED]
    if reference is None:
        allowed = Constraint.parse(constraint)
        return _highest(allowed, listed) or _highest(allowed, offered)
    if reference.digest:
        return next((one for one in offered if one.manifest == reference.digest), None)
    if reference.tag in ("", LATEST):
        return _highest(Constraint.parse(""), listed)
    tagged = version_of(reference.tag).sort_key
    return next((one for one in offered if versions.sort_key(one.version) == tagged), None)


def _highest(constraint: Constraint, offered: Iterable[Offered]) -> Offered | None:
    """`offered` has the highest first."""
    return next((one for one in offered if constraint.allows(versions.parse(one.version))), None)


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


def _folded(text: Any) -> Replace:
    """The SQL of `addresses.canonical`."""
    return Replace(Lower(text), Value("_"), Value("-"))
