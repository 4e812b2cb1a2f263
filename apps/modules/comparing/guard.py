"""The version guard: what a version breaks before it is published, and what its namespace makes of it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import BreakingChanges, Namespace
from apps.lib.errors import Reason
from apps.modules.comparing.changes import SENTENCES, Change, Document, Severity, between
from apps.modules.models import ModuleVersion
from apps.releases.catalogue.comparing import next_breaking, previous_among, says_breaking, step_between
from apps.releases.models import Kind, Release

BREAKING_CHANGE = "breaking_change"  # the code of the question and of the refusal
MAX_CHANGES = 50  # kept with the release, the most severe first
MAX_VALUE_CHARACTERS = 200
MAX_NAMED = 5
MAX_REASON_CHARACTERS = 500
MAX_LATER = 20  # pre-releases that are compared with a version that came after them


@dataclass(frozen=True, slots=True)
class GuardResult:
    """The changes in `version` for users of `against`."""

    version: str
    against: str
    changes: list[Change]

    @property
    def breaking(self) -> list[Change]:
        return [change for change in self.changes if change.severity == Severity.BREAKING]

    @property
    def step(self) -> str:
        return step_between(self.against, self.version)

    @property
    def is_said(self) -> bool:
        """Nothing breaks, or the number says so."""
        return not self.breaking or says_breaking(self.against, self.version)

    def as_note(self) -> dict[str, Any]:
        """For `Release.notes`: without the compatible changes, and shortened."""
        told = [change for change in self.changes if change.severity != Severity.COMPATIBLE]
        return {
            "against": self.against,
            "step": self.step,
            "is_said": self.is_said,
            "breaking": len(self.breaking),
            "risky": len(told) - len(self.breaking),
            "changes": [
                {key: _line(value) for key, value in change.as_dict().items()} for change in told[:MAX_CHANGES]
            ],
        }


def compare_with_current(namespace: Namespace, name: str, version: str, document: Document) -> GuardResult | None:
    """Compare an inspection with the version that its users have now; None if there is none.

    `name` is `name/system`.
    """
    chosen = previous_of(namespace, name, version)
    if chosen is None:
        return None
    found = ModuleVersion.objects.filter(pk=chosen).values_list("release__version", "inspection", "inspector").first()
    if found is None or not found[2]:  # nothing there, or its reader gave up
        return None
    against, before, _ = found
    return GuardResult(version, against, between(before, document))


def compare_later(release: Release) -> None:
    """Compare versions that were published before the one that they follow, as the newest of an import: with `release`,
    in the transaction that publishes it. Nothing is held any longer; what was compared in time stays as it was judged.
    """
    if release.kind != Kind.MODULE or release.namespace.breaking_changes == BreakingChanges.SILENT:
        return
    later = ModuleVersion.objects.published().filter(
        release__kind=Kind.MODULE,
        release__namespace=release.namespace,
        release__name=release.name,
        release__sort_key__gt=release.sort_key,
    )
    own = ModuleVersion.objects.filter(release=release).values_list("pk", flat=True).first()
    # Up to the first stable one: what comes after that follows it, or a later one.
    for row in later.select_related("release").order_by("release__sort_key")[:MAX_LATER]:
        note = row.release.notes.get("guard")
        is_open = row.inspector and (not note or note.get("is_late"))
        version = row.release.version
        if is_open and previous_of(release.namespace, release.name, version) == own:
            result = compare_with_current(release.namespace, release.name, version, row.inspection)
            if result is not None:
                notes = row.release.notes | {"guard": result.as_note() | {"is_late": True}}
                Release.objects.filter(pk=row.release_id).update(notes=notes)
        if not row.is_prerelease:
            break


def previous_of(namespace: Namespace, name: str, version: str) -> int | None:
    """The key of the ModuleVersion that users have now."""
    rows = ModuleVersion.objects.published().filter(
        release__kind=Kind.MODULE, release__namespace=namespace, release__name=name
    )
    return previous_among(rows, version)


def check(result: GuardResult | None, mode: str, *, confirmed: Collection[str], reason: str) -> list[Reason]:
    """Return what the namespace asks (`ask`) or why it refuses (`refuse`); empty if the version may be published."""
    if result is None or result.is_said:
        return []
    if mode == BreakingChanges.ASK and not (BREAKING_CHANGE in confirmed and reason):
        return [_reason(result, _HOW_TO_CONFIRM)]
    if mode == BreakingChanges.REFUSE:
        return [_reason(result, "Publish it under that number, or undo the changes. Owners can change the rule.")]
    return []


_HOW_TO_CONFIRM = (
    "Publish it under that number, or give the reason on the release's page (in a script: "
    "?confirm=breaking-change&reason=…, for a pushed manifest: the annotations larder.confirm=breaking-change and "
    "larder.reason)."
)


def _reason(result: GuardResult, hint: str) -> Reason:
    breaking = result.breaking
    named = "; ".join(
        f"{change.kind} {_line(change.name)}{f' of {change.unit}' if change.unit else ''} ({SENTENCES[change.rule]})"
        for change in breaking[:MAX_NAMED]
    )
    more = f"; and {len(breaking) - MAX_NAMED} more" if len(breaking) > MAX_NAMED else ""
    count = f"{len(breaking)} breaking change{'' if len(breaking) == 1 else 's'}"
    return Reason(
        code=BREAKING_CHANGE,
        found=f"{count} since {result.against}: {named}{more}",
        expected=f"a number for breaking changes, such as {next_breaking(result.against)}",
        hint=hint,
    )


def _line(text: str) -> str:
    line = " ".join(text.split())
    return f"{line[: MAX_VALUE_CHARACTERS - 1]}…" if len(line) > MAX_VALUE_CHARACTERS else line


def clean_reason(text: str) -> str:
    """One line, without what does not print, as long as the column."""
    return "".join(one for one in " ".join(text.split()) if one.isprintable())[:MAX_REASON_CHARACTERS]
