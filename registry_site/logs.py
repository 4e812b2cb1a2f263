"""Structured logs: one line an event, with the request id that follows into the task, and no secret in it.

Whatever goes to stderr passes the formatter of the one handler, which hides secrets in what is about to be written.
"""

import logging
import logging.config
import sys
import threading
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any, TextIO, cast

import structlog

from apps.lib.text import redaction


def redact_values(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Redact every value as it will be rendered: objects become their repr here."""
    return cast("MutableMapping[str, Any]", redaction.redact_all(dict(event)))


def redact_line(_logger: Any, _method: str, line: Any) -> str:
    """Redact the complete line, keys included."""
    return redaction.redact_shapes(line)


class StderrHandler(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's name
        """Print no arguments of the call, which logging's own handler would print unredacted."""
        kind = getattr(sys.exc_info()[0], "__name__", "")
        sys.stderr.write(f"larder: {kind} in a log call at {record.pathname}:{record.lineno}; its line is lost\n")


def log_crashes() -> None:
    """Log what ends a process or a thread; the interpreter would print it unredacted."""
    log = structlog.get_logger("larder.site")

    def in_process(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, traceback)
        else:
            log.critical("crashed", exc_info=(kind, error, traceback))

    def in_thread(crash: threading.ExceptHookArgs) -> None:
        name = crash.thread.name if crash.thread else ""
        log.critical("thread_crashed", thread=name, exc_info=(crash.exc_type, crash.exc_value, crash.exc_traceback))

    sys.excepthook = in_process
    threading.excepthook = in_thread


_SHARED: list[structlog.types.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def shorten(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Shorten an event for a terminal: only the time of day, and no empty values."""
    event["timestamp"] = str(event["timestamp"])[11:19]
    return {key: value for key, value in event.items() if value != ""}


def formatter(*, as_json: bool) -> structlog.stdlib.ProcessorFormatter:
    renderers: list[structlog.types.Processor] = (
        [structlog.processors.JSONRenderer()]
        if as_json
        else [shorten, structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0, pad_level=False)]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            redact_values,
            *renderers,
            redact_line,
        ],
    )


def configure(*, level: str, as_json: bool) -> None:
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"structured": {"()": formatter, "as_json": as_json}},
            "handlers": {"stderr": {"()": StderrHandler, "formatter": "structured"}},
            "root": {"handlers": ["stderr"], "level": level},
            # Access lines (server/middleware.py) and those of defects (error_log.py) replace the servers' and Django's.
            "loggers": {
                "django.server": {"level": "WARNING"},
                "django.request": {"level": "CRITICAL"},
                # At DEBUG it writes all that a template was given, up to a megabyte, wherever that lacks a variable.
                "django.template": {"level": "INFO"},
                "celery.worker.strategy": {"level": "WARNING"},
                "celery.app.trace": {"level": "WARNING"},
                "celery.beat": {"level": "WARNING"},
                "botocore": {"level": "WARNING"},
                "kombu.connection": {"level": "ERROR"},  # it warns that a folder has no host name
                "markdown_it": {"level": "WARNING"},
            },
        }
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
