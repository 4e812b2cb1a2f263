"""Lines about progress, and calls in several threads."""

import threading
from types import SimpleNamespace

import pytest

from apps.lib.process import parallel, progress
from apps.lib.process.progress import Progress


def test_a_line_now_and_then_says_how_much_is_done_and_how_long_the_rest_takes(monkeypatch):
    now, said = [0.0], list[str]()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    counted = Progress("blobs", 4000, say=said.append, seconds=5)
    for _ in counted.over(range(4000)):
        now[0] += 0.1

    assert said[0] == "blobs: 51 of 4,000 (1%), about 7 min left"
    assert said[-1] == "blobs: 3,991 of 4,000 (99%), about 1 s left"
    assert len(said) < 4000 / 50


def test_what_takes_no_time_says_nothing_and_more_than_expected_is_no_error(capsys):
    counted = Progress("blobs", 1)
    counted.add(3)
    assert capsys.readouterr() == ("", "")
    assert counted.done == 3


def test_results_come_in_the_order_of_the_items_and_an_error_ends_the_rest():
    called, both = [], threading.Barrier(2, timeout=30)

    def act(number):
        called.append(number)
        if number < 2:
            both.wait()  # one thread alone would wait for ever
        if number == 40:
            raise ValueError("the fortieth")
        return -number

    assert list(parallel.each(act, range(30))) == [-number for number in range(30)]
    called.clear()
    with pytest.raises(ValueError, match="the fortieth"):
        list(parallel.each(act, iter(range(100_000))))
    assert len(called) < 1_000
