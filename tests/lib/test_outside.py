"""Waits for other services: what a thread gives back, how many may wait, and circuits that open and close."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from unittest.mock import MagicMock

import pytest
from structlog.testing import capture_logs

from apps.lib.errors import Unavailable
from apps.lib.process import outside
from apps.lib.process.outside import ANSWERS_TO_CLOSE, MAX_FAILURES, MAX_OF_RECENT, RECENT, Circuit, TooManyWait
from tests.site.processes import eventually


class Away(Unavailable):
    pass


def away() -> Away:
    return Away("It is away.")


@pytest.fixture(autouse=True)
def nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "_watch", threading.Event())
    monkeypatch.setattr(outside, "_circuits", {})
    monkeypatch.setattr(outside, "listeners", [])


@pytest.fixture
def circuit() -> Circuit:
    return Circuit(outside.STORAGE, "the bucket", away)


def ask(circuit: Circuit, error: Exception | None = None) -> None:
    with circuit.exchange(TimeoutError):
        if error is not None:
            raise error


def fail(circuit: Circuit, times: int) -> None:
    for _ in range(times):
        with pytest.raises(TimeoutError):
            ask(circuit, TimeoutError())


@contextmanager
def hanging(circuit: Circuit, error: Exception | None = None) -> Iterator[threading.Event]:
    """An exchange of another thread that ends with the event, or the block."""
    is_over, has_begun = threading.Event(), threading.Event()

    def work() -> None:
        with circuit.exchange(TimeoutError):
            has_begun.set()
            is_over.wait(20)
            if error is not None:
                raise error

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(work)
        assert has_begun.wait(20)
        try:
            yield is_over
        finally:
            is_over.set()
            assert isinstance(ended.exception(20), type(error))


def test_failures_in_succession_refuse_the_next_at_once_and_tell_who_listens(circuit):
    told: list[Circuit] = []
    outside.listeners.append(told.append)
    with capture_logs() as logs:
        fail(circuit, MAX_FAILURES)
        with pytest.raises(Away):
            ask(circuit)

    assert told == [circuit]
    assert [(log["event"], log["service"], log["reason"]) for log in logs] == [
        ("service_away", "the bucket", "failures")
    ]
    assert outside.figures()[outside.STORAGE] == {"open": 1, "waiting": 0}


def test_an_answer_in_between_counts_anew_even_a_refusal(circuit):
    fail(circuit, MAX_FAILURES - 1)
    with pytest.raises(PermissionError):
        ask(circuit, PermissionError())
    fail(circuit, MAX_FAILURES - 1)

    assert not circuit.is_open


def test_what_waited_for_a_service_that_is_back_since_does_not_count(circuit):
    with hanging(circuit, TimeoutError()), hanging(circuit, TimeoutError()), hanging(circuit, TimeoutError()):
        ask(circuit)

    assert not circuit.is_open


def fail_now_and_then(circuit: Circuit) -> None:
    """Every second exchange, until it opens."""
    while not circuit.is_open:
        ask(circuit)
        fail(circuit, 1)


def test_a_service_that_answers_every_second_time_is_left_alone_until_it_answers_several(circuit, monkeypatch):
    monkeypatch.setattr(outside, "PAUSE_SECONDS", 0.0)  # anybody may try
    with capture_logs() as logs:
        fail(circuit, 1)
        ask(circuit)
        assert not circuit.is_open, "once is no share"
        fail_now_and_then(circuit)
    assert [(log["event"], log["reason"]) for log in logs] == [("service_away", "share")]

    for _ in range(2 * ANSWERS_TO_CLOSE):
        ask(circuit)
        fail(circuit, 1)
        assert circuit.is_open
    for _ in range(ANSWERS_TO_CLOSE):
        ask(circuit)
    assert not circuit.is_open
    fail(circuit, 1)
    ask(circuit)
    assert not circuit.is_open, "what was before does not count"


def test_few_time_outs_among_many_answers_open_nothing_and_neither_do_old_ones(circuit, monkeypatch):
    for _ in range(MAX_OF_RECENT + 1):
        fail(circuit, 1)
        for _ in range(RECENT // 2):
            ask(circuit)
    assert not circuit.is_open

    monkeypatch.setattr(outside, "RECENT_SECONDS", 0.0)
    for _ in range(2 * MAX_OF_RECENT):
        fail(circuit, 1)
        ask(circuit)
    assert not circuit.is_open


def test_answers_to_what_was_asked_before_close_no_circuit_of_a_service_that_answers_now_and_then(circuit):
    with ExitStack() as stack:
        for _ in range(ANSWERS_TO_CLOSE):
            stack.enter_context(hanging(circuit))
        fail_now_and_then(circuit)

    assert circuit.is_open


def test_a_silence_opens_it_and_any_answer_closes_it(circuit, monkeypatch):
    monkeypatch.setattr(outside, "SILENCE_SECONDS", 0.05)
    with hanging(circuit) as is_over:
        circuit.look()
        assert not circuit.is_open, "it has only begun"
        time.sleep(0.1)
        with capture_logs() as logs:
            circuit.look()
        assert (circuit.is_open, logs[0]["reason"], logs[0]["waiting"]) == (True, "silence", 1)
        with pytest.raises(Away):
            ask(circuit)
        is_over.set()
        eventually(lambda: not circuit.is_open, what="an answer")

    ask(circuit)


def test_a_slow_exchange_opens_nothing_while_the_service_answers_the_question_of_the_watch(monkeypatch):
    monkeypatch.setattr(outside, "SUSPECT_SECONDS", 0.05)
    monkeypatch.setattr(outside, "SILENCE_SECONDS", 0.5)
    asked = threading.Event()

    def probe() -> None:
        ask(slow)
        asked.set()

    slow = Circuit(outside.STORAGE, "the bucket", away, probe)
    with hanging(slow):
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            slow.look()
            time.sleep(0.05)

    assert asked.is_set()
    assert not slow.is_open


def test_the_watch_asks_in_the_background_until_it_answers(monkeypatch):
    monkeypatch.setattr(outside, "PAUSE_SECONDS", 0.05)
    begun = MagicMock()  # no thread: it would outlive the test
    monkeypatch.setattr(outside, "Periodic", begun)
    answers = iter([TimeoutError(), TimeoutError(), None])
    asked = Circuit(outside.STORAGE, "the bucket", away, lambda: ask(asked, next(answers)))
    outside.watch()
    outside.watch()
    (look,) = (call.args[1] for call in begun.call_args_list)
    fail(asked, MAX_FAILURES)

    with pytest.raises(Away):
        ask(asked)
    eventually(lambda: look() or not asked.is_open, what="the third question")
    assert next(answers, "all were asked") == "all were asked"


def test_where_nobody_watches_one_caller_a_pause_tries(circuit, monkeypatch):
    monkeypatch.setattr(outside, "PAUSE_SECONDS", 0.2)
    fail(circuit, MAX_FAILURES)
    with pytest.raises(Away):
        ask(circuit)
    time.sleep(0.3)
    fail(circuit, 1)
    with pytest.raises(Away):
        ask(circuit)
    time.sleep(0.3)
    ask(circuit)

    assert not circuit.is_open


def test_a_thread_gives_its_connection_back_before_it_waits(circuit, monkeypatch):
    given: list[str] = []
    monkeypatch.setattr(outside, "give_back", lambda: given.append("back"))
    with circuit.exchange():
        assert given == ["back"]


def test_of_the_threads_of_a_lane_only_so_many_wait_at_a_time(circuit, monkeypatch):
    monkeypatch.setattr(outside, "PLACE_SECONDS", 0.2)
    places, both, is_over = outside.Places(2), threading.Barrier(3), threading.Event()

    def wait() -> None:
        outside.limit_thread(places)
        with circuit.exchange(), outside.waiting():  # inside of an exchange it needs no second place
            both.wait(20)
            is_over.wait(20)

    def come_late() -> None:
        outside.limit_thread(places)
        with outside.waiting():
            pass

    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(wait) for _ in range(2)]
        both.wait(20)
        began = time.monotonic()
        with pytest.raises(TooManyWait):
            pool.submit(come_late).result(20)
        assert time.monotonic() - began >= 0.2, "a service that is only slow has that time"
        is_over.set()
        for one in waiting:
            one.result(20)
        pool.submit(come_late).result(20)


def test_other_threads_wait_as_many_as_they_are(circuit):
    with hanging(circuit), hanging(circuit), hanging(circuit):
        assert outside.figures()[outside.STORAGE]["waiting"] == 3


def test_the_circuits_of_hosts_that_strangers_name_are_bounded(monkeypatch):
    monkeypatch.setattr(outside, "MAX_CIRCUITS", 3)
    found = [outside.circuit_of(outside.SIGN_ON, f"{number}.example.com", away) for number in range(5)]

    assert len(outside.circuits()) == 3
    assert outside.circuit_of(outside.SIGN_ON, "4.example.com", away) is found[4]


def test_kinds_of_rooms_are_counted_beside_those_of_the_core():
    registry = outside.circuit_of("registry of a room", "registry.example.com", away)
    fail(registry, MAX_FAILURES)

    found = outside.figures()
    assert found["registry of a room"] == {"open": 1, "waiting": 0}
    assert found[outside.STORAGE] == {"open": 0, "waiting": 0}
