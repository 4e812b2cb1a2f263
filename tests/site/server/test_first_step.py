"""Requests begin in granian's thread; those that await `on_the_loop` go on in the loop's."""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from granian import loops
from granian._futures import _cbsched_aioschedule, _cbsched_schedule, _future_watcher_wrapper

from registry_site.server import first_step
from registry_site.server.first_step import FirstStepLoop, on_the_loop

WAIT = 10


@dataclass
class Request:
    """granian's watcher of one request."""

    scope: object = None
    proto: object = None
    error: BaseException | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def done(self) -> None:
        self.ended.set()

    def err(self, error: BaseException) -> None:
        self.error = error
        self.ended.set()

    def taskref(self, task: Any) -> None:
        pass


@pytest.fixture
def loop() -> Iterator[FirstStepLoop]:
    one = FirstStepLoop()
    thread = threading.Thread(target=one.run_forever, daemon=True)
    thread.start()
    yield one
    one.call_soon_threadsafe(one.stop)
    thread.join(WAIT)
    one.close()


def _run(coroutine: Any) -> None:
    """granian's other way runs a coroutine in Rust."""
    asyncio.get_running_loop().create_task(coroutine)


@pytest.fixture(params=["asyncio", "rust"])
def ask(request: Any, loop: FirstStepLoop) -> Callable[..., Request]:
    """Hand a request to an application as granian does (2.8.7), in either of its ways."""

    def ask(application: Callable[[], Awaitable[None]]) -> Request:
        async def asgi(_scope: Any, _proto: Any) -> None:
            await application()

        context, callback, asked = contextvars.copy_context(), _future_watcher_wrapper(asgi), Request()
        if request.param == "asyncio":
            schedule = _cbsched_aioschedule(loop, context, callback)
        else:
            schedule = _cbsched_schedule(loop, context, _run, callback)
        schedule(asked)
        return asked

    return ask


def test_a_request_that_waits_for_nothing_ends_in_the_thread_that_hands_it_over(ask):
    threads = []

    async def application() -> None:
        threads.append(threading.current_thread())

    assert ask(application).ended.is_set()
    assert threads == [threading.current_thread()]


def test_a_request_goes_on_in_the_thread_of_the_loop(ask, loop):
    found = []

    async def application() -> None:
        await on_the_loop()
        await asyncio.sleep(0)
        found.append(asyncio.get_running_loop())

    asked = ask(application)
    assert asked.ended.wait(WAIT)
    assert (found, asked.error) == ([loop], None)


def test_a_request_that_waits_before_it_is_on_the_loop_fails(ask, loop):
    async def application() -> None:
        await loop.create_future()

    asked = ask(application)
    assert asked.ended.wait(WAIT)
    assert "on_the_loop" in str(asked.error)


def test_other_loops_take_a_turn():
    async def application() -> str:
        await on_the_loop()
        return "on"

    assert asyncio.run(application()) == "on"


def test_it_is_the_loop_of_granians_workers():
    usual = loops._data["auto"]
    try:
        first_step.register()
        built = loops.get("auto")
        assert isinstance(built, FirstStepLoop)
        built.close()
    finally:
        loops._data["auto"] = usual
        asyncio.set_event_loop(None)
