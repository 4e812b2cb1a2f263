"""Write what a listing found: new tags, those that moved or were deleted, and what the rules make of each."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog
from django.db.models import F

from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.contrib.git import rulebook, tag_matching
from apps.contrib.git.models import COOLING_DOWN, MAX_CODE, MAX_REASON, GitRepository, Precedence, Tag, Verdict
from apps.contrib.git.remote.refs import Ref
from apps.contrib.git.tag_matching import TagMatch
from apps.jobs import turns
from apps.lib import versions
from apps.lib.errors import Reason
from apps.releases.models import Release, State

BATCH_SIZE = 500
# A history that was rewritten moves every tag: the rest is one alarm.
MAX_ALARMS = 20
NOT_SELECTED = "not_selected"
ENDED = (State.REJECTED, State.FAILED)
# What stays until somebody asks for another try, as long as commit and rules are the same.
_STAYING = (Verdict.WAITING, Verdict.REFUSED)
_COLUMNS = (
    "folder",
    "version",
    "sort_key",
    "commit",
    "tag_object",
    "verdict",
    "code",
    "reason",
    "release_id",
    "published_commit",
    "tries",
    "precedence",
    "changed_at",
)

log = structlog.get_logger("larder.sources")


@dataclass(slots=True)
class Changes:
    new: list[Tag] = field(default_factory=list)
    changed: dict[int, Tag] = field(default_factory=dict)
    dropped: list[int] = field(default_factory=list)
    moved: list[Tag] = field(default_factory=list)
    deleted: list[Tag] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        return {
            "new": len(self.new),
            "changed": len(self.changed),
            "dropped": len(self.dropped),
            "moved": len(self.moved),
            "deleted": len(self.deleted),
        }

    def __str__(self) -> str:
        said = ", ".join(f"{count:,} {name}" for name, count in self.counts.items() if count)
        return f"Compared with the last listing: {said or 'no change'}"


def apply(
    repository: GitRepository,
    found: Sequence[Ref],
    *,
    now: datetime,
    match: Callable[[Ref], list[TagMatch]] | None = None,
) -> Changes:
    """In the caller's transaction, which has locked the repository. A few queries for any number of tags. Raises
    TooManyVersions.

    `match`: in the place of the rules.
    """
    match = match or partial(tag_matching.match_rules, rules=rulebook.of(repository))
    listed = {tag_matching.stored_name(ref): ref for ref in found}
    matched = {
        (tag_matching.stored_name(ref), one.module): one for ref, one in tag_matching.match_all(listed.values(), match)
    }
    rows = Tag.objects.filter(repository=repository).annotate(release_state=F("release__state"))
    known = {(row.name, row.module): row for row in rows}
    ended = _ended_releases(known.values())
    changes = Changes()
    is_first = repository.fetched_at is None
    selected = None if repository.selected is None else frozenset(repository.selected)
    seen = {name for name, _ in known}
    made = {name for (name, _), row in known.items() if _is_made(row)}
    for key, row in known.items():
        ref, before = listed.get(row.name), _values(row)
        if _is_made(row):
            _watch(row, ref, changes)
        elif ref is not None and key in matched:
            _match_again(row, ref, matched[key], ended.get(row.release_id or 0))
        elif ref is None and row.module and row.verdict != Verdict.IGNORED:
            _set(row, Verdict.GONE, "deleted", "The tag was deleted before it was published.")
        else:
            changes.dropped.append(row.pk)
        if before != _values(row):
            if (row.verdict, row.commit) != (before["verdict"], before["commit"]):
                row.changed_at = now
            changes.changed[row.pk] = row
    for key, one in matched.items():
        # A tag of a release is no tag that fits no rule, whatever the rules are now.
        if key not in known and (one.module or key[0] not in made):
            # After a change of rules, a tag that is listed for the first time is new, and no part of the selection.
            left_out = selected is not None and key[0] not in selected and (is_first or key[0] in seen)
            changes.new.append(_new(repository, key[0], listed[key[0]], one, left_out=left_out, now=now))
    _rank(changes, pushed=lambda tag: not is_first and tag.name not in seen)
    _write(changes)
    _raise_alarms(repository, changes)
    return changes


def _rank(changes: Changes, *, pushed: Callable[[Tag], bool]) -> None:
    """Say which new tags are fetched first. Of many that were pushed, a person waits for the newest; of an import the
    newest version of each module is the one that people want.
    """
    waiting = [tag for tag in changes.new if tag.verdict == Verdict.WAITING and not tag.code]
    waiting.sort(key=_newest_last)
    found = [tag for tag in waiting if not pushed(tag)]
    awaited = [tag for tag in waiting if pushed(tag)][-turns.FEW :] + (found if len(found) <= turns.FEW else [])
    newest = {tag.module: tag for tag in waiting}
    for tag in newest.values():
        tag.precedence = Precedence.NEWEST
    for tag in awaited:
        tag.precedence = Precedence.AWAITED


def _newest_last(tag: Tag) -> tuple[bool, bytes]:
    """A pre-release is no module's newest version while there is another."""
    return not versions.parse(tag.version).is_prerelease, bytes(tag.sort_key)


def _is_made(row: Tag) -> bool:
    """A release was made of it that is, or may become, public."""
    return bool(row.published_commit) and row.release_state not in ENDED  # type: ignore[attr-defined]  # annotated


