"""Compare the versions that two constraints allow."""

from apps.lib import versions
from apps.lib.constraints import Constraint
from apps.lib.errors import Invalid

WIDER, NARROWER, ANOTHER_MAJOR, UNKNOWN = "widened", "narrowed", "raised", "changed"
_MOST_TERMS = 50  # the work grows with the square
# Near each bound: just below, at, and above it in each place.
_STEPS = ((0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0))


def compare_constraints(before: str, after: str) -> str:
    """`widened`: whatever was allowed still is. `raised`: of a major number that was named, nothing is allowed now.

    `changed`: one of them is unreadable, or together they have too many terms.
    """
    try:
        old, new = Constraint.parse(before), Constraint.parse(after)
    except Invalid:
        return UNKNOWN
    if len(old.terms) + len(new.terms) > _MOST_TERMS:
        return UNKNOWN
    probes = {versions.parse(text) for text in _probes(old) | _probes(new)}
    lost = [version for version in probes if old.allows(version) and not new.allows(version)]
    if not lost:
        return WIDER
    kept = {_major_of(version) for version in probes if new.allows(version)}
    named = {_major_of(term.version) for term in old.terms}
    return ANOTHER_MAJOR if named & {_major_of(version) for version in lost} - kept else NARROWER


def _major_of(version: versions.Version) -> str:
    """A new minor number breaks before 1.0."""
    major, minor, *_ = version.precedence.split(".")
    return major if major != "0" else f"0.{minor}"


def _probes(constraint: Constraint) -> set[str]:
    """Versions that tell constraints apart: bounds, their neighbours, and far ones."""
    found = {"0.0.1", "999.0.0"}
    for term in constraint.terms:
        numbers = [int(number) for number in term.version.precedence.partition("-")[0].split(".")]
        for place in range(3):
            # Just below: 1.4.999 is before 1.5.0.
            if numbers[place]:
                below = [*numbers[:place], numbers[place] - 1, *([999] * (2 - place))]
                found.add(".".join(map(str, below)))
        for step in _STEPS:
            raised = [number + more for number, more in zip(numbers, step, strict=True)]
            found.add(".".join(map(str, raised)))
            place = next((place for place, more in enumerate(step) if more), 3)
            found.add(".".join(map(str, [*raised[: place + 1], 0, 0, 0][:3])))
    return found
