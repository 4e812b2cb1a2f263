"""Settings of glibc's allocator, for processes that run for weeks with many threads."""

import contextlib
import ctypes
import sys

# <malloc.h>
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8

ARENAS = 2
LARGE_BYTES = 128 * 1024


def settle() -> None:
    """Give memory that is no longer needed back to the system. Call it before the first thread; forks inherit it.

    By default glibc gives up to eight heaps for each processor to the threads, and none of them what another has
    freed; and with the first large body that is freed it takes those of up to 32 MB from the heaps from then on, where
    a small neighbour keeps them. Elsewhere than on glibc nothing happens.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(AttributeError):  # musl has no mallopt
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_ARENA_MAX, ARENAS)
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_TRIM_THRESHOLD, LARGE_BYTES)
