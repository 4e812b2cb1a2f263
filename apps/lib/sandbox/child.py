"""The child process: a fork of the fork server that drops its rights before it reads anything."""

import json
import os
import sys
from importlib import import_module
from typing import Any

from apps.lib.sandbox.frames import OUT_OF_MEMORY, answer
from apps.lib.sandbox.powers import Limits, Powers, confine, die_with_parent

PROGRAMS: dict[str, Any] = {}  # prepared, by their names
_STDIN = 0


def prepare(program: str, site_packages: list[str]) -> Any:
    """The program's module, imported and prepared once; those packages are on the path meanwhile."""
    if program not in PROGRAMS:
        own = list(sys.path)
        sys.path.extend(site_packages)
        try:
            module = import_module(program)
            if hasattr(module, "prepare"):
                module.prepare()
        finally:
            sys.path[:] = own
        PROGRAMS[program] = module
    return PROGRAMS[program]


def main(orders: dict[str, Any], request_descriptor: int) -> None:
    """Runs the program that the orders name, confined, and ends the process."""
    die_with_parent(orders["parent"])
    program = prepare(orders["program"], orders["site_packages"])
    with os.fdopen(request_descriptor, "rb") as file:
        file.seek(0)
        request: dict[str, Any] = json.load(file)
    try:
        limits = Limits(**orders["limits"])
        confine(Powers(limits.seconds + 1, limits.memory_bytes))
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
