"""Applies a file, or says what it would change."""

from collections.abc import Iterator
from pathlib import Path

import structlog
from django.conf import settings

from apps.contrib.apply import document
from apps.contrib.apply.calls import Calls, operator
from apps.contrib.apply.planning import Run, Step

log = structlog.get_logger("larder.apply")


def steps(path: Path, *, acts: bool) -> Iterator[Step]:
    """Read the whole file first, then yield each difference; with `acts` it is made true by then. Raises Invalid."""
    text = document.text_of(path, most=document.LONGEST)
    if acts:
        _ = settings.SECRET_KEY  # which webhooks and credentials need: else the first of these fails
    read = document.read(text, settings.APPLY.variable)
    yield from Run(Calls(operator()), acts=acts).steps(read)


def at_start() -> None:
    """Apply LARDER_APPLY_FILE. Raises Invalid: a registry that is not as described does not start."""
    if settings.APPLY.file:
        for step in steps(Path(settings.APPLY.file), acts=True):
            log.info("applied", change=str(step))
