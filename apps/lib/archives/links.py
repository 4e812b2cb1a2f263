"""Links inside an archive: the names of its files once every link is followed.

    tree = links.Tree(listing.entries, limits)
    view = tree.below("modules/vpc/")       # "" for all
    view.names; view.copies; view.broken

Works on names alone. Files that links multiply count against the limits of an archive.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from posixpath import dirname

from apps.lib.archives.layouts import is_left_out
from apps.lib.archives.rules.limits import Limits, at_most
from apps.lib.archives.rules.outcome import Entry, refuse, shown

MAX_FOLLOWED = 40  # as many as Linux follows on one path
_WITH_LINKS = " with the targets of links"


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link that leads to no file of a module: `found` says where it leads, and why that is no file."""

    name: str
    found: str


@dataclass(slots=True)
class View:
    """The files below a folder, or several. All names are full names, the folder included.

    `starts`: the folders, with a slash; `names`: every file, under each of its names; `copies`: the names that links
    add, by the member they lead to; `followed` and `broken`: the links, without those that are left out by rule.
    """

    starts: tuple[str, ...] = ("",)
    names: list[str] = field(default_factory=list)
    copies: dict[str, list[str]] = field(default_factory=dict)
    followed: list[str] = field(default_factory=list)
    broken: list[BrokenLink] = field(default_factory=list)


class Tree:
    """The members of an archive as a tree of folders, files and links."""

    def __init__(self, entries: Sequence[Entry], limits: Limits) -> None:
        self._files: dict[str, Entry] = {}
        self._links: dict[str, Entry] = {}
        self._folders: dict[str, list[str]] = {"": []}  # path -> paths directly in it
        for entry in entries:
            path = entry.name.removesuffix("/")
            is_known = entry.is_dir and path in self._folders
            if entry.is_dir:
                self._folders.setdefault(path, [])
            else:
                (self._links if entry.link else self._files)[path] = entry
            # Archives need not list folders, so each path is added to those above it, up to the first known one.
            while path and not is_known:
                above = dirname(path)
                is_known = above in self._folders
                self._folders.setdefault(above, []).append(path)
                path = above
        self._costs = _Costs(limits, entries)

    def folder_at(self, path: str) -> str | None:
        """The folder that the path leads to, by its own name; None if there is none."""
        try:
            found = self._follow("", path)
        except _Broken:
            return None
        return found if found in self._folders else None

    def below(self, prefix: str, only: Sequence[str] = ()) -> View:
        """`prefix` is a folder's own name with a slash at its end, or empty; `only` are folders below it, if not all of
        it is meant. Raises Refusal over a limit.
        """
        view = View(tuple(f"{prefix}{folder}/" for folder in only) or (prefix,))
        folder = prefix.removesuffix("/")
        self._walk(view, folder, folder, (folder,))
        return view

    def _walk(self, view: View, alias: str, real: str, above: tuple[str, ...]) -> None:
        """Adds the contents of the folder `real` as if it were called `alias`. `above`: the real folders around it."""
        for path in self._folders[real]:
            name = f"{alias}/{path.rpartition('/')[2]}".removeprefix("/")
            own = f"{name}/"
            if not (own.startswith(view.starts) or any(start.startswith(own) for start in view.starts)):
                continue
            link = self._links.get(path)
            if link is None:
                self._take(view, name, path, above)
            elif not is_left_out(name):
                self._take_link(view, name, path, above)

    def _take_link(self, view: View, name: str, path: str, above: tuple[str, ...]) -> None:
        link = self._links[path]
        if name != path:  # it lies in a folder that was linked to
            self._costs.count(name)
        try:
            if link.link == "symbolic":
                found = self._follow(dirname(path), link.target)
            else:
                found = link.target.removeprefix("./")
                if found not in self._files:
                    raise _Broken("which is not a file of the archive")
            if is_left_out(found):
                raise _Broken("which does not belong to a module and is left out")
            # A link to a folder around itself, or around the link that led here, would never end.
            if found in above or not found or f"{path}/".startswith(f"{found}/"):
                raise _Broken("which is a folder around the link")
        except _Broken as broken:
            view.broken.append(BrokenLink(name, f"a {link.link} link to {shown(link.target) or 'nothing'}, {broken}"))
            return
        view.followed.append(name)
        self._take(view, name, found, above)

    def _take(self, view: View, name: str, path: str, above: tuple[str, ...]) -> None:
        """Adds the file or folder `path`, which is no link, under a name."""
        if path in self._folders:
            if name != path:
                self._costs.count(name)
            self._walk(view, name, path, (*above, path))
        elif name == path:
            view.names.append(name)
        elif not is_left_out(name):
            self._costs.count(name, self._files[path].size)
            view.names.append(name)
            view.copies.setdefault(self._files[path].name, []).append(name)

    def _follow(self, folder: str, target: str) -> str:
        """The path of the file or folder that a path leads to from a folder, through links. Raises _Broken."""
        at = folder.split("/") if folder else []
        parts = _parts(target)
        followed = 0
        while parts:
            part = parts.pop()
            if part == "..":
                if not at:
                    raise _Broken("which is outside of the archive")
                at.pop()
                continue
            path = "/".join([*at, part])
            if link := self._links.get(path):
                followed += 1
                if followed > MAX_FOLLOWED:
                    raise _Broken("which is part of a loop")
                if link.link == "hard":
                    at = []
                parts += _parts(link.target)
            elif path in self._folders or (path in self._files and not parts):
                at.append(part)
            else:
                raise _Broken("which is not in the archive")
        return "/".join(at)


class _Broken(Exception):
    """A link leads nowhere; `str()` says why."""


class _Costs:
    """Everything that links add to an archive counts against its limits, as its members do."""

    def __init__(self, limits: Limits, entries: Sequence[Entry]) -> None:
        self._limits = limits
        self._entries = sum(not entry.link for entry in entries)
        self._bytes = sum(entry.size for entry in entries)
        self._name_bytes = 0

    def count(self, name: str, size: int = 0) -> None:
        limits = self._limits
        self._entries += 1
        self._bytes += size
        self._name_bytes += len(name.encode("utf-8"))
        limits.check_entries(self._entries, _WITH_LINKS)
        limits.check_unpacked(self._bytes, _WITH_LINKS)
        # Links to folders make paths of any length.
        if name.count("/") >= limits.depth or self._name_bytes > limits.directory_bytes:
            expected = f"{at_most(limits.depth, 'levels')} and {limits.directory_bytes} bytes of names in total"
            raise refuse("too_large_directory", "paths through links that are too long", expected, file=name)


def _parts(target: str) -> list[str]:
    """The parts of a path, the first one at the end. Raises _Broken unless it is relative."""
    if target.startswith("/"):
        raise _Broken("an absolute path")
    return [part for part in reversed(target.split("/")) if part not in ("", ".")]
