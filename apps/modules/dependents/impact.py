"""Modules of this registry that break or change when a version of another module leaves the lists (D9).

`releases.lifecycle.impact` lists the affected people.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Q

from apps.accounts.access.gate import Viewer, visible_namespaces
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.constraints import Constraint
from apps.lib.errors import Invalid
from apps.modules import publishing
from apps.modules.dependents import sources
from apps.modules.models import ModuleCall
from apps.releases.models import Kind, Release, SearchDoc

# Calls read for one module.
CALLS = 2_000
MAY_FAIL = "may fail: its constraint is unknown"
MAY_BE_IT = "may use this version, which keeps answering to its tags and digest until it is quarantined or purged"
BY_TAG = "still gets it by its tag until it is quarantined or purged"
_ROW = (
    "version__release__namespace__name",
    "version__release__name",
    "version__release__version",
    "constraint",
    "source",
)


@dataclass(frozen=True, slots=True)
class Caller:
    """A call in the default version of another module.

    `instead` is the version that clients select then; None if they fail. `effect`, if set, says what happens to the
    caller.
    """

    address: ModuleAddress
    version: str
    constraint: str
    instead: str | None = None
    effect: str = ""

    @property
    def rank(self) -> int:
        return 1 if self.effect else 2 if self.instead else 0


def callers_of(viewer: Viewer, release: Release) -> list[Caller]:
    """Callers that the viewer may see; those that fail come first."""
    defaults = SearchDoc.objects.filter(kind=Kind.MODULE, namespace__in=visible_namespaces(viewer)).values("release")
    calls = ModuleCall.objects.to(publishing.address_of(release)).filter(version__release__in=defaults)
    # Users of a module do not get what its examples call, and a module does not call itself.
    calls = calls.exclude(unit__startswith="examples/").exclude(
        Q(version__release__namespace=release.namespace, version__release__name=release.name)
    )
    rows = list(calls.values_list(*_ROW).distinct().order_by(*_ROW)[:CALLS])
    if not rows:
        return []
    this = versions.parse(release.version)
    same = {"kind": release.kind, "namespace": release.namespace, "name": release.name}
    left = list(Release.objects.listed().filter(**same).exclude(pk=release.pk).values_list("version", flat=True))
    callers = dict.fromkeys(_caller(row, this, left) for row in rows)
    hit = [caller for caller in callers if caller is not None]
    return sorted(hit, key=lambda caller: caller.rank)


def _caller(row: tuple[str, str, str, str, str], this: versions.Version, left: Sequence[str]) -> Caller | None:
    namespace, path_name, version, text, source = row
    name, _, system = path_name.partition("/")
    address = ModuleAddress(namespace, name, system)
    reference = sources.reference_of(source)
    if reference is not None:
        return _by_reference(Caller(address, version, ""), reference, this, left)
    try:
        constraint = Constraint.parse(text)
    except Invalid:
        return Caller(address, version, text, effect=MAY_FAIL)
    if not constraint.allows(this):
        return None
    return Caller(address, version, text, constraint.highest(left))


def _by_reference(
    caller: Caller, reference: sources.Reference, this: versions.Version, left: Sequence[str]
) -> Caller | None:
    """A tag or a digest still reaches a yanked version; quarantine and purge break the caller."""
    if reference.digest:
        return replace(caller, constraint=f"digest {reference.digest[:19]}…", effect=MAY_BE_IT)
    tag = reference.tag or "latest"
    caller = replace(caller, constraint=f"tag {tag}")
    if tag == "latest":
        every = Constraint.parse("")
        return replace(caller, instead=every.highest(left)) if every.allows(this) else None
    try:
        # OCI tags have no "+".
        is_this = versions.parse(tag.replace("_", "+")).precedence == this.precedence
    except Invalid:
        return replace(caller, effect=MAY_BE_IT)
    return replace(caller, effect=BY_TAG) if is_this else None
