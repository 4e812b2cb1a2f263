"""Fetch one commit of a repository into a folder that is removed afterwards, and read it without a working tree."""

import io
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

from apps.contrib.git.remote import children, folders, submodules, tars
from apps.contrib.git.remote.access import Access, GitFailed, Limits
from apps.contrib.git.remote.children import Clock
from apps.contrib.git.remote.locations import is_commit
from apps.contrib.git.remote.objects import Objects
from apps.contrib.git.remote.remotes import Remote
from apps.contrib.git.remote.stores import WANTED, Store, check_ended

LINK, SUBMODULE = 0o120000, 0o160000
MAX_SUBMODULES, MAX_SUBMODULE_DEPTH = 20, 3
_MAX_OBJECT_BYTES = 1024 * 1024  # of a commit or tag: its message
_MAX_MODULES_BYTES = 64 * 1024
_BATCH_SIZE = 100  # submodules that one git is asked about
# Of a tar's member beside its content: two headers with a long path, and what fills the last block.
_MEMBER_BYTES = 8 * 1024
# git check-ref-format: what no part of a ref's name has.
_NO_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")
_ENTRY = re.compile(
    rb"(?P<mode>[0-7]{6}) (?P<kind>\w+) (?P<id>[0-9a-f]{40,64}) +(?P<size>\d+|-)\t(?P<path>.*)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a commit. `mode` as git has it: 0o100644, 0o100755, 0o120000 (link), 0o160000 (submodule)."""

    path: str
    mode: int
    size: int


class Commit:
    """A commit that was fetched. `raw`: its object. `tag`: the annotated tag's, or empty.

    Paths that are not UTF-8 have surrogates, as Python's os.fsdecode writes them.
    """

    def __init__(self, store: Store, commit_id: str, tag: bytes, parts: "_Parts | None", *, raw: bytes = b"") -> None:
        self.id, self.tag, self.raw = commit_id, tag, raw
        self._store, self._parts = store, parts
        self._objects = Objects(store)
        self._files: dict[str, tuple[str, int]] = {}
        self._submodules: dict[str, str] = {}
        self.entries: list[Entry] = []
        for entry, object_id in _tree(store, commit_id):
            self.entries.append(entry)
            if entry.mode == SUBMODULE:
                self._submodules[entry.path] = object_id
            else:
                self._files[entry.path] = (object_id, entry.size)

    def close(self) -> None:
        self._objects.close()

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the beginning of a file. Raises GitFailed for one that is not there."""
        object_id, size = self._files.get(path, ("", 0))
        if not object_id:
            raise GitFailed("no_file", f"The commit has no file {path!r}.", is_final=True)
        return self._objects.read(object_id, size, max_bytes)

    def archive(self, folder: str = "") -> Iterator[bytes]:
        """Yield a tar of the folder, or of all, with paths from the root; `export-ignore` is honoured. The same commit
        gives the same bytes. Raises GitFailed.
        """
        folder = folder.strip("/")
        if folder and not any(f"{entry.path}/".startswith(f"{folder}/") for entry in self.entries):
            raise GitFailed("no_folder", f"The commit has no folder {folder!r}.", is_final=True)
        return tars.joined(chain([self._tar(folder, "")], self._tars_of_submodules(folder, "", 1)))

    def _tar(self, folder: str, prefix: str) -> Iterator[bytes]:
        words = ["archive", "--format=tar", *([f"--prefix={prefix}"] if prefix else []), self.id]
        most = self._store.limits.tree_bytes + (len(self.entries) + 1024) * _MEMBER_BYTES
        command = self._store.command([*words, "--", *([folder] if folder else [])])
        ended = yield from children.stream(command, self._store.clock, most)
        check_ended(ended)

    def _tars_of_submodules(self, folder: str, prefix: str, depth: int) -> Iterator[Iterator[bytes]]:
        """Fetch the submodules in the folder, and theirs."""
        if self._parts is None:
            return
        for path in self.submodules(folder):
            part, place = self._parts.fetched(self, path, depth), f"{prefix}{path}/"
            yield part._tar("", place)  # noqa: SLF001  # of the same class
            yield from part._tars_of_submodules("", place, depth + 1)  # noqa: SLF001

    def submodules(self, folder: str = "") -> list[str]:
        """Return the paths of those in the folder that no attribute leaves out: the archive has an empty folder for
        each. Raises GitFailed.
        """
        inside = [path for path in self._submodules if not folder or f"{path}/".startswith(f"{folder}/")]
        found: list[str] = []
        for start in range(0, len(inside), _BATCH_SIZE):
            paths = inside[start : start + _BATCH_SIZE]
            data = self._store.run(["archive", "--format=tar", self.id, "--", *paths], max_bytes=_MAX_OBJECT_BYTES)
            try:
                with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
                    exported = {member.name.rstrip("/") for member in tar}
            except tarfile.ReadError:  # nothing but git's header, which names the commit
                continue
            found += [path for path in paths if path in exported]
        return found

    def submodule_of(self, path: str) -> tuple[str, str]:
        """Return the commit of a submodule, and its URL as .gitmodules has it. Raises GitFailed."""
        text = self.read(".gitmodules", _MAX_MODULES_BYTES) if ".gitmodules" in self._files else b""
        url = submodules.urls_of(self._store, text).get(path)
        if not url:
            raise GitFailed("no_submodule_url", f"The file .gitmodules has no URL for {path!r}.", is_final=True)
        return self._submodules[path], url

    @property
    def store(self) -> Store:
        return self._store

    @property
    def seconds(self) -> float:
        """The time that servers and children took until now, for submodules as well."""
        return self._store.clock.seconds - self._store.clock.left

    @property
    def size(self) -> int:
        """Bytes of the packs that were fetched, with those of submodules."""
        return self._store.pack_bytes + (self._parts.pack_bytes if self._parts is not None else 0)


class _Parts:
    """Fetches submodules, each into a repository in the same folder. The limits hold for all together."""

    def __init__(self, remote: Remote, access: Access, limits: Limits) -> None:
        self._root, self._access, self._limits = remote, access, limits
        self._commits: dict[str, Commit] = {}  # by the names of their repositories, with the first
        self._remotes: dict[str, Remote] = {}  # by the names of their repositories
        self._fetched: dict[tuple[str, str], Commit] = {}  # archives are read more than once

    def fetched(self, parent: Commit, path: str, depth: int) -> Commit:
        """Raises GitFailed."""
        above = parent.store
        self._commits[above.name] = parent
        if known := self._fetched.get((above.name, path)):
            return known
        if depth > MAX_SUBMODULE_DEPTH or len(self._fetched) >= MAX_SUBMODULES:
            raise GitFailed(
                "too_many_submodules",
                f"There are more than {MAX_SUBMODULES} submodules, or they are nested more than "
                f"{MAX_SUBMODULE_DEPTH} deep.",
                hint="Copy the files into the repository.",
                is_final=True,
            )
        commit_id, url = parent.submodule_of(path)
        remote = submodules.resolved(self._remotes.get(above.name, self._root), url, path)
        store = Store(above.folder, f"part-{len(self._fetched)}", above.clock, self._left())
        store.create(commit_id)
        self._remotes[store.name] = remote
        try:
            store.fetch(remote, submodules.access_to(remote, self._root, self._access), commit_id)
            part = Commit(store, commit_id, b"", self)
        except GitFailed as error:
            text = f"The submodule {path!r} was not fetched: {error}"
            raise GitFailed(error.code, text, hint=error.hint, is_final=error.is_final) from None
        self._fetched[above.name, path] = self._commits[store.name] = part
        return part

    def _left(self) -> Limits:
        """Return the limits without what the commits so far have."""
        commits, limits = self._commits.values(), self._limits
        used = sum(entry.size for one in commits for entry in one.entries)
        return replace(
            limits,
            pack_bytes=max(1, limits.pack_bytes - sum(one.store.pack_bytes for one in commits)),
            tree_bytes=max(0, limits.tree_bytes - used),
            entries=max(0, limits.entries - sum(len(one.entries) for one in commits)),
        )

    @property
    def pack_bytes(self) -> int:
        return sum(part.store.pack_bytes for part in self._fetched.values())

    def close(self) -> None:
        for part in self._fetched.values():
            part.close()


@contextmanager
def fetched(
    remote: Remote, access: Access, limits: Limits, *, ref: str, expected: str = "", submodules: bool = False
) -> Iterator[Commit]:
    """Fetch `ref` (refs/tags/v1.0.0, HEAD, or a full commit id), without its history. Raises GitFailed.

    `expected`: the commit that was listed; another one is refused (`moved`). With `submodules` those are fetched under
    the same rules, and become a part of the archive. `remote` is the repository's own, before redirects: the credential
    goes to its host alone.
    """
    if ref != "HEAD" and not (_is_ref(ref) or is_commit(ref)):
        raise GitFailed(
            "bad_ref",
            f"The ref is called {ref!r}, expected a name that git allows, such as refs/tags/v1.0.0.",
            hint="Push the tag under a name of letters, digits, dots and slashes.",
            is_final=True,
        )
    with folders.temporary() as folder:
        store = Store(folder, "repository", Clock(limits.seconds), limits)
        store.create(expected)
        store.fetch(remote, access, ref)
        commit_id, tag, raw = _peeled(store, ref)
        if expected and commit_id != expected:
            raise GitFailed(
                "moved",
                f"{ref} is commit {commit_id[:12]}, expected {expected[:12]}, which was listed.",
                hint="The tag was moved meanwhile. Larder lists the repository again.",
                is_final=True,
            )
        parts = _Parts(remote, access, limits) if submodules else None
        commit = Commit(store, commit_id, tag, parts, raw=raw)
        try:
            yield commit
        finally:
            commit.close()
            if parts is not None:
                parts.close()


def _is_ref(name: str) -> bool:
    if not name.startswith("refs/") or not name.isprintable() or _NO_REF.search(name):
        return False
    return all(part and part[0] != "." and not part.endswith((".", ".lock")) for part in name.split("/"))


def _peeled(store: Store, ref: str) -> tuple[str, bytes, bytes]:
    """Return the commit that the ref leads to, the tag's object, if it is one, and the commit's. Raises GitFailed."""
    asked = f"{WANTED}\n{WANTED}^{{commit}}\n".encode()
    found = store.run(["cat-file", "--batch"], max_bytes=2 * _MAX_OBJECT_BYTES, stdin=asked)
    header, _, rest = found.partition(b"\n")
    words = header.split(b" ")
    tag = b""
    if len(words) == 3:  # noqa: PLR2004  # id, kind, size
        size = int(words[2])
        tag, rest = rest[:size] if words[1] == b"tag" else b"", rest[size + 1 :]
    header, _, raw = rest.partition(b"\n")
    commit_id, _, kind = header.partition(b" ")
    if not kind.startswith(b"commit "):
        raise GitFailed(
            "not_a_commit", f"{ref} leads to no commit.", hint="Tag a commit, not a file or a tree.", is_final=True
        )
    return commit_id.decode("ascii"), tag, raw


def _tree(store: Store, commit_id: str) -> Iterator[tuple[Entry, str]]:
    """Yield the files with their object ids. A commit with too many or too much is left at once: trees that contain
    one another can have billions of files in a few kilobytes.
    """
    limits, count, total = store.limits, 0, 0
    pieces = children.stream(store.command(["ls-tree", "-r", "-l", "-z", commit_id]), store.clock, 1 << 62)
    rest = b""
    try:
        while True:
            try:
                *lines, rest = (rest + next(pieces)).split(b"\0")
            except StopIteration as end:
                check_ended(end.value)
                return
            for line in lines:
                found = _ENTRY.fullmatch(line)
                if found is None:
                    raise GitFailed("bad_object", f"The tree has an entry {line[:60]!r}.", is_final=True)
                size = 0 if found["size"] == b"-" else int(found["size"])
                count, total = count + 1, total + size
                if count > limits.entries or total > limits.tree_bytes:
                    raise GitFailed(
                        "too_large",
                        f"The commit has more than {limits.entries:,} files or {limits.tree_bytes:,} bytes.",
                        hint="Remove what does not belong to modules from the commit.",
                        is_final=True,
                    )
                path = found["path"].decode("utf-8", "surrogateescape")
                yield Entry(path, int(found["mode"], 8), size), found["id"].decode("ascii")
    finally:
        pieces.close()
