"""Two versions of a module or provider side by side: what changed, how severe it is, and whether the number says so.

Each kind finds its own changes (`modules.comparing`, `providers.comparing`). The pages, the API and the text for a
changelog all show a `Comparison`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Case, IntegerField, QuerySet, When

from apps.lib import versions
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import NotFound
from apps.releases.models import Lifecycle, Release

SEPARATOR = "..."
# In the text for a changelog: characters of a value, and lines of a severity.
LONGEST_VALUE = 120
MAX_LINES = 200
# Changes that are kept with a release that awaits approval.
MAX_NOTED = 1_000


class Severity(StrEnum):
    BREAKING = "breaking"  # a configuration that worked fails, or destroys something
    RISKY = "risky"  # it may behave differently
    COMPATIBLE = "compatible"


_TITLES = {Severity.BREAKING: "Breaking", Severity.RISKY: "Check these", Severity.COMPATIBLE: "Compatible"}


@dataclass(frozen=True, slots=True)
class Change:
    """`kind`: input, output, resource, action, call, provider, client or submodule of a module; platform, protocol, key
    or docs of a provider. `unit`: the submodule's folder, empty for the module itself. `before` and `after` are texts,
    empty where there was or is nothing.
    """

    kind: str
    name: str
    severity: Severity
    rule: str
    before: str = ""
    after: str = ""
    unit: str = ""

    def as_dict(self) -> dict[str, str]:
        return {key: str(value) for key, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`changes` in the order of `sorted_by_severity`; `sentences` says what each rule means."""

    address: ModuleAddress | ProviderAddress
    before: Release
    after: Release
    changes: list[Change]
    sentences: Mapping[str, str]

    @property
    def severity(self) -> Severity:
        return severity_of(self.changes)

    @property
    def step(self) -> str:
        """The first part of the number that differs: `major`, `minor`, `patch`, `pre-release`; "" for an older one."""
        return step_between(self.before.version, self.after.version)

    @property
    def is_said(self) -> bool:
        """True if the number tells of the change, or the change breaks nothing."""
        return self.severity != Severity.BREAKING or says_breaking(self.before.version, self.after.version)

    def markdown(self) -> str:
        """To paste into a changelog."""
        lines = [f"## {self.after.version}", "", f"Since {self.before.version}:"]
        for severity, title in _TITLES.items():
            found = [change for change in self.changes if change.severity == severity]
            if found:
                lines += ["", f"### {title}", "", *(f"- {self._line(change)}" for change in found[:MAX_LINES])]
                lines += [f"- and {len(found) - MAX_LINES} more"] if len(found) > MAX_LINES else []
        if not self.changes:
            lines += ["", "No user-visible changes."]
        return "\n".join(lines) + "\n"

    def _line(self, change: Change) -> str:
        where = f" in `{_code(change.unit)}`" if change.unit else ""
        texts = [f"`{_code(text)}`" for text in (change.before, change.after) if text and text != change.name]
        values = f" ({' → '.join(texts)})" if texts else ""
        return f"`{_code(change.name)}`{where}: {self.sentences[change.rule]}{values}"


def noted(comparison: Comparison) -> dict[str, Any]:
    """For `Approval.comparison`: what a page of two published versions shows, as JSON."""
    return {
        "against": comparison.before.version,
        "severity": str(comparison.severity),
        "step": comparison.step,
        "is_said": comparison.is_said,
        "changes": [
            change.as_dict() | {"sentence": comparison.sentences[change.rule]}
            for change in comparison.changes[:MAX_NOTED]
        ],
        "more": max(0, len(comparison.changes) - MAX_NOTED),
    }


def previous_among(rows: QuerySet[Any], version: str) -> Any | None:
    """Return the key of the version that users have now, among published versions of one module or provider.

    Of the lower ones it is the highest stable one that is not yanked; without such the highest stable one, and without
    a stable one the highest pre-release. The key alone: a database would sort the texts of the rows with it.
    """
    lower = rows.filter(release__sort_key__lt=versions.sort_key(version))
    yanked = Case(When(release__lifecycle=Lifecycle.YANKED, then=1), default=0, output_field=IntegerField())
    return lower.order_by("is_prerelease", yanked, "-release__sort_key").values_list("pk", flat=True).first()


def numbers_in(asked: str) -> tuple[str, str]:
    """The two numbers of `1.2.0...2.0.0`."""
    before, separator, after = asked.partition(SEPARATOR)
    if not separator:
        raise NotFound(f"{asked!r} does not name two versions.", hint="Write them as 1.2.0...2.0.0.")
    return before, after


def sorted_by_severity(changes: Iterable[Change]) -> list[Change]:
    """The most severe first, then by folder, kind and name."""
    order = list(Severity)
    return sorted(changes, key=lambda one: (order.index(one.severity), one.unit, one.kind, one.name, one.rule))


def severity_of(changes: Iterable[Change]) -> Severity:
    """The highest of them; compatible if there are none."""
    found = {change.severity for change in changes}
    return next(severity for severity in Severity if severity in found or severity == Severity.COMPATIBLE)


def step_between(before: str, after: str) -> str:
    """The first part that differs: `major`, `minor`, `patch`, `pre-release`; "" if `after` is not the later one."""
    old, new = versions.parse(before), versions.parse(after)
    if new.sort_key <= old.sort_key:
        return ""
    parts = zip(("major", "minor", "patch"), _numbers(old), _numbers(new), strict=True)
    return next((name for name, one, other in parts if one != other), "pre-release")


def says_breaking(before: str, after: str) -> bool:
    """Return whether the step from one to the other may break: a major one, before 1.0.0 a minor one, any from a
    pre-release.

    A pre-release promises nothing to those who use it (SemVer 2.0, 9).
    """
    step = step_between(before, after)
    old = versions.parse(before)
    allowed = ("major", "minor") if _numbers(old)[0] == 0 else ("major",)
    return step in allowed or (bool(step) and old.is_prerelease)


def next_breaking(before: str) -> str:
    """The lowest number after this one that says that something breaks."""
    major, minor, _ = _numbers(versions.parse(before))
    return f"{major + 1}.0.0" if major else f"0.{minor + 1}.0"


def _numbers(version: versions.Version) -> tuple[int, int, int]:
    major, minor, patch = version.precedence.partition("-")[0].split(".")
    return int(major), int(minor), int(patch)


def _code(text: str) -> str:
    """Fit for backticks: hostile text must not end them."""
    line = " ".join(text.split()).replace("`", "'")
    return f"{line[: LONGEST_VALUE - 1]}…" if len(line) > LONGEST_VALUE else line