def _watch(row: Tag, ref: Ref | None, changes: Changes) -> None:
    """The release never changes; what happens to its tag is told."""
    if ref is None:
        if row.verdict != Verdict.GONE:
            reason = f"The tag was deleted. The release was made from commit {row.published_commit}, and stays."
            _set(row, Verdict.GONE, "deleted", reason)
            changes.deleted.append(row)
        return
    if ref.commit == row.published_commit:
        _set(row, Verdict.PUBLISHED, "", "")
    elif row.verdict != Verdict.MOVED or row.commit != ref.commit:
        reason = (
            f"The tag moved to commit {ref.commit}. The release was made from commit {row.published_commit}, and does "
            "not change. Publish the new commit under a new version."
        )
        _set(row, Verdict.MOVED, "moved", reason)
        changes.moved.append(row)
    row.commit, row.tag_object = ref.commit, ref.tag_object


def _match_again(row: Tag, ref: Ref, one: TagMatch, release: Release | None) -> None:
    """Of no release, or of one that was refused."""
    is_same = (row.commit, row.folder, row.version) == (ref.commit, one.folder, one.version)
    is_left_out = row.code == NOT_SELECTED and one.verdict == Verdict.WAITING
    if row.commit != ref.commit:
        row.precedence = Precedence.AWAITED
    row.commit, row.tag_object = ref.commit, ref.tag_object
    row.folder, row.version, row.sort_key = one.folder, one.version, one.sort_key
    is_cooling = row.verdict == one.verdict == Verdict.WAITING and COOLING_DOWN in (row.code, one.code)
    is_staying = is_same and one.verdict == Verdict.WAITING and row.verdict in _STAYING and row.code != "bad_address"
    if is_left_out or (is_staying and not is_cooling):
        return
    if is_same and release is not None:
        reasons = [Reason.from_dict(reason) for reason in release.reasons]
        code = reasons[0].code if reasons else release.state
        _set(row, Verdict.REFUSED, code[:MAX_CODE], " ".join(reason.sentence for reason in reasons))
        return
    row.release_id, row.published_commit, row.tries = None, "", 0
    _set(row, one.verdict, one.code, one.reason)


def _new(repository: GitRepository, name: str, ref: Ref, one: TagMatch, *, left_out: bool, now: datetime) -> Tag:
    row = Tag(
        repository=repository,
        name=name,
        module=one.module,
        folder=one.folder,
        version=one.version,
        sort_key=one.sort_key,
        commit=ref.commit,
        tag_object=ref.tag_object,
        verdict=one.verdict,
        code=one.code,
        reason=one.reason[:MAX_REASON],
        seen_at=now,
        known_since=one.known_since,
        changed_at=now,
    )
    if left_out and one.verdict == Verdict.WAITING:
        _set(
            row,
            Verdict.IGNORED,
            NOT_SELECTED,
            "It was not selected when the repository was started, or its rules changed. It can still be published.",
        )
    return row


def _set(row: Tag, verdict: str, code: str, reason: str) -> None:
    row.verdict, row.code, row.reason = verdict, code, reason[:MAX_REASON]


def _values(row: Tag) -> dict[str, object]:
    return {name: getattr(row, name) for name in _COLUMNS}


def _ended_releases(rows: Iterable[Tag]) -> dict[int, Release]:
    """The releases whose end their tags do not say yet."""
    numbers = [
        row.release_id for row in rows if row.release_id and row.verdict == Verdict.PUBLISHED and not _is_made(row)
    ]
    found: dict[int, Release] = {}
    for start in range(0, len(numbers), BATCH_SIZE):
        found |= Release.objects.only("state", "reasons").in_bulk(numbers[start : start + BATCH_SIZE])
    return found


def _write(changes: Changes) -> None:
    Tag.objects.bulk_create(changes.new, batch_size=BATCH_SIZE)
    for start in range(0, len(changes.dropped), BATCH_SIZE):
        Tag.objects.filter(pk__in=changes.dropped[start : start + BATCH_SIZE]).delete()
    # An upsert of rows that are there: bulk_update takes fifteen times as long.
    Tag.objects.bulk_create(
        changes.changed.values(),
        batch_size=BATCH_SIZE,
        update_conflicts=True,
        update_fields=[name.removesuffix("_id") for name in _COLUMNS],
        unique_fields=["id"],
    )


def _raise_alarms(repository: GitRepository, changes: Changes) -> None:
    for kind, rows in ((Kind.GIT_TAG_MOVED, changes.moved), (Kind.GIT_TAG_DELETED, changes.deleted)):
        if not rows:
            continue
        releases = Release.objects.select_related("namespace").in_bulk(
            [row.release_id for row in rows[:MAX_ALARMS] if row.release_id]
        )
        for row in rows[:MAX_ALARMS]:
            release = releases.get(row.release_id or 0)
            record(
                kind,
                actor_id=None,
                subject=str(release) if release else repository.namespace.name,
                release=row.release_id,
                repository=repository.pk,
                tag=row.name,
                known=row.published_commit,
                found=row.commit if kind == Kind.GIT_TAG_MOVED else "",
                reason=f"{row.name} of {repository.url}: {row.reason}"[:500],
            )
        if len(rows) > MAX_ALARMS:
            names = [row.name for row in rows[MAX_ALARMS:]]
            word = "moved" if kind == Kind.GIT_TAG_MOVED else "were deleted"
            record(
                kind,
                actor_id=None,
                subject=repository.namespace.name,
                repository=repository.pk,
                tags=names[:100],
                reason=f"{len(names):,} more tags of {repository.url} {word}. Their releases do not change.",
            )
        log.warning("git_tags_alarm", repository=repository.pk, kind=str(kind), tags=[row.name for row in rows[:100]])
