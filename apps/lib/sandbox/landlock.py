"""Take files and ports from this process for good, by Linux's Landlock (https://docs.kernel.org/userspace-api/landlock.html).

Needs no privileges. A kernel without it, or with an older version, takes away less: other limits hold besides.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

# The numbers are the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1  # flag of _CREATE_RULESET
_PATH_BENEATH, _NET_PORT = 1, 2  # kinds of rules
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_CONNECT, _BIND = 1 << 1, 1 << 0
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1
# What each version of the interface added: bits of files (from 13 on), then ports (4), then scopes (6).
_FILE_BITS = {1: 13, 2: 14, 3: 15, 4: 15}
_FILE_BITS_NOW = 16
_PORTS_SINCE, _SCOPES_SINCE = 4, 6


def version() -> int:
    """Return the version of the interface; 0 without Landlock."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _VERSION)))


def confine(*, readable: Iterable[str], writable: Iterable[str], port: int) -> None:
    """Leave this process, and all it starts, these files and TCP connections to one port (0: none).

    Paths that do not exist are passed over. The caller has set PR_SET_NO_NEW_PRIVS. Raises OSError.
    """
    known = version()
    if not known:
        return
    files = (1 << _FILE_BITS.get(known, _FILE_BITS_NOW)) - 1
    fields = [files]
    if known >= _PORTS_SINCE:
        fields.append(_CONNECT | _BIND)
    if known >= _SCOPES_SINCE:
        fields.append(_ABSTRACT_SOCKETS | _SIGNALS)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = _call(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in readable:
            _add_path(ruleset, path, files & (_EXECUTE | _READ_FILE | _READ_DIR))
        for path in writable:
            _add_path(ruleset, path, files & ~_EXECUTE)
        if port and known >= _PORTS_SINCE:
            _call(_ADD_RULE, ruleset, _NET_PORT, struct.pack("=QQ", _CONNECT, port), 0)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _add_path(ruleset: int, path: str, rights: int) -> None:
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not Path(path).is_dir():
                rights &= _OF_FILES
            _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
        finally:
            os.close(descriptor)


def _call(number: int, *words: int | bytes) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_char_p(word) if isinstance(word, bytes) else ctypes.c_long(word) for word in words]
    answer = int(library.syscall(ctypes.c_long(number), *given))
    if answer < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    return answer
