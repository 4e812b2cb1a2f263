"""The layout of a module in an archive: its folder, files to leave out, folders that are modules.

People zip a folder from their disk, with a top folder, a state file, and the leftovers of Finder and `init`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

MODULE_SUFFIXES = (".tf", ".tofu", ".tf.json", ".tofu.json")
# `terraform query` and a migration of state read these beside a root module. No client that loads a module does.
QUERY_SUFFIXES = (".tfquery.hcl", ".tfquery.json")
MIGRATION_SUFFIX = ".tfmigrate.hcl"
COMMAND_SUFFIXES = (*QUERY_SUFFIXES, MIGRATION_SUFFIX)
MAX_FOLDERS = 200
SUBMODULES = "modules"

_FOLDERS_LEFT_OUT = frozenset({".git", ".terraform", "terraform.tfstate.d", "__macosx"})
_FILES_LEFT_OUT = frozenset({".ds_store", "thumbs.db"})
_STATE_FOLDER = "terraform.tfstate.d"
# Around a module: no client reads it when it installs one.
_FOLDERS_BESIDE = frozenset({"doc", "docs", "example", "examples", "fixtures", "test", "testdata", "tests"})
_FILES_BESIDE = frozenset({"codeowners", "dockerfile", "gnumakefile", "jenkinsfile", "license", "makefile", "notice"})
_GIT_HEADER = "pax_global_header"  # the commit of git archive, unpacked as a file by an old tool


@dataclass(frozen=True, slots=True)
class Layout:
    """Read from the names of an archive's members.

    `top_folder`: the one folder that contains everything, without `/`; empty if there is none. `left_out`: files
    that do not belong to a module, by their full names; `state_files`: those of them with state, and so secrets.
    `folders`: where module files lie directly, relative to the top folder (empty: itself), sorted, at most 200.
    """

    top_folder: str
    left_out: tuple[str, ...]
    state_files: tuple[str, ...]
    folders: tuple[str, ...]


def layout_of(names: Iterable[str]) -> Layout:
    """Reads the names of all members; a folder's own name ends in `/`."""
    members: list[str] = []
    left_out: list[str] = []
    for name in names:
        (left_out if is_left_out(name) else members).append(name)
    tops = {name.partition("/")[0] if "/" in name else "" for name in members}
    top = tops.pop() if len(tops) == 1 else ""
    if top == SUBMODULES and not any(_is_submodule_file(name) and name.count("/") == 1 for name in members):
        top = ""  # submodules were packed without their root
    return Layout(
        top_folder=top,
        left_out=tuple(name for name in left_out if not name.endswith("/")),
        state_files=tuple(name for name in left_out if is_state(name)),
        folders=_folders(members, f"{top}/" if top else ""),
    )


def is_left_out(name: str) -> bool:
    """Return whether a member does not belong to a module: files of a working copy or an operating system, or state."""
    *folders, file = _parts(name)
    return (
        not _FOLDERS_LEFT_OUT.isdisjoint((*folders, file))
        or file in _FILES_LEFT_OUT
        or file.startswith("._")  # what macOS packs beside each file
        or (file.startswith(".") and file.endswith(".tfstate.lock.info"))
        or name == _GIT_HEADER
        or is_state(name)
    )


def is_state(name: str) -> bool:
    """Return whether a member is a state file or a backup of one."""
    *folders, file = _parts(name)
    if name.endswith("/"):
        return False
    backup = file.endswith(".backup") and ".tfstate." in file
    return backup or file.endswith(".tfstate") or _STATE_FOLDER in folders


def is_module_file(file: str) -> bool:
    """Return whether clients read a file of this name, given without its folder, as part of a module. They skip dot
    files.
    """
    return file.endswith(MODULE_SUFFIXES) and not file.startswith(".")


def is_command_file(file: str) -> bool:
    return file.endswith(COMMAND_SUFFIXES) and not file.startswith(".")


def is_beside_module(name: str) -> bool:
    """Return whether no client that installs the module needs the member: dot files, examples, tests, documentation."""
    *folders, file = _parts(name)
    beside = (part for above, part in zip(["", *folders], folders, strict=False) if above != "modules")
    return (
        any(part.startswith(".") for part in (*folders, file))
        or not _FOLDERS_BESIDE.isdisjoint((*beside, file))
        or file in _FILES_BESIDE
        or file.endswith(".md")
    )


def has_submodules(names: Iterable[str]) -> bool:
    """Return whether a folder below `modules/` has module files, which clients load by `//modules/<name>`."""
    return any(_is_submodule_file(name) and name.count("/") > 1 for name in names)


def _is_submodule_file(name: str) -> bool:
    return name.startswith(f"{SUBMODULES}/") and is_module_file(name.rpartition("/")[2])


def _parts(name: str) -> list[str]:
    return name.removesuffix("/").lower().split("/")


def _folders(names: list[str], prefix: str) -> tuple[str, ...]:
    folders = set()
    for name in names:
        folder, _, file = name.removeprefix(prefix).rpartition("/")
        if is_module_file(file):
            folders.add(folder)
    return tuple(sorted(folders)[:MAX_FOLDERS])
