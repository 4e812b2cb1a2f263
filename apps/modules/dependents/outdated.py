"""Modules that still get a deprecated or yanked version of what they use."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.lib import versions
from apps.lib.constraints import Constraint
from apps.lib.errors import Invalid
from apps.modules.dependents import users
from apps.modules.dependents.users import Use
from apps.releases.models import Lifecycle, Release

# Of one module or provider.
MAX_VERSIONS = 5_000


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


def among(uses: Iterable[Use], offered: Sequence[Offered]) -> list[Outdated]:
    """The uses that get a deprecated or yanked version today, failing ones first."""
    picked: dict[tuple[str, str], Offered | None] = {}  # thousands of modules ask for the same few
    for use in uses:
        if (use.constraint, use.source) not in picked:
            picked[use.constraint, use.source] = picked_by(use, offered)
    found = [
        Outdated(use, one.version, one.lifecycle)
        for use in uses
        if (one := picked[use.constraint, use.source]) and one.lifecycle != Lifecycle.MAINTAINED
    ]
    return sorted(found, key=lambda one: not one.fails)


def picked_by(use: Use, offered: Sequence[Offered]) -> Offered | None:
    """What clients select among the listed versions, else the highest yanked one that is allowed. None if unknown."""
    reference = use.reference
    listed = [one for one in offered if one.lifecycle != Lifecycle.YANKED]
    try:
        if reference is None:
            constraint = Constraint.parse(use.constraint)
            return _highest(constraint, listed) or _highest(constraint, offered)
        if reference.digest:
            return next((one for one in offered if one.manifest == reference.digest), None)
        if reference.tag in ("", users.LATEST):
            return _highest(Constraint.parse(""), listed)
        tagged = users.version_of(reference.tag).sort_key
        return next((one for one in offered if versions.sort_key(one.version) == tagged), None)
    except Invalid:
        return None


def _highest(constraint: Constraint, offered: Iterable[Offered]) -> Offered | None:
    """`offered` has the highest first."""
    return next((one for one in offered if constraint.allows(versions.parse(one.version))), None)
