"""Why the files of a commit are no module, before the pipeline looks into them. Each reason says how to fix it."""

from collections.abc import Iterable, Iterator

from apps.contrib.git.models import Submodules
from apps.contrib.git.remote import tar_files
from apps.contrib.git.remote.checkouts import Commit
from apps.lib.archives.layouts import MODULE_SUFFIXES
from apps.lib.errors import Reason

# Final failures of a fetch that are the tagged commit's own. With others, such as an expired token, it waits until the
# repository can be read again.
OF_COMMIT = frozenset({"bad_ref", "bad_object", "too_large", "not_a_commit"})
MAX_NAMED = 5
LFS_HEAD = b"version https://git-lfs.github.com/spec/v1\n"
# Pointers are smaller by their specification.
MAX_POINTER_BYTES = 1024
MAX_ATTRIBUTES = 200
MAX_ATTRIBUTES_BYTES = 64 * 1024


def reasons_of(commit: Commit, folder: str, submodules: Submodules) -> list[Reason]:
    """Empty if the folder may be handed to the pipeline. Raises GitFailed."""
    inside = [entry for entry in commit.entries if _is_within(entry.path, folder)]
    named = commit.submodules(folder)
    if folder and not inside and not named:
        return [
            Reason(
                "folder_missing",
                f"no folder {folder} in commit {commit.id[:12]}",
                "the folder that the rule names",
                "Correct the folder of the rule, or tag a commit that has it.",
            )
        ]
    # What is fetched may have them.
    may_follow = bool(named) and submodules != Submodules.LEAVE_OUT
    if not may_follow and not any(entry.path.endswith(MODULE_SUFFIXES) for entry in inside):
        where = folder or "the repository"
        return [
            Reason(
                "no_module",
                f"no .tf or .tofu file in {where} at commit {commit.id[:12]}",
                "a module",
                "Name the folder that has the module in the rule.",
            )
        ]
    found = []
    if named and submodules == Submodules.REFUSE:
        found.append(
            Reason(
                "submodules",
                f"{_named(named, 'submodule')}, whose files are in other repositories",
                "all files in this repository",
                "Choose in the settings of the repository to fetch submodules or to leave them out, or mark them "
                "export-ignore in .gitattributes.",
            )
        )
    if pointers := _pointers(commit, folder):
        found.append(
            Reason(
                "lfs",
                f"{_named(pointers, 'Git LFS pointer')} in place of the file's content",
                "the files themselves",
                "Take the files out of Git LFS, or leave them out with export-ignore in .gitattributes.",
            )
        )
    return found


def _is_within(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _named(paths: list[str], what: str) -> str:
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return f"{len(paths)} {what}{'' if len(paths) == 1 else 's'} ({', '.join(paths[:MAX_NAMED])}{more})"


def _pointers(commit: Commit, folder: str) -> list[str]:
    """The archive is read for them only where some attribute asks for LFS: what is left out of it does not matter."""
    above = folder.split("/") if folder else []
    parents = {"/".join([*above[:depth], ".gitattributes"]) for depth in range(len(above) + 1)}
    attributes = [
        entry.path
        for entry in commit.entries
        if entry.path in parents or (entry.path.endswith("/.gitattributes") and _is_within(entry.path, folder))
    ]
    texts = (commit.read(path, MAX_ATTRIBUTES_BYTES) for path in attributes[:MAX_ATTRIBUTES])
    if not any(b"filter=lfs" in text for text in texts):
        return []
    return list(_pointers_in(commit.archive(folder)))


def _pointers_in(archive: Iterable[bytes]) -> Iterator[str]:
    for member, opened in tar_files.files_in(archive):
        if len(LFS_HEAD) <= member.size <= MAX_POINTER_BYTES and opened.read(len(LFS_HEAD)) == LFS_HEAD:
            yield member.name
