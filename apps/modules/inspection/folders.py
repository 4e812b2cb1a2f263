"""The files of each unit of an archive, in the order in which OpenTofu reads them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from apps.lib.archives.layouts import MODULE_SUFFIXES, is_beside_module, is_module_file

KINDS = ("root", "submodule", "example", "other")


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
    """Root first, then submodules, examples, and all others that hold module files: clients can address each. Those
    directly in `modules/` and `examples/` come before the deeper ones, and are read first. Without submodules, the
    root in any case: clients load it then, whatever is in it.
    """
    files: dict[str, list[str]] = {}
    for path in sorted(paths):
        folder, _, name = path.rpartition("/")
        if is_module_file(name):
            files.setdefault(folder, []).append(path)
    if not any(kind_of(path) == "submodule" for path in files):
        files.setdefault("", [])
    folders = [Folder(path, kind_of(path), tuple(_seen(found))) for path, found in files.items()]
    return sorted(folders, key=lambda folder: (not is_prominent(folder.path), KINDS.index(folder.kind), folder.path))


def kind_of(folder: str) -> str:
    """`modules/a` and `modules/a/b` are submodules; `modules/a/examples/b` is none: it lies beside what is loaded."""
    top, slash, _ = folder.partition("/")
    if not folder:
        return "root"
    if top == "modules" and slash and not is_beside_module(f"{folder}/main.tf"):
        return "submodule"
    return "example" if top == "examples" and slash else "other"


def is_prominent(folder: str) -> bool:
    """Whether it is the root, or lies directly in `modules/` or `examples/`."""
    return kind_of(folder) != "other" and folder.count("/") <= 1


def is_override(path: str) -> bool:
    stem, _ = _split(path)
    return stem == "override" or stem.endswith("_override")


def is_tofu(path: str) -> bool:
    """Whether only OpenTofu reads it."""
    return path.endswith((".tofu", ".tofu.json"))


def is_json(path: str) -> bool:
    return path.endswith(".json")


def _seen(paths: Collection[str]) -> list[str]:
    """Without those that OpenTofu ignores: `main.tofu` hides `main.tf`."""
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
