"""The child process: it starts with few rights and drops the rest before it reads its input.

Started by `apps.lib.sandbox.parent` as `python -I -S -c … <orders>`, the input as its standard input.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any

from apps.lib.sandbox.frames import OUT_OF_MEMORY, answer
from apps.lib.sandbox.powers import Limits, confine, die_with_parent

_STDIN = 0


def main(orders: dict[str, Any]) -> None:
    """Runs the program that the orders name, confined, and ends the process."""
    die_with_parent(orders["parent"])
    sys.path.extend(orders["site_packages"])
    program = import_module(orders["program"])
    if hasattr(program, "prepare"):
        program.prepare()
    with os.fdopen(orders["request"], "rb") as file:
        file.seek(0)
        request: dict[str, Any] = json.load(file)
    try:
        confine(Limits(**orders["limits"]))
        answer(_outcome(program.main, request))
    except MemoryError:
        # No document: the traceback still refers to what filled the memory, so there is no room to write one.
        os._exit(OUT_OF_MEMORY)
    # Nothing is left to flush, and tearing an interpreter down costs milliseconds.
    os._exit(0)


def _outcome(program: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"document": program(request, _STDIN)}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - programs handle their input's faults; any other exception is reported
        return {"broken": f"{type(error).__name__}: {error}"}
