"""A process whose database is away, as far as its front knows."""

import time
from typing import Any

from django.db import OperationalError

from tests.site.front.asking import Process

WARNING = (b"warning", b'110 - "Response is Stale"')


def away(process: Process, error: Exception | None = None, *, age: float = 0.0) -> None:
    """It asks twice, and nothing answers. `age`: of its last answer, however slow this machine is."""

    def read(_since: int) -> Any:
        raise error or OperationalError("connection refused")

    process.learn()
    process.front.changes._asked = time.monotonic() - age
    process.front.changes._connection = None
    process.front.changes._read = read  # type: ignore[method-assign,assignment]
    for _ in range(2):
        assert not process.run(process.front.changes.ask())


def stale(process: Process, client: Any, url: str, method: str = "GET", **headers: str) -> bool:
    """Return whether the last answer was repeated. Here Django still answers what is not: its database is there."""
    return WARNING in process.ask(client, url, method, **headers).headers
