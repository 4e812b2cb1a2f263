"""Structured logs: one line an event, with the request id that follows into the task, and no secret in it."""

import logging
import logging.config
import re
from collections.abc import MutableMapping
from typing import Any

import structlog

# A capability or an upload ticket in a path is a permission: whoever reads the log must not get it (D6).
_PATHS_WITH_SECRETS = re.compile(r"(/archives/)[0-9a-z]+\.[\w-]+(?=/)|(/uploads/|/invitations/)[\w-]{16,}")
_TOKENS = re.compile(r"lrd_[a-z]_[0-9A-Za-z]{8,}")
_SECRET_KEYS = frozenset({"authorization", "cookie", "password", "token", "secret", "ticket", "http_authorization"})
HIDDEN = "[hidden]"


def redact_text(text: str) -> str:
    text = _PATHS_WITH_SECRETS.sub(lambda found: f"{found[1] or found[2]}{HIDDEN}", text)
    return _TOKENS.sub(HIDDEN, text)


def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Hide secrets by key, and capability paths and tokens wherever they stand in a text (tracebacks too)."""
    for key, value in event.items():
        if key.lower() in _SECRET_KEYS:
            event[key] = HIDDEN
        elif isinstance(value, str):
            event[key] = redact_text(value)
    return event


def configure(*, level: str, as_json: bool) -> None:
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    )
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": shared,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            redact,
            renderer,
        ],
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"structured": formatter},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
            "root": {"handlers": ["stderr"], "level": level},
            # Our own access line (middleware.py) and that of a defect (defects.py) replace the servers' and Django's.
            "loggers": {
                "django.server": {"level": "WARNING"},
                "django.request": {"level": "CRITICAL"},
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
            *shared,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
