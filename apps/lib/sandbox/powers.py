"""Take from this process what it does not need. There is no way back, so only the children that read what strangers
sent, or fetch it, call this.
"""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from apps.lib.sandbox import landlock

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of work and bytes of address space; `document_bytes` is the longest answer that the parent reads."""

    seconds: int = 30
    memory_bytes: int = 512 * _MIB
    document_bytes: int = 64 * _MIB


@dataclass(frozen=True, slots=True)
class Powers:
    """All that a confined process keeps beside computing and its open files.

    `seconds` of the processor: then SIGXCPU, and SIGKILL a second later. `memory_bytes`: its address space.
    `descriptors`: the files, sockets and pipes that may be open; 0 opens no more. `file_bytes`: of each file that it
    writes. `readable` and `writable` are paths, and `port` is that of its TCP connections (0: none), where the kernel
    has Landlock.
    """

    seconds: int
    memory_bytes: int
    descriptors: int = 0
    file_bytes: int = 0
    may_fork: bool = False
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()
    port: int = 0


def die_with_parent(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """Has the kernel kill this process when the one that started it ends, also by kill -9. Linux only.

    The signal is bound to the thread that forked; it waits for this process, so it lives as long as the wait.
    """
    if sys.platform != "linux":
        return
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_PR_SET_PDEATHSIG, by, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    # Race: a parent that died before the call above sends no signal.
    if os.getppid() != parent:
        os._exit(1)


def drop_privileges() -> None:
    """Have this process gain no rights by starting a program, and leave no core."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    lower(resource.RLIMIT_CORE, 0)


def confine(powers: Powers) -> None:
    """Leave this process, and all that it starts, these powers alone. Raises OSError.

    Call it after everything is imported: an import opens files.
    """
    drop_privileges()
    # Without a descriptor a file can still be removed, renamed, cut off and executed, and a process be killed.
    landlock.confine(readable=powers.readable, writable=powers.writable, port=powers.port)
    if sys.platform == "linux":
        lower(resource.RLIMIT_AS, powers.memory_bytes)  # other kernels do not let it be set
    # A reader's own clock comes first and can say why. At the soft limit SIGXCPU names the cause, which the SIGKILL of
    # the hard one would not.
    lower(resource.RLIMIT_CPU, powers.seconds, slack=1)
    lower(resource.RLIMIT_FSIZE, powers.file_bytes)
    if not powers.may_fork:
        # It counts all processes of the user, so any but 0 is of no use. Root is exempt: then the rest holds.
        lower(resource.RLIMIT_NPROC, 0)
    # Last, for Landlock needs one. Open files stay open.
    lower(resource.RLIMIT_NOFILE, powers.descriptors)


def lower(kind: int, most: int, slack: int = 0) -> None:
    _, hard = resource.getrlimit(kind)
    ceiling = most + slack if hard == resource.RLIM_INFINITY else min(most + slack, hard)
    resource.setrlimit(kind, (min(most, ceiling), ceiling))
