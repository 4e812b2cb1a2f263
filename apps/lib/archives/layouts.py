"""How the files of a module lie in an archive: below which folder, which are no part of it, where modules are.

People zip what lies on their disk, so an archive holds a top folder, a state file, what Finder and `init` left behind.
"""

from collections.abc import Iterable
from dataclasses import dataclass

MODULE_SUFFIXES = (".tf", ".tofu", ".tf.json", ".tofu.json")
MOST_FOLDERS = 200
SUBMODULES = "modules"

_FOLDERS_LEFT_OUT = frozenset({".git", ".terraform", "terraform.tfstate.d", "__macosx"})
_FILES_LEFT_OUT = frozenset({".ds_store", "thumbs.db"})
_STATE_FOLDER = "terraform.tfstate.d"
# What surrounds a module: no client reads it when it installs one.
_FOLDERS_BESIDE = frozenset({"doc", "docs", "example", "examples", "fixtures", "test", "testdata", "tests"})
_FILES_BESIDE = frozenset({"codeowners", "dockerfile", "gnumakefile", "jenkinsfile", "license", "makefile", "notice"})
_GIT_HEADER = "pax_global_header"  # git archive's commit, as a file where the tar was read by an old tool


@dataclass(frozen=True, slots=True)
class Layout:
    """What the names of an archive's members say.

    `top_folder`: the one folder that everything lies under, without `/`; empty where there is none. `left_out`: files
    that are no part of a module, by their full names; `state_files`: those among them that hold state, and so secrets.
    `folders`: where module files lie directly, relative to the top folder (empty: itself), sorted, at most 200.
    """

    top_folder: str
    left_out: tuple[str, ...]
    state_files: tuple[str, ...]
    folders: tuple[str, ...]


def layout_of(names: Iterable[str]) -> Layout:
    """Reads the names of all members; a folder's own name ends in `/`."""
    kept: list[str] = []
    left_out: list[str] = []
    for name in names:
        (left_out if is_left_out(name) else kept).append(name)
    top = _top_folder(kept)
    if top == SUBMODULES and not any(_is_submodule_file(name) and name.count("/") == 1 for name in kept):
        top = ""  # the submodules of a module without a root, and nothing else, were packed
    return Layout(
        top_folder=top,
        left_out=tuple(name for name in left_out if not name.endswith("/")),
        state_files=tuple(name for name in left_out if is_state(name)),
        folders=_folders(kept, f"{top}/" if top else ""),
    )


def is_left_out(name: str) -> bool:
    """Whether a member is no part of a module: a working copy's or an operating system's own files, or state."""
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
    """Whether a member is a state file or a backup of one."""
    *folders, file = _parts(name)
    if name.endswith("/"):
        return False
    backup = file.endswith(".backup") and ".tfstate." in file
    return backup or file.endswith(".tfstate") or _STATE_FOLDER in folders


def is_module_file(file: str) -> bool:
    """Whether clients read a file of this name, given without its folder, as part of a module. They skip dot files."""
    return file.endswith(MODULE_SUFFIXES) and not file.startswith(".")


def is_beside_module(name: str) -> bool:
    """Whether no client that installs the module needs the member: dot files, examples, tests, documentation."""
    *folders, file = _parts(name)
    beside = (part for above, part in zip(["", *folders], folders, strict=False) if above != "modules")
    return (
        any(part.startswith(".") for part in (*folders, file))
        or not _FOLDERS_BESIDE.isdisjoint((*beside, file))
        or file in _FILES_BESIDE
        or file.endswith(".md")
    )


def has_submodules(names: Iterable[str]) -> bool:
    """Whether a folder below `modules/` holds module files, which clients load by `//modules/<name>`."""
    return any(_is_submodule_file(name) and name.count("/") > 1 for name in names)


def _is_submodule_file(name: str) -> bool:
    return name.startswith(f"{SUBMODULES}/") and is_module_file(name.rpartition("/")[2])


def _parts(name: str) -> list[str]:
    return name.removesuffix("/").lower().split("/")


def _top_folder(names: list[str]) -> str:
    tops = {name.partition("/")[0] if "/" in name else "" for name in names}
    return tops.pop() if len(tops) == 1 else ""


def _folders(names: list[str], prefix: str) -> tuple[str, ...]:
    folders = set()
    for name in names:
        folder, _, file = name.removeprefix(prefix).rpartition("/")
        if is_module_file(file):
            folders.add(folder)
    return tuple(sorted(folders)[:MOST_FOLDERS])
