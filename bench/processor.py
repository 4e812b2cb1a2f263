"""Processor time of what answers in this process: a busy machine makes every wall time long."""

import time
from pathlib import Path


class Processor:
    """The processor time of this process, and of the database's for this connection if it runs on this machine."""

    def __init__(self) -> None:
        from django.db import connection

        self._other: Path | None = None
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                self._other = Path(f"/proc/{cursor.fetchone()[0]}/schedstat")

    def milliseconds(self) -> float:
        spent = time.process_time() * 1e3
        if self._other and self._other.exists():
            spent += int(self._other.read_text().split()[0]) / 1e6
        return spent
