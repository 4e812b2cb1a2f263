"""A thread renews the values that a process remembers, and survives database failures."""

import threading
from datetime import timedelta

import pytest
from django.db import OperationalError

from apps.blobs import renewing
from apps.blobs.renewing import Renewed

pytestmark = pytest.mark.both


class Counter(Renewed[int]):
    """Its first question is answered; the database is away for the second, and the third meets a defect."""

    def __init__(self) -> None:
        super().__init__("a counter", 0)
        self.asked, self.went_on = 0, threading.Event()
        self.threads: set[int | None] = set()

    def read(self) -> int:
        self.asked += 1
        self.threads.add(threading.current_thread().ident)
        if self.asked == 2:
            raise OperationalError("away")
        if self.asked == 3:
            raise ValueError("a defect")
        if self.asked > 4:
            self.went_on.wait()  # the thread is a daemon: it rests here until the tests end
        return self.asked


def test_the_last_answer_holds_through_failures_and_one_thread_asks_again(monkeypatch):
    monkeypatch.setattr(renewing, "EVERY", timedelta(0))
    counter = Counter()
    assert counter.value == 0
    counter.renew()
    for _ in range(2):
        counter.start()
    pause = threading.Event()
    for _ in range(500):
        if counter.value == 4:
            break
        pause.wait(0.01)

    assert counter.value == 4, "it was 1 while the database was away"
    assert len(counter.threads) == 2, "this one, and one of its own however often it is started"
    counter.clear()
    assert counter.value == 0
