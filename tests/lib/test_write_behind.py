"""Notes of a process: merged in memory, written in bulk, kept while they cannot be written."""

import logging
import subprocess
import sys
import threading
from datetime import timedelta
from operator import add

import pytest

from apps.lib.process.write_behind import NotWritten, WriteBehind

TICK = timedelta(milliseconds=5)


class Shelf:
    """Receives the values; `is_away` refuses them, `gate` delays a write."""

    def __init__(self):
        self.batches = []
        self.is_away = False
        self.entered, self.gate = threading.Event(), threading.Event()
        self.gate.set()

    def write(self, batch):
        self.entered.set()
        assert self.gate.wait(20)
        if self.is_away:
            raise NotWritten("nobody is there")
        self.batches.append(batch)
        return len(batch)


@pytest.fixture
def shelf():
    return Shelf()


@pytest.fixture
def notes(shelf):
    return WriteBehind("test", write=shelf.write, merge=add, every=TICK, most=3, rest=lambda: None)


def test_values_of_one_key_are_merged_and_written_once(notes, shelf):
    for _ in range(3):
        notes.add("a", 1)
    notes.add("b", 5)

    assert notes.flush() == 2
    assert shelf.batches == [{"a": 3, "b": 5}]
    assert notes.flush() == 0
    assert len(shelf.batches) == 1


def test_what_cannot_be_written_is_kept_with_what_comes_later(notes, shelf):
    notes.add("a", 1)
    shelf.is_away = True
    assert notes.flush() == 0
    notes.add("a", 1)
    notes.add("b", 1)
    assert notes.flush() == 0

    shelf.is_away = False
    notes.flush()

    assert shelf.batches == [{"a": 2, "b": 1}]


def test_what_is_kept_is_bounded_and_known_keys_go_on_counting(notes, shelf, caplog):
    shelf.is_away = True
    for key in "abcdef":
        notes.add(key, 1)
    notes.flush()
    notes.add("a", 1)
    shelf.is_away = False

    with caplog.at_level(logging.ERROR):
        notes.flush()

    assert shelf.batches == [{"a": 2, "b": 1, "c": 1}]
    assert [(one.message, one.lost) for one in caplog.records] == [("values_lost", 3)]


def test_what_comes_during_a_write_that_fails_is_not_lost(notes, shelf):
    shelf.is_away = True
    shelf.gate.clear()
    notes.add("a", 1)
    writer = threading.Thread(target=notes.flush)
    writer.start()
    assert shelf.entered.wait(20)
    notes.add("a", 1)
    shelf.gate.set()
    writer.join()
    shelf.is_away = False

    notes.flush()

    assert shelf.batches == [{"a": 2}]


def test_the_last_flush_waits_for_a_write_that_is_under_way(notes, shelf):
    """The thread that writes is a daemon: a process that did not wait would end in the middle of its transaction."""
    shelf.gate.clear()
    notes.add("a", 1)
    threading.Thread(target=notes.flush, daemon=True).start()
    assert shelf.entered.wait(20)

    last = threading.Thread(target=notes.flush)
    last.start()
    last.join(0.2)
    assert last.is_alive()
    shelf.gate.set()
    last.join(20)

    assert shelf.batches == [{"a": 1}]


def test_the_thread_survives_a_defect_in_the_writing(caplog):
    written = threading.Event()

    def write(batch):
        if "bad" in batch:
            raise ValueError("a defect")
        written.set()
        return 1

    notes = WriteBehind("test", write=write, merge=add, every=TICK, most=9, rest=lambda: None)
    notes.add("bad", 1)
    with pytest.raises(ValueError, match="a defect"):
        notes.flush()
    notes.add("bad", 1)
    notes.start()
    notes.start()
    for _ in range(4000):
        notes.add("good", 1)
        if written.wait(0.005):
            return
    pytest.fail("the thread wrote nothing any more")


EXITING = """
import os, sys
from datetime import timedelta
from multiprocessing import get_context

sys.path.insert(0, os.getcwd())
from apps.lib.process.write_behind import WriteBehind

def write(batch):
    print("wrote", batch, flush=True)
    return 1

def child():
    notes = WriteBehind("test", write=write, merge=max, every=timedelta(hours=1), most=9, rest=lambda: None)
    notes.start()
    notes.add("a", 1)

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        process = get_context(method).Process(target=child)
        process.start()
        process.join()
    child()
"""


def test_a_clean_exit_writes_in_a_process_and_in_its_children(tmp_path):
    """Web servers run their workers as multiprocessing children, where atexit alone is not called after a fork."""
    script = tmp_path / "exiting.py"
    script.write_text(EXITING)

    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)

    assert ran.stdout == "wrote {'a': 1}\n" * 3, ran.stderr
