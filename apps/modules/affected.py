"""Which modules here are hit when a version of another leaves the lists (D9); `releases.affected` knows the people."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from apps.accounts.access import Viewer, visible_namespaces
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.constraints import Constraint
from apps.lib.errors import Invalid
from apps.modules.models import ModuleCall
from apps.releases.models import Kind, Release, SearchDoc

# More calls of one module than this are not looked through.
CALLS = 2_000
_ROW = (
    "version__release__namespace__name",
    "version__release__name",
    "version__release__version",
    "constraint",
)


@dataclass(frozen=True, slots=True)
class Caller:
    """A call in the default version of another module. `instead` is what clients take then; None: they fail."""

    address: ModuleAddress
    version: str
    constraint: str
    instead: str | None


def callers_of(viewer: Viewer, release: Release) -> list[Caller]:
    """Those that the viewer may see; first those that are left with nothing."""
    name, _, system = release.name.partition("/")
    defaults = SearchDoc.objects.filter(kind=Kind.MODULE, namespace__in=visible_namespaces(viewer)).values("release")
    calls = ModuleCall.objects.filter(
        target_namespace=release.namespace.name, target_name=name, target_system=system, version__release__in=defaults
    )
    # What an example uses is not what the module's own users get; and a module does not call itself.
    calls = calls.exclude(unit__startswith="examples/").exclude(
        Q(version__release__namespace=release.namespace, version__release__name=release.name)
    )
    found = list(calls.values_list(*_ROW).distinct().order_by(*_ROW)[:CALLS])
    if not found:
        return []
    this = versions.parse(release.version)
    same = {"kind": release.kind, "namespace": release.namespace, "name": release.name}
    left = list(Release.objects.listed().filter(**same).exclude(pk=release.pk).values_list("version", flat=True))
    callers = [_caller(row, this, left) for row in found]
    hit = [caller for caller in callers if caller is not None]
    return sorted(hit, key=lambda caller: caller.instead is not None)


def _caller(row: tuple[str, str, str, str], this: versions.Version, left: Sequence[str]) -> Caller | None:
    namespace, path_name, version, text = row
    try:
        constraint = Constraint.parse(text)
    except Invalid:
        return None  # clients cannot read it either
    if not constraint.allows(this):
        return None
    name, _, system = path_name.partition("/")
    return Caller(ModuleAddress(namespace, name, system), version, text, constraint.highest(left))
