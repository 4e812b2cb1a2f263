"""Preview what rules would publish, before anything is: folders with modules, suggested rules, and each tag's
version.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from apps.accounts.access import connections, machines
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Act
from apps.contrib.git import git_calls, host_scanning, looking, places, row_locks, rulebook, tag_matching
from apps.contrib.git.models import POLICY, GitRepository, Tag, Verdict
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.remote.refs import Ref
from apps.contrib.git.rulebook import CheckedRule
from apps.contrib.git.tag_matching import TagMatch
from apps.jobs import queue
from apps.jobs.claims import Claim, Outage
from apps.releases.models import Kind, Release, State
from apps.releases.origin.models import Way
from apps.releases.publishing import reserving

JOB = "preview-git"
# Somebody who asks about other rules while a worker looks has it look again, at most so often.
MAX_ROUNDS = 3
# What listings say of a tag, before anything was listed.
_PLANNED: dict[str, str] = {Verdict.WAITING: "publish", Verdict.IGNORED: "ignored", Verdict.REFUSED: "refused"}
_MADE = "A release was made of this tag."
# More names than that are not listed in a query.
_MAX_NAMES = 500
# One that fails at once says so at once; what may pass is tried again by whoever asks again.
_INTERRUPTED = {
    "code": "interrupted",
    "text": "Larder was stopped while it scanned the repository.",
    "hint": "Scan it again.",
}

log = structlog.get_logger("larder.sources")


def ask(*, repository: GitRepository, actor: Viewer, rules: Iterable[CheckedRule] | None = None) -> None:
    """Have a worker look at the repository: its tags, the folders of the newest one, and into one tag of each rule.

    `rules`: those of the repository by default, or the suggested ones if it has none. `repository.preview` has the
    result: {"state": "waiting" | "done" | "failed", "failure": {"code", "text", "hint"}, "folders": [{"folder",
    "files", "module", "is_submodule"}], "more_folders": how many were left off, "suggested": [{"tag", "folder",
    "module"}], "left_off": how many more there would be, "refs": [{"tag", "commit"}], "unreadable": how many
    tags are not UTF-8, "asked": the rules that were asked about or None, "rules": those that `looks` is about, "looks":
    as of `looking.into`, "unchecked": how many more there should be, "submodules": the choice that they were made
    with}. While it waits, the rest is that of the look before.
    """
    connections.refuse_suspended(repository, "This repository")
    asked = None if rules is None else [rule.as_json() for rule in rules]
    with transaction.atomic():
        machines.acted(repository.user_id, actor, Act.SCANNED)
        is_new = queue.enqueue_once(JOB, target=repository.pk, created_by_id=actor.user_id)
        row = row_locks.required(repository)
        # A worker that looks already sees what is asked now, unless it has just written what it found.
        if is_new or row.preview.get("state") == "waiting":
            row.preview = {**_empty(), **(row.preview or {}), "state": "waiting", "failure": None, "asked": asked}
            row.save(update_fields=["preview"])
    repository.refresh_from_db(fields=["preview", "previewed_at"])


def is_checked(repository: GitRepository, rules: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a worker has looked into a tag of each of these rules, with the settings of now."""
    preview = repository.preview
    found = preview.get("rules"), preview.get("submodules")
    return bool(found == ([dict(rule) for rule in rules], repository.submodules))


