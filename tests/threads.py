"""Calls that begin at once, each in a thread with a connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

from apps.lib.errors import RegistryError


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """The result of each, or the error that it raised."""
    ready = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        ready.wait()
        try:
            return call()
        except RegistryError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
