"""How nice this thread's child processes are: those of work in bulk leave the processors to what somebody waits for."""

from contextvars import ContextVar

IN_BULK = 10
wanted: ContextVar[int] = ContextVar("niceness", default=0)
