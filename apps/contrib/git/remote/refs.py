"""List a repository's tags, as its server advertises them, without git (gitprotocol-pack: Reference Discovery).

https: `GET …/info/refs?service=git-upload-pack` by the guarded client (lib/net/fetching.py). ssh: `git-upload-pack`, of
which the advertisement is read and no more. `git ls-remote` costs forty times as much (maintain/decisions-server.md).
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from apps.contrib.git.remote import children, failures, folders, ssh
from apps.contrib.git.remote.access import Access, GitFailed, Limits
from apps.contrib.git.remote.remotes import Remote
from apps.lib.net import fetching
from apps.lib.net.addresses import port_of
from apps.lib.net.outgoing import NotAnswered

_SERVICE = "/info/refs?service=git-upload-pack"
_SMART = "application/x-git-upload-pack-advertisement"
# Some servers answer others than git with a page.
_HEADERS = {"User-Agent": "git/2.40.0 (Larder)", "Accept": "*/*", "Pragma": "no-cache"}
_V2 = {"Git-Protocol": "version=2"}
_MAX_SECONDS = 60.0
_TAG = b"refs/tags/"
_PEELED = b"^{}"
_LENGTH = re.compile(rb"[0-9a-fA-F]{4}")
_LINE = re.compile(rb"(?P<id>[0-9a-f]{40}|[0-9a-f]{64}) (?P<name>[^\0\n]+)")


@dataclass(frozen=True, slots=True)
class Ref:
    """A tag without refs/tags/; bytes that are not UTF-8 are written as \\xNN, and `is_text` is False.

    `commit` is the peeled one, `tag_object` that of an annotated tag or empty.
    """

    name: str
    commit: str
    tag_object: str = ""
    is_text: bool = True


@dataclass(frozen=True, slots=True)
class Listing:
    """`head`: the commit of HEAD, empty for an empty repository. `remote`: where redirects led, to be shown. Requests
    go to the repository's own URL, whose credential is not meant for another host. `size`: in bytes, as it was sent.
    """

    tags: tuple[Ref, ...]
    head: str
    remote: Remote
    size: int = 0


class _Counted:
    """Counts the bytes that pass."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.size, self._pieces = 0, pieces

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.size += len(piece)
            yield piece


def listed(remote: Remote, access: Access, limits: Limits) -> Listing:
    """Raises GitFailed."""
    if remote.scheme == "ssh":
        with folders.temporary() as folder:
            command = ssh.upload_pack(remote, access, folder)
            output = children.stream(command, children.Clock(_seconds(limits)), limits.refs_bytes)
            counted = _Counted(_told(output, remote, access))
            tags, head = _read(_lines(iter(counted)), limits)
            return Listing(tags, head, remote, counted.size)
    with _discovered(remote, access, limits, {}) as (there, pieces):
        counted = _Counted(pieces)
        lines = _lines(iter(counted))
        if next(lines, None) != b"# service=git-upload-pack" or next(lines, b"") is not None:
            raise _malformed("it does not begin with the name of the service")
        tags, head = _read(lines, limits)
        return Listing(tags, head, there, counted.size)


def located(remote: Remote, access: Access, limits: Limits) -> Remote:
    """Return where redirects of an https or http URL lead, and whether a Git server is there. Raises GitFailed."""
    with _discovered(remote, access, limits, _V2) as (there, _):
        return there


def _seconds(limits: Limits) -> float:
    return min(_MAX_SECONDS, limits.seconds)


@contextmanager
def _discovered(
    remote: Remote, access: Access, limits: Limits, headers: Mapping[str, str]
) -> Iterator[tuple[Remote, Iterator[bytes]]]:
    route = fetching.Route(access.trusted, access.allowed, access.proxy)
    time = fetching.Limits(total_seconds=_seconds(limits))
    try:
        with fetching.opened(
            "GET",
            remote.url + _SERVICE,
            headers={**_HEADERS, **headers},
            route=route,
            limits=time,
            authorization=access.authorization,
        ) as response:
            if response.status != 200:  # noqa: PLR2004
                raise failures.of_status(response.status, remote, access)
            _check_type(str(response.headers.get("Content-Type") or ""), access)
            yield _remote_of(response.url), response.chunks(limits.refs_bytes)
    except NotAnswered as error:
        raise failures.of_exchange(error) from None


