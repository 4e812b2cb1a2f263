"""Files of a repository by their object ids, read by one git that waits for the next: a preview reads hundreds."""

import os
import selectors
from contextlib import ExitStack
from dataclasses import replace

from apps.contrib.git.remote import children
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.remote.stores import Store, check_ended

_STEP = 64 * 1024
# git writes whole files. One that is much larger than what is asked for has a process of its own, which is stopped.
_MAX_LEFT_BYTES = 1024 * 1024


class Objects:
    """Close it, which ends git."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._opened = ExitStack()
        self._process: children.Process | None = None
        self._rest = bytearray()

    def close(self) -> None:
        self._process = None
        self._rest.clear()
        self._opened.close()

    def read(self, object_id: str, size: int, max_bytes: int) -> bytes:
        """Return the beginning of a file that has `size` bytes. Raises GitFailed."""
        if size - max_bytes > _MAX_LEFT_BYTES:
            return self._beginning(object_id, max_bytes)
        try:
            return self._whole(object_id)[:max_bytes]
        except BaseException:
            self.close()  # half an answer may be left
            raise

    def _beginning(self, object_id: str, max_bytes: int) -> bytes:
        command = self._store.command(["cat-file", "blob", object_id])
        pieces, data = children.stream(command, self._store.clock, 1 << 62), bytearray()
        while len(data) < max_bytes:
            try:
                data += next(pieces)
            except StopIteration as end:
                check_ended(end.value)
                break
        pieces.close()
        return bytes(data[:max_bytes])

    def _whole(self, object_id: str) -> bytes:
        if self._process is None:
            command = replace(self._store.command(["cat-file", "--batch"]), stdin=None)
            self._process = self._opened.enter_context(children.started(command, self._store.clock))
        if self._process.stdin is not None:
            try:
                self._process.stdin.write(f"{object_id}\n".encode("ascii"))
                self._process.stdin.flush()
            except BrokenPipeError:
                raise _ended() from None
        while b"\n" not in self._rest:
            self._rest += self._more(self._process)
        header, _, rest = bytes(self._rest).partition(b"\n")
        words = header.split(b" ")
        if len(words) != 3:  # noqa: PLR2004  # "<id> blob <size>"; else "<id> missing"
            raise _ended()
        self._rest = bytearray(rest)
        size = int(words[2])
        while len(self._rest) <= size:  # a line feed follows
            self._rest += self._more(self._process)
        data = bytes(self._rest[:size])
        del self._rest[: size + 1]
        return data

    def _more(self, process: children.Process) -> bytes:
        if process.stdout is None:
            raise _ended()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            self._store.clock.select(selector)
        piece = os.read(process.stdout.fileno(), _STEP)
        if not piece:
            raise _ended()
        return piece


def _ended() -> GitFailed:
    return GitFailed("bad_object", "A file of the fetched commit cannot be read.", is_final=True)
