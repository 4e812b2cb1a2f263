"""Drops the rights that reading an input does not need. There is no way back, so only sandboxed processes call it."""

import ctypes
import os
import resource
import signal
import sys
from dataclasses import dataclass

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of work and bytes of address space; `document_bytes` is the longest answer that the parent reads."""

    seconds: int = 30
    memory_bytes: int = 512 * _MIB
    document_bytes: int = 64 * _MIB


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
    """For the process that children are forked from: it gains no rights by starting a program, and leaves no core."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    lower(resource.RLIMIT_CORE, 0)


def confine(limits: Limits) -> None:
    """Lowers the limits of this process: memory, CPU, no written file, no further descriptor, no child, no core dump.

    Call it after everything is imported: an import opens files.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        lower(resource.RLIMIT_AS, limits.memory_bytes)  # other kernels do not let it be set
    # The reader's own clock comes first and can say why. At the soft limit SIGXCPU names the cause, which the SIGKILL
    # of the hard one would not.
    lower(resource.RLIMIT_CPU, limits.seconds + 1, slack=1)
    lower(resource.RLIMIT_FSIZE, 0)
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_NPROC, 0)  # root is exempt, so it is the descriptors below that hold everywhere
    # Open files stay open; no number is free for another file, socket or pipe.
    lower(resource.RLIMIT_NOFILE, 0)


def lower(kind: int, most: int, slack: int = 0) -> None:
    _, hard = resource.getrlimit(kind)
    ceiling = most + slack if hard == resource.RLIM_INFINITY else min(most + slack, hard)
    resource.setrlimit(kind, (min(most, ceiling), ceiling))
