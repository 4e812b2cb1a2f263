"""Modules of this registry that break or change when a version of another module leaves the lists (D9).

`releases.lifecycle.impact` lists the affected people.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.accounts.access.gate import Viewer
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.constraints import Constraint
from apps.lib.errors import Invalid
from apps.modules.dependents import users
from apps.modules.dependents.users import Use
from apps.releases.models import Release

MAY_FAIL = "may fail: its constraint is unknown"
MAY_BE_IT = "may use this version, which stays available by tag and digest until it is quarantined or purged"
BY_TAG = "still gets it by its tag until it is quarantined or purged"


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
    rows = users.of_module(viewer, users.address_of(release.namespace.name, release.name))
    if not rows:
        return []
    this = versions.parse(release.version)
    same = {"kind": release.kind, "namespace": release.namespace, "name": release.name}
    left = list(Release.objects.listed().filter(**same).exclude(pk=release.pk).values_list("version", flat=True))
    callers = dict.fromkeys(_caller(row, this, left) for row in rows)
    hit = [caller for caller in callers if caller is not None]
    return sorted(hit, key=lambda caller: caller.rank)


def _caller(use: Use, this: versions.Version, left: Sequence[str]) -> Caller | None:
    caller = Caller(use.address, use.version, use.asked)
    reference = use.reference
    # A tag or a digest still reaches a yanked version; quarantine and purge break the caller.
    if reference is not None and reference.digest:
        return replace(caller, effect=MAY_BE_IT)
    if reference is not None and reference.tag not in ("", users.LATEST):
        try:
            is_this = users.version_of(reference.tag).precedence == this.precedence
        except Invalid:
            return replace(caller, effect=MAY_BE_IT)
        return replace(caller, effect=BY_TAG) if is_this else None
    try:
        constraint = Constraint.parse(use.constraint if reference is None else "")
    except Invalid:
        return replace(caller, effect=MAY_FAIL)
    return replace(caller, instead=constraint.highest(left)) if constraint.allows(this) else None
