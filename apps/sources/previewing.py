"""What rules would publish, before anything is: folders with modules, suggested rules, and each tag's version."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.access import connections, machines
from apps.accounts.access.gate import Viewer
from apps.accounts.rows import Act
from apps.jobs import queue
from apps.jobs.claims import Claim
from apps.lib.errors import RegistryError
from apps.lib.git import checkouts, refs, remotes, tar_files
from apps.lib.git.access import Access, GitFailed
from apps.lib.git.refs import Ref
from apps.lib.versions import sort_key
from apps.sources import (
    credentials,
    exchanges,
    host_scanning,
    judging,
    locking,
    module_folders,
    registry_modules,
    rulebook,
    suggesting,
)
from apps.sources.judging import Judged
from apps.sources.models import Forge, GitRepository, Verdict
from apps.sources.rulebook import CheckedRule

JOB = "preview-git"
MAX_SUGGESTED = 100
FEW_FILES = 8
# What listings say of a tag, before anything was listed.
_PLANNED: dict[str, str] = {Verdict.WAITING: "publish", Verdict.IGNORED: "ignored", Verdict.REFUSED: "refused"}
# One that fails at once says so at once; what may pass is tried again by whoever asks again.
_INTERRUPTED = {
    "code": "interrupted",
    "text": "Larder was stopped while it looked at the repository.",
    "hint": "Look again.",
}

log = structlog.get_logger("larder.sources")


def ask(*, repository: GitRepository, actor: Viewer) -> None:
    """Have a worker look at the repository: its tags and the folders of HEAD, or of its newest tag if it has no HEAD.

    `repository.preview` has the result: {"state": "waiting" | "done" | "failed", "folders": [{"folder", "files",
    "module", "is_submodule"}], "suggested": [{"tag", "folder", "module"}], "left_off": how many more rules than
    MAX_SUGGESTED, "refs": [{"tag", "commit"}], "unreadable": how many tags are not UTF-8, "failure": {"code", "text",
    "hint"}}. While it waits, the rest is that of the look before.
    """
    connections.refuse_suspended(repository, "This repository")
    with transaction.atomic():
        machines.acted(repository.user_id, actor, Act.SCANNED)
        try:
            with transaction.atomic():
                queue.enqueue(JOB, target=repository.pk, created_by_id=actor.user_id)
        except IntegrityError:  # a worker looks already
            repository.refresh_from_db(fields=["preview", "previewed_at"])
            return
        repository.preview = {**_empty(), **(repository.preview or {}), "state": "waiting", "failure": None}
        repository.save(update_fields=["preview"])


def planned(repository: GitRepository, rules: Iterable[Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
    """Return what the rules (its own by default) make of the tags of the last preview, the newest version first.

    Each: {"tag", "commit", "module", "version", "folder", "verdict": "publish" | "published" | "ignored" | "refused",
    "reason"}. Raises TooManyVersions.
    """
    wanted = rulebook.of(repository) if rules is None else [_rule(rule) for rule in rules]
    made = repository.tags.exclude(release=None).values_list("name", "module", "version")
    published = {(name, module): version for name, module, version in made}
    taken = {(module, _number(version)): name for (name, module), version in published.items()}
    seen = {ref["tag"]: ref for ref in (repository.preview or {}).get("refs", [])}
    tags = (Ref(ref["tag"], ref["commit"]) for ref in seen.values())
    judged = judging.judge_all(tags, partial(judging.judge, rules=wanted))
    found = [(one.sort_key, _row(seen[ref.name], one, published, taken)) for ref, one in judged]
    found.sort(key=lambda pair: (pair[1]["tag"], pair[1]["module"]))
    found.sort(key=lambda pair: pair[0], reverse=True)
    return [row for _, row in found]


def work(claim: Claim, is_ending: Callable[[], bool]) -> None:  # noqa: ARG001  # it has its own limit of time
    repository = GitRepository.objects.filter(pk=claim.target, ended_at=None).first()
    if repository is None:
        return
    found: dict[str, Any] = {"state": "failed", "failure": _INTERRUPTED}
    if not claim.exhausted and repository.suspended_at is None:
        try:
            found = _seen(repository) | {"state": "done", "failure": None}
        except GitFailed as error:
            log.warning("git_preview_failed", repository=repository.pk, code=error.code)
            found = {"state": "failed", "failure": {"code": error.code, "text": str(error), "hint": error.hint}}
    with transaction.atomic():
        claim.guard()
        row = locking.connected(repository.pk)
        if row is None:
            return
        if row.suspended_at is not None:
            found = {"state": "failed", "failure": host_scanning.SUSPENDED}
        repository.preview = {**_empty(), **(repository.preview or {}), **found}
        repository.previewed_at = timezone.now()
        repository.save(update_fields=["preview", "previewed_at"])


def _empty() -> dict[str, Any]:
    lists: dict[str, Any] = {name: [] for name in ("folders", "suggested", "refs")}
    return {**lists, "left_off": 0, "unreadable": 0, "failure": None}


def _seen(repository: GitRepository) -> dict[str, Any]:
    """Raises GitFailed."""
    if repository.forge == Forge.REGISTRY:
        return registry_modules.preview(repository)
    host_scanning.pin_first(repository)
    remote, access = remotes.parse(repository.url), credentials.access_of(repository)
    listing = exchanges.listed(repository.pk, remote, access)
    tags = [ref for ref in listing.tags if ref.is_text and "\0" not in ref.name]
    name = remote.name.rpartition("/")[2]
    newest = _newest(tags)
    folders: list[module_folders.Folder] = []
    if listing.head or newest is not None:
        ref = "HEAD" if listing.head or newest is None else f"refs/tags/{newest.name}"
        folders = _folders(repository.pk, remote, access, ref, name)
    rules = suggesting.suggested(folders, [ref.name for ref in tags], name)
    return {
        "folders": [
            {"folder": one.path, "files": one.files, "module": one.module, "is_submodule": one.is_submodule}
            for one in folders
        ],
        "suggested": [rule.as_dict() for rule in rules[:MAX_SUGGESTED]],
        "left_off": max(0, len(rules) - MAX_SUGGESTED),
        "refs": [{"tag": ref.name, "commit": ref.commit} for ref in tags],
        "unreadable": len(listing.tags) - len(tags),
    }


def _folders(number: int, remote: remotes.Remote, access: Access, ref: str, name: str) -> list[module_folders.Folder]:
    with exchanges.fetched(number, remote, access, ref=ref) as commit:
        # Links and submodules are no configurations.
        paths = [entry.path for entry in commit.entries if entry.mode in (0o100644, 0o100755)]
        texts = _texts(commit, module_folders.worth_reading(paths))
        return module_folders.found(paths, name, lambda path: texts.get(path, b""))


def _texts(commit: checkouts.Commit, wanted: Collection[str]) -> dict[str, bytes]:
    """Read the beginnings of files. Each one by itself costs a child process (0.1 s), all of them together one.

    What is left out of the archive (export-ignore) stays unread, and is never published.
    """
    most = module_folders.MAX_FILE_BYTES
    if len(wanted) <= FEW_FILES:
        return {path: commit.read(path, most) for path in wanted}
    return {file.name: data.read(most) for file, data in tar_files.files_in(commit.archive()) if file.name in wanted}


def _newest(tags: Iterable[refs.Ref]) -> refs.Ref | None:
    """The tag with the highest version; the last one if none has one."""
    newest, highest = None, b""
    for ref in tags:
        key = b""
        with suppress(RegistryError):
            key = sort_key(suggesting.version_of(ref.name))
        if key >= highest:
            newest, highest = ref, key
    return newest


def _rule(given: Mapping[str, Any]) -> CheckedRule:
    """One that was suggested, or that the caller has checked."""
    return CheckedRule(str(given["tag"]), str(given.get("folder") or ""), str(given["module"]))


def _number(version: str) -> str:
    """Build metadata makes no other version."""
    return version.partition("+")[0]


def _row(
    ref: Mapping[str, Any], one: Judged, published: Collection[tuple[str, str]], taken: dict[tuple[str, str], str]
) -> dict[str, Any]:
    """`taken`: the tag of each module's version so far."""
    verdict, reason = _PLANNED[one.verdict], one.reason
    if (ref["tag"], one.module) in published:
        verdict, reason = "published", "A release was made of this tag."
    elif verdict == "publish" and ref.get("held"):  # by the policy of another registry
        verdict, reason = "ignored", ref["held"]
    elif verdict == "publish":
        first = taken.setdefault((one.module, _number(one.version)), ref["tag"])
        if first != ref["tag"]:
            verdict = "refused"
            reason = f"The tag {first} is this version of {one.module} as well. Keep one of the two rules."
    return {
        "tag": ref["tag"],
        "commit": ref["commit"],
        "module": one.module,
        "version": one.version,
        "folder": one.folder,
        "verdict": verdict,
        "reason": reason,
    }
