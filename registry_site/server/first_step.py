"""The event loop of a web process: it runs the first step of a request in the thread that hands the request over.

granian (2.8.7) passes each request from its own thread to one Python thread, which passes it on to the loop's thread.
The second handing over costs more than a ready answer: a write to a pipe, a turn of the loop, the GIL. So a request
begins in the Python thread, and goes to the loop only if it awaits `on_the_loop`.
"""

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from granian import loops

# Called on the loop when it begins.
at_start: list[Callable[[], object]] = []


@types.coroutine
def on_the_loop() -> Generator[None, None, None]:
    """Go on in the loop's thread. Under any other loop this is a turn of it."""
    yield


class AtOnce:
    """A callback of a future of granian's that runs in granian's thread. It must be short and wait for nothing."""

    def __init__(self, work: Callable[[Any], None]) -> None:
        self._work = work

    def __call__(self, done: Any) -> None:
        self._work(done)


class FirstStepLoop(asyncio.SelectorEventLoop):
    def call_soon_threadsafe(  # type: ignore[override]  # granian needs no handle of a request
        self, callback: Callable[..., Any], *arguments: Any, context: Any = None
    ) -> asyncio.Handle | None:
        if type(callback) is AtOnce:
            callback(*arguments)
            return None
        # Nobody but granian passes a coroutine here: that of a request, with the callback that runs what is left of it.
        if arguments and isinstance(arguments[0], types.CoroutineType):
            # Run the first step. If it was the last, nothing is left for the loop.
            request: Coroutine[None, None, None] = arguments[0]
            try:
                if request.send(None) is not None:
                    # granian answers 500 and logs it.
                    request.throw(
                        RuntimeError("A request waited before it was on the loop. Await on_the_loop() first.")
                    )
            except StopIteration:
                return None
        return super().call_soon_threadsafe(callback, *arguments, context=context)


def register() -> None:
    """Make it the loop of granian's workers. One that is no fork of this process has asyncio's own, and is slower."""

    @loops.register("auto")
    def _build() -> asyncio.AbstractEventLoop:
        loop = FirstStepLoop()
        asyncio.set_event_loop(loop)
        # Later than now: the application is not there yet.
        loop.call_soon(lambda: [work() for work in at_start])
        return loop