def planned(repository: GitRepository, rules: Iterable[Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
    """Return what the rules (its own by default) make of the tags of the last preview, the newest version first.

    Each: {"tag", "commit", "module", "version", "folder", "verdict": "publish" | "held" | "published" | "ignored" |
    "refused", "code", "reason", "is_checked": whether a worker looked into it}. Raises TooManyVersions.
    """
    wanted = rulebook.of(repository) if rules is None else [_rule(rule) for rule in rules]
    refs = {ref["tag"]: ref for ref in (repository.preview or {}).get("refs", [])}
    tags = (Ref(ref["tag"], ref["commit"]) for ref in refs.values())
    matched = tag_matching.match_all(tags, partial(tag_matching.match_rules, rules=wanted))
    plan = _Plan(repository, refs, {one.module for _, one in matched if one.module})
    found = [(one.sort_key, plan.row(ref.name, one)) for ref, one in matched]
    found.sort(key=lambda pair: (pair[1]["tag"], pair[1]["module"]))
    found.sort(key=lambda pair: pair[0], reverse=True)
    return [row for _, row in found]


def work(claim: Claim, is_ending: Callable[[], bool]) -> None:
    for left in reversed(range(MAX_ROUNDS)):
        if _look(claim, may_repeat=left > 0):
            return
        if is_ending():
            raise Outage("This worker is stopping; another one continues.")


def _look(claim: Claim, *, may_repeat: bool) -> bool:
    """Look once; False if other rules were asked about meanwhile."""
    repository = (
        GitRepository.objects.select_related("namespace", "user").filter(pk=claim.target, ended_at=None).first()
    )
    if repository is None:
        return True
    asked = (repository.preview or {}).get("asked")
    found: dict[str, Any] = {"state": "failed", "failure": _INTERRUPTED}
    if not claim.exhausted and repository.suspended_at is None:
        try:
            found = {**_empty(), **_seen(repository, asked), "state": "done"}
        except GitFailed as error:
            log.warning("git_preview_failed", repository=repository.pk, code=error.code)
            found = {"state": "failed", "failure": {"code": error.code, "text": str(error), "hint": error.hint}}
    with transaction.atomic():
        claim.guard()
        row = row_locks.connected(repository.pk)
        if row is None:
            return True
        if row.suspended_at is not None:
            found = {"state": "failed", "failure": host_scanning.SUSPENDED}
        is_last = not may_repeat or found["state"] == "failed" or row.preview.get("asked") == asked
        repository.preview = {**_empty(), **(row.preview or {}), **found}
        if not is_last:
            repository.preview |= {"state": "waiting", "asked": row.preview["asked"]}
        repository.previewed_at = timezone.now()
        repository.save(update_fields=["preview", "previewed_at"])
    return is_last


def _empty() -> dict[str, Any]:
    lists: dict[str, Any] = {name: [] for name in ("folders", "suggested", "refs", "looks")}
    return {**lists, "more_folders": 0, "left_off": 0, "unreadable": 0, "unchecked": 0, "failure": None, "asked": None}


def _seen(repository: GitRepository, asked: list[dict[str, str]] | None) -> dict[str, Any]:
    """Raises GitFailed."""
    found = places.of(repository).scanned()
    own = [rule.as_json() for rule in rulebook.of(repository)]
    rules = asked if asked is not None else own or found["suggested"]
    repository.preview = {**_empty(), **found}
    try:
        rows = looking.newest([_rule(rule) for rule in rules], planned(repository, rules))
        looks = looking.into(repository, rows, git_calls.Budget())
    except tag_matching.TooManyVersions:  # as everyone who reads the preview is told
        rows, looks = [], []
    checked = {"rules": rules, "looks": looks, "unchecked": len(rows) - len(looks)}
    return {**found, **checked, "asked": asked, "submodules": repository.submodules}


def _rule(given: Mapping[str, Any]) -> CheckedRule:
    """One that was suggested, or that the caller has checked."""
    return CheckedRule(str(given["tag"]), str(given.get("folder") or ""), str(given["module"]))


class _Plan:
    """Says what would become of each tag, from what is known without fetching it: releases, and earlier looks."""

    def __init__(self, repository: GitRepository, refs: Mapping[str, Mapping[str, Any]], modules: set[str]) -> None:
        self._repository, self._place, self._refs = repository, places.of(repository), refs
        preview = repository.preview or {}
        are_current = preview.get("submodules") == repository.submodules
        self._looks = {looking.key_of(look): look for look in preview.get("looks", []) if are_current}
        made = repository.tags.exclude(release=None).values_list("name", "module")
        self._made = set(made)
        self._taken: dict[tuple[str, bytes], Release] = {}
        self._first: dict[tuple[str, bytes], str] = {}  # the tag that is each version in this plan
        if modules:
            rows = Release.objects.live().filter(kind=Kind.MODULE, namespace=repository.namespace_id)
            rows = rows.filter(name__in=modules) if len(modules) <= _MAX_NAMES else rows
            for release in rows.select_related("origin", "namespace").defer("notes", "reasons", "questions"):
                self._taken[release.name, bytes(release.sort_key)] = release

    def row(self, tag: str, one: TagMatch) -> dict[str, Any]:
        ref = self._refs[tag]
        row = {
            "tag": tag,
            "commit": ref["commit"],
            "module": one.module,
            "version": one.version,
            "folder": one.folder,
            "verdict": _PLANNED[one.verdict],
            "code": one.code,
            "reason": one.reason,
            "is_checked": False,
        }
        if row["verdict"] == "publish":
            row |= self._of_version(ref, one)
        return row

    def _of_version(self, ref: Mapping[str, Any], one: TagMatch) -> dict[str, Any]:
        """Of a tag that the rules make a version of: what differs from its being published."""
        columns = {"module": one.module, "folder": one.folder, "commit": ref["commit"]}
        tag = Tag(repository=self._repository, name=ref["tag"], **columns)
        other = self._taken.get((one.module, one.sort_key))
        is_own = (tag.name, tag.module) in self._made
        if is_own or (other is not None and self._is_made(tag, other)):
            self._first.setdefault((one.module, one.sort_key), tag.name)
            return {"verdict": "published", "reason": _MADE}
        if ref.get("held"):  # by the policy of another registry
            return {"verdict": "ignored", "code": POLICY, "reason": ref["held"]}
        if other is not None and other.state != State.RECEIVING:  # one that arrives may still fail
            problem = reserving.refusal_of(other)
            return {"verdict": "refused", "code": problem.code, "reason": f"{problem} {problem.hint}".strip()}
        first = self._first.setdefault((one.module, one.sort_key), tag.name)
        if first != tag.name:
            reason = f"The tag {first} is this version of {one.module} as well. Keep one of the two rules."
            return {"verdict": "refused", "code": "conflict", "reason": reason}
        look = self._looks.get((tag.name, one.module, one.folder))
        if look is None or look["commit"] != tag.commit:
            return {}
        return {name: look[name] for name in ("verdict", "code", "reason")} | {"is_checked": True}

    def _is_made(self, tag: Tag, release: Release) -> bool:
        origin = getattr(release, "origin", None)
        return origin is not None and origin.way == Way.GIT and self._place.is_made(tag, release)
