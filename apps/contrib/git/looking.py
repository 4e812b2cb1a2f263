"""Look into tags as publishing does, and publish nothing: what it would refuse, and what it would ask about.

Of each rule one tag is looked into, the newest that would be published. Each costs a fetch, and the children that
examine an archive, so all of it is bounded in time and bytes: what is left over is said to be unchecked.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.trusted import requiring
from apps.contrib.git import git_calls, places, publishing, refusals, verdicts
from apps.contrib.git.git_calls import Budget
from apps.contrib.git.models import MAX_REASON, GitRepository, Tag
from apps.contrib.git.places import Place
from apps.contrib.git.remote import patterns
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.remote.checkouts import Commit
from apps.contrib.git.rulebook import CheckedRule
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Reason, RegistryError, Unavailable
from apps.modules import dry_run
from apps.modules import publishing as module_publishing

PUBLISH, HELD, REFUSED = "publish", "held", "refused"
_VERDICTS = {dry_run.WOULD_PUBLISH: PUBLISH, dry_run.WOULD_ASK: HELD, dry_run.WOULD_REJECT: REFUSED}

Row = Mapping[str, Any]

log = structlog.get_logger("larder.sources")


def newest(rules: Sequence[CheckedRule], planned: Iterable[Row]) -> list[Row]:
    """Return of each rule the first row that would be published by it. `planned`: the newest version first."""
    left = list(rules)
    found: dict[tuple[str, str, str], Row] = {}
    for row in planned:
        if not left:
            break
        if row["verdict"] != PUBLISH:
            continue
        matches = {pattern: patterns.match(pattern, row["tag"]) for pattern in {rule.tag for rule in left}}
        for rule in list(left):
            match = matches[rule.tag]
            if match is not None and row["module"] == patterns.filled(rule.module, match.name):
                left.remove(rule)
                found.setdefault(key_of(row), row)
    return list(found.values())


def key_of(row: Row) -> tuple[str, str, str]:
    """Tell which one of all tags, as a version of which module, a row or a finding is about."""
    return row["tag"], row["module"], row["folder"]


def into(repository: GitRepository, rows: Iterable[Row], budget: Budget) -> list[dict[str, Any]]:
    """Return a finding for each row that was looked into: {"tag", "module", "folder", "commit", "verdict": "publish" |
    "held" | "refused", "code", "reason"}.
    """
    groups: dict[str, list[Tag]] = defaultdict(list)
    for row in rows:
        columns = {name: row[name] for name in ("module", "folder", "version", "commit")}
        tag = Tag(repository=repository, name=row["tag"], **columns)
        groups[tag.commit or tag.name].append(tag)
    place, found = places.of(repository), []
    # Those of few modules first: one commit of a hundred would take all the time.
    for tags in sorted(groups.values(), key=len):
        if budget.is_over:
            break
        try:
            found += _of_commit(place, tags, budget)
        except GitFailed as failed:
            log.info("git_look_failed", repository=repository.pk, tag=tags[0].name, code=failed.code)
            if place.is_over(failed):  # else it is tried again, also by publishing
                found += [_finding(tag, REFUSED, failed.code, f"{failed} {failed.hint}") for tag in tags]
    return found


def _of_commit(place: Place, tags: Sequence[Tag], budget: Budget) -> list[dict[str, Any]]:
    """Of tags that lead to one commit. Raises GitFailed."""
    source = place.source_of(tags[0])
    found, left = [], []
    with git_calls.fetched(tags[0].repository, source, budget) as commit:
        for tag in tags:  # first what costs little
            folder = source.folder or tag.folder
            refused = _refusal(tag, commit, folder)
            if refused is None:
                left.append((tag, folder))
            else:
                found.append(refused)
        for tag, folder in left:
            if budget.seconds <= 0:
                break
            if (forecast := _forecast(tag, commit, folder)) is not None:
                found.append(forecast)
        budget.left_bytes -= commit.size
    return found


def _refusal(tag: Tag, commit: Commit, folder: str) -> dict[str, Any] | None:
    """Return why publishing would refuse it before it hands the files to the pipeline."""
    viewer, namespace = Viewer(tag.repository.user), tag.repository.namespace
    try:
        module_publishing.authorise_coordinate(viewer, _address_of(tag), tag.version)
        if refused := requiring.refusal_of(viewer, namespace):
            raise refused
    except RegistryError as problem:
        return _finding(tag, REFUSED, problem.code, f"{problem} {problem.hint}")
    reasons = refusals.reasons_of(commit, folder, tag.repository.submodules)
    return _finding(tag, REFUSED, reasons[0].code, verdicts.sentences(reasons)) if reasons else None


def _forecast(tag: Tag, commit: Commit, folder: str) -> dict[str, Any] | None:
    """Return what the pipeline would make of it; None if that cannot be said now. Raises GitFailed."""
    try:
        forecast = dry_run.forecast_fetched(
            namespace=tag.repository.namespace,
            address=_address_of(tag),
            version=tag.version,
            **publishing.body_of(tag, folder, commit),
        )
    except Unavailable as problem:
        log.info("git_look_failed", repository=tag.repository_id, tag=tag.name, code=problem.code)
        return None
    except RegistryError as problem:  # such as an archive that is too large
        return _finding(tag, REFUSED, problem.code, f"{problem} {problem.hint}")
    reasons: list[Reason] = forecast.reasons
    code = reasons[0].code if reasons else ""
    return _finding(tag, _VERDICTS[forecast.state], code, verdicts.sentences(reasons))


def _address_of(tag: Tag) -> ModuleAddress:
    name, _, system = tag.module.partition("/")
    return ModuleAddress(tag.repository.namespace.name, name, system)


def _finding(tag: Tag, verdict: str, code: str, reason: str) -> dict[str, Any]:
    return {
        "tag": tag.name,
        "module": tag.module,
        "folder": tag.folder,
        "commit": tag.commit,
        "verdict": verdict,
        "code": code,
        "reason": reason.strip()[:MAX_REASON],
    }
