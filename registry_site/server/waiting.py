"""Let requests wait for a worker on the event loop, with one query for all requests of a process."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import structlog
from django.db import close_old_connections

from apps.jobs import database_availability
from apps.jobs.waiting import Waiting, with_news

ASK_SECONDS = 0.1

log = structlog.get_logger("larder.asgi")


class WaitingRoom:
    """Queries the database in a thread while requests wait, and wakes those whose row has changed."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="waiting")
        self._waiting: dict[Waiting, asyncio.Event] = {}
        self._asking: asyncio.Task[None] | None = None

    async def wait(self, waiting: Waiting) -> None:
        """Wait for a change of the row, at most until `waiting.until`."""
        news = self._waiting[waiting] = asyncio.Event()
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._ask())
        try:
            async with asyncio.timeout_at(waiting.until):
                await news.wait()
        except TimeoutError:
            pass
        finally:
            del self._waiting[waiting]

    async def _ask(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(ASK_SECONDS)
            for waiting in await loop.run_in_executor(self._thread, _with_news, list(self._waiting)):
                if waiting in self._waiting:
                    self._waiting[waiting].set()


def _with_news(waiting: list[Waiting]) -> list[Waiting]:
    """Like `with_news`, but return none while the database is away."""
    close_old_connections()
    try:
        return with_news(waiting)
    except database_availability.AWAY as error:
        log.warning("database_away", error=type(error).__name__)
        return []
    finally:
        close_old_connections()
