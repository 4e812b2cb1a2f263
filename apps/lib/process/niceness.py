"""The niceness of this thread's child processes: bulk work leaves the processors to work that a user waits for."""

from contextvars import ContextVar

IN_BULK = 10
wanted: ContextVar[int] = ContextVar("niceness", default=0)
