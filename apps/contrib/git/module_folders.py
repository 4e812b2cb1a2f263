"""Find the folders of a commit that are modules, and suggest a name for each: a guess that people see before it
counts.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePosixPath

from apps.lib import addresses
from apps.lib.archives.layouts import MODULE_SUFFIXES
from apps.lib.errors import Invalid

# Names of folders whose modules nobody installs by themselves. Their contents belong to the module around them.
ASIDE = frozenset(
    ("example", "examples", "test", "tests", "testdata", "fixture", "fixtures", "wrapper", "wrappers", "vendor")
) | {"deprecated", "archived", "mixins"}
MAX_FOLDERS = 500
MAX_FILE_BYTES = 32 * 1024
MAX_READS = 1000
MAX_READS_OF_FOLDER = 4
UNKNOWN_SYSTEM = "generic"
# Providers that serve a module which is about another one.
_HELPERS = frozenset(
    ("random", "null", "local", "time", "tls", "template", "archive", "external", "http", "terraform", "cloudinit")
) | {"modtm", "assert", "utils", "validation"}
_ORDER = ("versions", "terraform", "providers", "provider", "main")
_REPOSITORY = re.compile(r"(?:terraform|tofu|opentofu|tf)-(?P<system>[a-z0-9]+)-(?P<name>.+)", re.IGNORECASE)
_PREFIX = re.compile(
    r"^(?:terraform|tofu|opentofu|tf)[-_](?:modules?[-_])?|[-_](?:terraform|tofu|tf)?[-_]?modules?$", re.IGNORECASE
)
_BLOCK = re.compile(r"\brequired_providers\s*\{")
_PROVIDER = re.compile(r"^\s*\"?([a-z0-9][a-z0-9-]*)\"?\s*=", re.MULTILINE)
_MAX_BLOCK_CHARACTERS = 8000
_RESOURCE = re.compile(r"^\s*(?:resource|data)\s+\"([a-z0-9]+)_", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Folder:
    """`path` is empty for the root. `files`: how many configurations are in it. `name` and `system`: its address.
    `providers`: which others it requires as well.
    """

    path: str
    files: int
    name: str
    system: str
    is_submodule: bool = False
    providers: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        return f"{self.name}/{self.system}"

    @property
    def last(self) -> str:
        return self.path.rpartition("/")[2]


def found(paths: Iterable[str], repository: str, read: Callable[[str], bytes]) -> list[Folder]:
    """Return the folders with modules, the root first. `repository`: its name, without what comes before the last
    slash. `read` returns the beginning of a file that is `worth_reading`.
    """
    files = _first(_by_folder(paths))
    top = _top(files)
    worth = _worth_reading(files)
    folders = []
    for path, its in files.items():
        providers = _providers(read(file).decode("utf-8", "replace") for file in its if file in worth)
        name, system = _called(path, repository, providers, is_alone=top == [path])
        folders.append(Folder(path, len(its), name, system, path not in top, tuple(providers)))
    return _distinct(folders)


def count(paths: Iterable[str]) -> int:
    """Return how many folders with modules there are, also beyond MAX_FOLDERS."""
    return len(_by_folder(paths))


def worth_reading(paths: Iterable[str]) -> frozenset[str]:
    """The files that tell which providers the modules are about; at most MAX_READS."""
    return _worth_reading(_first(_by_folder(paths)))


def _top(paths: Collection[str]) -> list[str]:
    return [path for path in paths if not any(_is_below(path, other) for other in paths)]


def _first(files: dict[str, list[str]]) -> dict[str, list[str]]:
    return dict(islice(files.items(), MAX_FOLDERS))


def _worth_reading(files: dict[str, list[str]]) -> frozenset[str]:
    some = [file for its in files.values() for file in its[:MAX_READS_OF_FOLDER]]
    return frozenset(some[:MAX_READS])


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    """The configurations of each folder: the folders from the root on, in each the files that say most first."""
    files: dict[str, list[str]] = {}
    for path in paths:
        folder, _, last = path.rpartition("/")
        if last.endswith(MODULE_SUFFIXES) and not last.startswith(".") and not _is_aside(folder):
            files.setdefault(folder, []).append(path)
    ordered = sorted(files, key=lambda path: (path.count("/") + bool(path), path))
    return {folder: sorted(files[folder], key=_importance) for folder in ordered}


def _is_aside(folder: str) -> bool:
    return any(part.lower() in ASIDE or part.startswith((".", "_")) for part in folder.split("/") if part)


def _is_below(path: str, other: str) -> bool:
    return path != other and (not other or path.startswith(f"{other}/"))


def _importance(path: str) -> tuple[int, str]:
    stem = PurePosixPath(path).name.partition(".")[0]
    return (_ORDER.index(stem) if stem in _ORDER else len(_ORDER)), path


def _providers(texts: Iterable[str]) -> list[str]:
    """The local names that the files require, without helpers; those of their resources where they require none."""
    required: list[str] = []
    used: Counter[str] = Counter()
    for text in texts:
        required += _required(text)
        used.update(_RESOURCE.findall(text))
        # Of several providers the resources tell which one it is about.
        if len(set(required) - _HELPERS) == 1 or (set(required) - _HELPERS and used):
            break
    own = [name.partition("-")[0] for name in required if name not in _HELPERS]
    busiest = [name for name, _ in used.most_common() if name not in _HELPERS]
    # The one that most resources are of comes first: modules often require two clouds' providers.
    own.sort(key=lambda name: busiest.index(name) if name in busiest else len(busiest))
    return own or busiest


def _required(text: str) -> list[str]:
    """The attributes at the first level of the blocks. A block in a block is read with it: a hostile file has thousands
    in one another.
    """
    names: list[str] = []
    end = 0
    for block in _BLOCK.finditer(text):
        if block.start() < end:
            continue
        depth, shallow, end = 1, [], block.end()
        for character in text[end : end + _MAX_BLOCK_CHARACTERS]:
            end += 1
            depth += {"{": 1, "}": -1}.get(character, 0)
            if depth == 0:
                break
            if depth == 1:
                shallow.append(character)
        names += _PROVIDER.findall("".join(shallow))
    return names


def _called(path: str, repository: str, providers: list[str], *, is_alone: bool) -> tuple[str, str]:
    of_repository = _REPOSITORY.fullmatch(repository)
    if not path or is_alone:  # the repository is the module
        text, parent = repository, ""
    else:
        text, parent = path.rpartition("/")[2], path.rpartition("/")[0].rpartition("/")[2]
    split = _REPOSITORY.fullmatch(text)
    first, _, rest = text.partition("-")
    if split and split["system"].lower() not in ("module", "modules"):
        name, system = split["name"], split["system"].lower()
    elif rest and not parent and first.lower() in providers and text == repository:  # aws-vpc
        name, system = rest, first.lower()
    else:
        name = _PREFIX.sub("", text) or text
        known = of_repository["system"].lower() if of_repository else ""
        near = [system for system in (parent.lower(), known) if system in providers]
        system = next(iter([*near, *providers, known]), "")
    return _valid_name(name), _valid_system(system)


def _valid_name(text: str) -> str:
    name = re.sub(r"[-_]*-[-_]*", "-", re.sub(r"[^0-9A-Za-z_-]+", "-", text)).strip("-_")
    name = re.sub(r"_{2,}", "_", name)[: addresses.LONGEST_NAME].strip("-_") or "module"
    try:
        addresses.check_module_name(name)
    except Invalid:  # a reserved word
        name = f"{name}-module"
    return name


def _valid_system(text: str) -> str:
    try:
        addresses.check_system(text)
    except Invalid:
        return UNKNOWN_SYSTEM
    return text


def _distinct(folders: list[Folder]) -> list[Folder]:
    """Folders of one address get the name of the folder around them before theirs, or else a number."""
    seen: Counter[str] = Counter(folder.module.lower() for folder in folders)
    taken: set[str] = set()
    answer: list[Folder] = []
    for folder in folders:
        name, number = folder.name, 1
        if seen[folder.module.lower()] > 1 and "/" in folder.path:
            name = _valid_name(f"{folder.path.split('/')[-2]}-{name}")
        while f"{name}/{folder.system}".lower() in taken:
            number += 1
            name = f"{folder.name}-{number}"
        taken.add(f"{name}/{folder.system}".lower())
        answer.append(replace(folder, name=name))
    return answer
