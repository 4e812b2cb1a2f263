"""The choice of a version: the highest maintained one that the constraint allows."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.lib import versions
from apps.lib.constraints import Constraint
from apps.releases.catalogue.reading import advice_of
from apps.releases.models import Lifecycle, Release


@dataclass(frozen=True, slots=True)
class Choice:
    """`version` to use and what clients have `selected` for the constraint; None where there is none."""

    version: str | None
    selected: str | None
    advice: str
    warnings: list[str]


def choice_of(releases: Sequence[Release], constraint: str) -> Choice:
    """`releases` are all published ones, the highest first. Raises Invalid for a constraint that clients refuse too."""
    wanted = Constraint.parse(constraint)
    allowed = [one for one in releases if wanted.allows(versions.parse(one.version))]
    listed = [one for one in allowed if one.lifecycle != Lifecycle.YANKED]
    if not listed:
        return Choice(None, None, _why_none(releases, constraint), [w for one in allowed for w in warnings_of(one)])
    selected = listed[0]
    chosen = next((one for one in listed if one.lifecycle == Lifecycle.MAINTAINED), selected)
    if chosen is not selected:
        advice = f"Pin {chosen.version}: clients select {selected.version}, which is deprecated."
    elif chosen.lifecycle == Lifecycle.DEPRECATED:
        advice = f"Every version that matches is deprecated; {chosen.version} is the highest."
    else:
        advice = f"Use {chosen.version}, the highest version that matches."
    yanked = [one for one in allowed[: allowed.index(chosen)] if one.lifecycle == Lifecycle.YANKED]
    warnings = [warning for one in (selected, *yanked) for warning in warnings_of(one)]
    return Choice(chosen.version, selected.version, advice, warnings)


def warnings_of(release: Release) -> list[str]:
    """At most one sentence."""
    if release.lifecycle == Lifecycle.MAINTAINED:
        return []
    effect = " New installs do not get it." if release.lifecycle == Lifecycle.YANKED else ""
    return [f"{advice_of(release)}{effect}"]


def _why_none(releases: Sequence[Release], constraint: str) -> str:
    listed = [one.version for one in releases if one.lifecycle != Lifecycle.YANKED]
    if not listed:
        return "Every version is yanked."
    if not constraint.strip():
        return f"It has only pre-releases, which clients install by their exact number, such as {listed[0]}."
    return f"No version that clients install matches {constraint.strip()!a}; the highest is {listed[0]}."
