"""Threads share two heaps of malloc in the processes that run for long."""

import re
import subprocess
import sys

import pytest

from registry_site.startup import command_line as allocator
from tests.live import CHECKOUT

THREADS = 12
HEAPS = """
import ctypes, threading
from registry_site.startup import command_line as allocator
{before}
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.fopen.restype = ctypes.c_void_p
here = threading.Barrier({threads})
def take():
    here.wait()  # each thread has a heap as long as it lives
    libc.malloc(1000)
    here.wait()
threads = [threading.Thread(target=take) for _ in range({threads})]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc.malloc_info(0, ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w")))
libc.fflush(None)
"""


def heaps(before: str) -> int:
    words = [sys.executable, "-c", HEAPS.format(before=before, threads=THREADS)]
    said = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    return len(re.findall("<heap nr=", said))


@pytest.mark.needs("linux")  # glibc alone has these heaps
def test_threads_share_two_heaps():
    assert heaps("allocator.settle_allocator()") <= 2 < heaps("")


def test_elsewhere_than_on_linux_nothing_happens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("ctypes.CDLL", None)
    allocator.settle_allocator()
