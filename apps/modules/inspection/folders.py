"""Which files of an archive make up which unit, and in which order OpenTofu reads them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from apps.lib.layouts import MODULE_SUFFIXES, is_module_file

KINDS = {"modules": "submodule", "examples": "example"}


@dataclass(frozen=True, slots=True)
class Folder:
    """`path` is empty for the root."""

    path: str
    kind: str
    files: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def folders_of(paths: Iterable[str]) -> list[Folder]:
    """Root first, then submodules, then examples; only folders that hold module files. Without submodules, the root
    in any case: clients load it then, whatever is in it.
    """
    files: dict[str, list[str]] = {}
    for path in sorted(paths):
        folder, _, name = path.rpartition("/")
        if is_module_file(name) and is_unit(folder):
            files.setdefault(folder, []).append(path)
    if not any(_kind(path) == "submodule" for path in files):
        files.setdefault("", [])
    order = ["root", *KINDS.values()]
    folders = [Folder(path, _kind(path), tuple(_seen(found))) for path, found in files.items()]
    return sorted(folders, key=lambda folder: (order.index(folder.kind), folder.path))


def is_override(path: str) -> bool:
    stem, _ = _split(path)
    return stem == "override" or stem.endswith("_override")


def is_json(path: str) -> bool:
    return path.endswith(".json")


def is_unit(folder: str) -> bool:
    """Whether the folder is the root, a submodule or an example."""
    above, slash, name = folder.partition("/")
    return not folder or (above in KINDS and bool(slash) and bool(name) and "/" not in name)


def _kind(path: str) -> str:
    return KINDS[path.partition("/")[0]] if path else "root"


def _seen(paths: Collection[str]) -> list[str]:
    """Without those that OpenTofu passes over for a file of its own: `main.tofu` hides `main.tf`."""
    there = set(paths)
    return [path for path in paths if not _is_hidden(path, there)]


def _is_hidden(path: str, there: Collection[str]) -> bool:
    stem, suffix = _split(path, whole=True)
    return suffix.startswith(".tf") and f"{stem}.tofu{suffix.removeprefix('.tf')}" in there


def _split(path: str, *, whole: bool = False) -> tuple[str, str]:
    """Name (with its folder where `whole`) and suffix; `.tf.json` is one suffix."""
    suffix = max((suffix for suffix in MODULE_SUFFIXES if path.endswith(suffix)), key=len, default="")
    stem = path.removesuffix(suffix)
    return (stem if whole else stem.rpartition("/")[2]), suffix
