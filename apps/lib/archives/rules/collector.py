"""Collects texts from the members of an archive while they are read, and the names of those with a private key."""

import re
from bisect import insort
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from apps.lib.archives.rules.limits import Limits
from apps.lib.archives.rules.outcome import Entry

# A member and its bytes. The bytes are read in order, before the next member is asked for, or not at all.
Member: TypeAlias = tuple[Entry, Iterator[bytes]]

KEY_BYTES = 64 * 1024  # where a key has to begin
KEY_BODY_BYTES = 8 * 1024
MAX_KEYS = 100

_PRIVATE_KEY = re.compile(
    rb"-----BEGIN (?:(?:RSA|EC|DSA|OPENSSH|ENCRYPTED) )?PRIVATE KEY-----"
    rb"|-----BEGIN PGP PRIVATE KEY BLOCK-----|PuTTY-User-Key-File-"  # pragma: allowlist secret (a pattern)
)
# A line of a key: the shortest key, of Ed25519, is 64 characters of base64, and lines are folded at 64 or later.
# Placeholders of examples ("content+of+api+key", "MIIE...", "xxxx") have no such line.
_KEY_LINE = re.compile(rb"[A-Za-z0-9+/]{40,}")
_KEY_LETTERS = [re.compile(letters) for letters in (rb"[A-Z]", rb"[a-z]", rb"[0-9]")]


class Collector:
    """Collects from each member's first bytes.

    `wanted` are patterns of whole paths in which `*` matches anything within one part (`modules/*/*.tf`) and `**`
    for any number of parts (`**/*.tf`), in any letter case. All texts share `limits.texts_bytes`, in the order of the
    patterns, and by name within one: a later pattern never takes room from an earlier one.
    """

    def __init__(self, wanted: Iterable[str], limits: Limits) -> None:
        self._patterns = []
        for pattern in wanted:
            parts = ("[^/]*".join(map(re.escape, part.split("*"))) for part in pattern.casefold().split("**"))
            self._patterns.append(re.compile(".*".join(parts)))
        self._limits = limits
        self._texts: list[tuple[int, str, bytes]] = []  # in the order in which room is given
        self._size = 0
        self.private_keys: list[str] = []

    def add(self, entry: Entry, pieces: Iterator[bytes]) -> None:
        """Reads one member to its end. A link has nothing to read: what it points to is a member as well."""
        if entry.link:
            return
        path, rank = entry.name.casefold(), None
        if not entry.is_dir:
            rank = next((rank for rank, pattern in enumerate(self._patterns) if pattern.fullmatch(path)), None)
        text_bytes = 0 if rank is None else self._limits.text_bytes
        head, most = bytearray(), max(KEY_BYTES + KEY_BODY_BYTES, text_bytes)
        for piece in pieces:
            if len(head) < most:
                head += piece[: most - len(head)]
        if len(self.private_keys) < MAX_KEYS and _has_key(head):
            self.private_keys.append(entry.name)
        if rank is not None:
            text = bytes(head[:text_bytes])
            insort(self._texts, (rank, entry.name, text))
            self._size += len(text)
            # What has no room now never will: later texts can only move it further back.
            while self._size > self._limits.texts_bytes:
                rank, name, text = self._texts.pop()
                self._size -= len(text)
                room = self._limits.texts_bytes - self._size
                if room > 0:
                    self._texts.append((rank, name, text[:room]))
                    self._size += room

    @property
    def texts(self) -> dict[str, bytes]:
        return {name: text for _, name, text in self._texts}


def _has_key(head: bytearray) -> bool:
    """Return whether the bytes begin with the header of a private key, followed by bytes of a key. A placeholder has
    none.
    """
    # Nearly every file has neither of these, and a search for plain bytes takes a tenth of the pattern's time.
    if head.find(b"-----BEGIN ", 0, KEY_BYTES) < 0 and head.find(b"PuTTY-User-Key-File-", 0, KEY_BYTES) < 0:
        return False
    for begin in _PRIVATE_KEY.finditer(head, 0, KEY_BYTES):
        body = head[begin.end() : begin.end() + KEY_BODY_BYTES].partition(b"-----")[0]
        # Base64 of random bytes has letters of each kind; a run of one letter or a path in lower case has not.
        if any(all(letters.search(line) for letters in _KEY_LETTERS) for line in _KEY_LINE.findall(body)):
            return True
    return False
