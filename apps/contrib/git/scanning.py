"""Read the tags of a Git repository and the folders with modules, and suggest rules, before anything is published."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from apps.contrib.git import git_calls, module_folders, refusals, suggesting
from apps.contrib.git.git_calls import Budget, Source
from apps.contrib.git.models import GitRepository
from apps.contrib.git.module_folders import Folder
from apps.contrib.git.remote import checkouts, tar_files
from apps.contrib.git.remote.access import Access, GitFailed
from apps.contrib.git.remote.refs import Ref
from apps.contrib.git.remote.remotes import Remote
from apps.lib.archives.layouts import MODULE_SUFFIXES
from apps.lib.versions import sort_key

MAX_SUGGESTED = 100
# Commits whose folders are read for suggestions: the newest tag's, and some that others name folders of.
MAX_READ = 4
FEW_FILES = 8


def scanned(repository: GitRepository, remote: Remote, access: Access) -> dict[str, Any]:
    """Return what `places.Place.scanned` says. Raises GitFailed."""
    listing = git_calls.listed(repository.pk, remote, access)
    tags = [ref for ref in listing.tags if ref.is_text and "\0" not in ref.name]
    name = remote.name.rpartition("/")[2]
    folders, count = _Folders(repository, remote, access, name).of(tags, has_head=bool(listing.head))
    rules = suggesting.suggested(folders, [ref.name for ref in tags], name)
    return {
        "folders": [
            {"folder": one.path, "files": one.files, "module": one.module, "is_submodule": one.is_submodule}
            for one in folders
        ],
        "more_folders": max(0, count - len(folders)),
        "suggested": [rule.as_dict() for rule in rules[:MAX_SUGGESTED]],
        "left_off": max(0, len(rules) - MAX_SUGGESTED),
        "refs": [{"tag": ref.name, "commit": ref.commit} for ref in tags],
        "unreadable": len(listing.tags) - len(tags),
    }


@dataclass(slots=True)
class _Folders:
    """Finds the folders with modules. `name`: the last part of the repository's."""

    repository: GitRepository
    remote: Remote
    access: Access
    name: str
    texts: dict[str, bytes] = field(default_factory=dict)  # beginnings of configurations
    paths: dict[str, None] = field(default_factory=dict)

    def of(self, tags: Sequence[Ref], *, has_head: bool) -> tuple[list[Folder], int]:
        """Return them, and how many there are in all: those of tags, since HEAD is never published. Raises GitFailed.

        First of the newest tag; then of a few that name folders which it has not, as where each module has its own
        tags. Of HEAD where no tag is a version.
        """
        if not tags and not has_head:
            return [], 0
        by_name = {ref.name: ref for ref in tags}
        newest = _newest(tags)
        try:
            self._read(newest or (None if has_head else tags[-1]))
        except GitFailed as failed:
            if newest is None or not has_head or failed.code not in refusals.OF_COMMIT:
                raise
            newest = None
            self._read(None)
        read, budget = {newest.commit} if newest else set(), Budget()
        for tag in suggesting.unexplained(self._found(), by_name, self.name) if newest else ():
            ref = by_name[tag]
            if len(read) >= MAX_READ or budget.is_over:
                break
            if ref.commit not in read and tag in suggesting.unexplained(self._found(), by_name, self.name):
                read.add(ref.commit)
                with suppress(GitFailed):
                    self._read(ref, budget)
        return self._found(), module_folders.count(self.paths)

    def _found(self) -> list[Folder]:
        return module_folders.found(self.paths, self.name, lambda path: self.texts.get(path, b""))

    def _read(self, ref: Ref | None, budget: Budget | None = None) -> None:
        """Add the folders that no commit before had. Of HEAD without a ref."""
        where, commit_id = (f"refs/tags/{ref.name}", ref.commit) if ref else ("HEAD", "")
        source = Source(self.remote, self.access, where, commit_id, self.repository.forge)
        known = {path.rpartition("/")[0] for path in self.paths}
        with git_calls.fetched(self.repository, source, budget) as commit:
            # Links and submodules are no configurations.
            files = (entry.path for entry in commit.entries if entry.mode in (0o100644, 0o100755))
            paths = [path for path in files if path.rpartition("/")[0] not in known]
            self.texts |= _texts(commit, module_folders.worth_reading(paths))
        self.paths |= dict.fromkeys(path for path in paths if path.endswith(MODULE_SUFFIXES))


def _texts(commit: checkouts.Commit, wanted: Collection[str]) -> dict[str, bytes]:
    """Read the beginnings of files. Each one by itself costs a child process (0.1 s), all of them together one.

    What is left out of the archive (export-ignore) stays unread, and is never published.
    """
    most = module_folders.MAX_FILE_BYTES
    if len(wanted) <= FEW_FILES:
        return {path: commit.read(path, most) for path in wanted}
    return {file.name: data.read(most) for file, data in tar_files.files_in(commit.archive()) if file.name in wanted}


def _newest(tags: Iterable[Ref]) -> Ref | None:
    """The tag with the highest version; None if none has one."""
    newest, highest = None, b""
    for ref in tags:
        if (version := suggesting.version_of(ref.name)) and (key := sort_key(version)) >= highest:
            newest, highest = ref, key
    return newest
