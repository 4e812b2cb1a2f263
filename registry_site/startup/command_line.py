"""Run `manage.py` so that an expected failure prints one sentence and no traceback."""

import contextlib
import ctypes
import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from apps.audit import generation
from registry_site import env
from registry_site.startup import bootstrap, schema

# Parameters of mallopt, from <malloc.h>, and their values.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
ARENAS = 2
LARGE_BYTES = 128 * 1024
# Nobody learns of a change by their end.
LONG_RUNNING = (["up"], ["web"], ["worker"], ["beat"])


def run(arguments: list[str]) -> None:
    """Run one command; with `--traceback` errors pass through, as in Django."""
    env.use_settings()
    is_long_running = arguments[1:2] in LONG_RUNNING
    if is_long_running:
        settle_allocator()
    try:
        execute_from_command_line(arguments)
        if not is_long_running:
            generation.wait_out()  # the end of a command tells that its change holds everywhere (D16)
    except (ImproperlyConfigured, DatabaseError, InterfaceError) as error:
        sentence = sentence_for(error)
        if not sentence or "--traceback" in arguments:
            raise
        sys.exit(sentence)
    except OSError as error:
        path = str(error.filename or "")
        if not path.startswith(str(settings.DATA_DIR)) or "--traceback" in arguments:
            raise
        sys.exit(f"The data folder of LARDER_DATA_DIR cannot be used: {path}: {error.strerror}.")


def sentence_for(error: Exception) -> str:
    """Return a sentence for the terminal; empty for a defect of the command."""
    if isinstance(error, ImproperlyConfigured):
        # Django's own sentence would send people to settings.py.
        return bootstrap.NO_KEY_YET if "SECRET_KEY setting" in str(error) else str(error)
    try:
        lacking = schema.lacking()
    except bootstrap.CannotStartError as refusal:
        return str(refusal)
    except (DatabaseError, InterfaceError):
        if str(connection.settings_dict["NAME"]).startswith(f"{settings.DATA_DIR}/") and not settings.DATA_DIR.is_dir():
            return f"The data folder of LARDER_DATA_DIR cannot be used: {settings.DATA_DIR} is not there."
        return f"The database of LARDER_DATABASE_URL cannot be used: {first_line(error)}"
    if lacking:
        return schema.sentence(lacking)
    return first_line(error) if isinstance(error, OperationalError | InterfaceError) else ""


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0]


def settle_allocator() -> None:
    """Give memory that is no longer needed back to the system. Call it before the first thread; forks inherit it.

    By default glibc gives up to eight heaps for each processor to the threads, and none of them what another has
    freed; and with the first large body that is freed it takes those of up to 32 MB from the heaps from then on, where
    a small neighbour keeps them. Elsewhere than on glibc nothing happens.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(AttributeError):  # musl has no mallopt
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_ARENA_MAX, ARENAS)
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_TRIM_THRESHOLD, LARGE_BYTES)