def _check_type(found: str, access: Access) -> None:
    kind = found.partition(";")[0].strip().lower()
    if kind == _SMART:
        return
    if kind in {"text/html", "application/xhtml+xml"}:
        hint = "If the repository is private, connect it with a token or key."
        if access.authorization:
            hint = "The token may have expired, or lack access to this repository."
        raise GitFailed("login_page", "The server answered with a web page, expected a repository.", hint=hint)
    raise GitFailed(
        "dumb_http",
        f"The server answered with {kind[:60]!r}, expected Git's smart protocol.",
        hint="Serve the repository with git http-backend, or use ssh.",
        is_final=True,
    )


def _remote_of(url: str) -> Remote:
    """Return the repository of the last URL. As with git, only what stands before /info/refs may be another one."""
    if not url.endswith(_SERVICE):
        raise GitFailed(
            "bad_redirect",
            "The server redirected to a page that is not a repository's.",
            hint="Use the repository's final URL. If it is private, connect it with a token or key.",
            is_final=True,
        )
    parts = urlsplit(url.removesuffix(_SERVICE))
    return Remote(parts.scheme, parts.hostname or "", port_of(parts), parts.path)


def _told(pieces: children.Output, remote: Remote, access: Access) -> Iterator[bytes]:
    """Yield what ssh writes; raise GitFailed for how it ended."""
    ended = yield from pieces
    if ended.code:
        raise failures.of_output(ended.errors, ended.code, remote, access)


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes | None]:
    """Yield the packet lines, without the end of line; None for a flush packet. Raises GitFailed."""
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        begin = 0
        while len(buffer) - begin >= 4:  # noqa: PLR2004
            length_text = bytes(buffer[begin : begin + 4])
            if not _LENGTH.fullmatch(length_text):
                raise _malformed(f"a packet has the length {length_text!r}")
            length = int(length_text, 16)
            if length == 0:
                yield None
                begin += 4
                continue
            if length < 4:  # noqa: PLR2004  # a delimiter of version 2, which was not asked for
                raise _malformed(f"a packet has the length {length}")
            if len(buffer) - begin < length:
                break
            yield bytes(buffer[begin + 4 : begin + length]).removesuffix(b"\n")
            begin += length
        del buffer[:begin]
    if buffer:
        raise _cut()


def _read(lines: Iterator[bytes | None], limits: Limits) -> tuple[tuple[Ref, ...], str]:
    """Read the refs up to the flush packet that ends them."""
    tags: dict[bytes, list[str]] = {}  # the object, then the peeled commit
    head, is_first = "", True
    for line in lines:
        if line is None:
            # To the end of what the server sends: ssh says then how it ended.
            for _ in lines:
                raise _malformed("it continues after its end")
            return tuple(_ref(name, found) for name, found in tags.items()), head
        if line.startswith(b"ERR "):
            said = failures.redacted(line[4:].decode("utf-8", "replace"), ())
            raise GitFailed("refused", f"The server refused: {said}", hint="Check the URL and the credential.")
        if line in {b"version 1", b"version 2"} or line.startswith(b"shallow "):
            continue
        found = _LINE.fullmatch(line.partition(b"\0")[0] if is_first else line)
        is_first = False
        if found is None:
            raise _malformed(f"a line begins with {line[:20]!r}")
        name, object_id = found["name"], found["id"].decode("ascii")
        if name == b"HEAD":
            head = object_id
        elif name.startswith(_TAG):
            _add(tags, name.removeprefix(_TAG), object_id)
            if len(tags) > limits.refs:
                raise GitFailed(
                    "too_many_tags",
                    f"The repository has more than {limits.refs:,} tags.",
                    hint="Delete tags that are not releases.",
                    is_final=True,
                )
    raise _cut()


def _add(tags: dict[bytes, list[str]], name: bytes, object_id: str) -> None:
    if not name.endswith(_PEELED):
        tags[name] = [object_id]
        return
    name = name.removesuffix(_PEELED)
    if len(tags.get(name, ())) != 1:
        raise _malformed("a tag is peeled before it is listed")
    tags[name].append(object_id)


def _ref(name: bytes, found: list[str]) -> Ref:
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        text = "".join(chr(byte) if byte < 0x80 else f"\\x{byte:02x}" for byte in name)  # noqa: PLR2004
        return Ref(text, found[-1], found[0] if len(found) > 1 else "", is_text=False)
    return Ref(text, found[-1], found[0] if len(found) > 1 else "")


def _malformed(found: str) -> GitFailed:
    return GitFailed("bad_answer", f"The server's list of refs is malformed: {found}.")


def _cut() -> GitFailed:
    return GitFailed("truncated", "The server's list of refs ended early.", hint="Larder tries again later.")
