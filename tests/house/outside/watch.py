"""While a request is answered: what of the outside its thread used without one of the functions in outside.toml."""

import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tests import rooms

DOORS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("outside.toml").read_text())
for table in rooms.tables("outside"):
    DOORS |= table


@contextmanager
def escapes() -> Iterator[list[str]]:
    """The list grows by a line for each: what was called, and the functions of Larder that led there."""
    thread, found = threading.get_ident(), []

    def watched(name: str, real: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            if threading.get_ident() == thread:
                way = _of_larder()
                if not any(f"{module}.{function}" in DOORS for module, function in way):
                    found.append(f"{name} < {' < '.join(f'{module}.{function}' for module, function in way)}")
            return real(*given, **named)

        return call

    with (
        mock.patch.object(socket.socket, "connect", watched("connect", socket.socket.connect)),
        mock.patch.object(subprocess.Popen, "__init__", watched("Popen", subprocess.Popen.__init__)),
        mock.patch.object(time, "sleep", watched("sleep", time.sleep)),
    ):
        yield found


def _of_larder() -> list[tuple[str, str]]:
    frame: Any = sys._getframe(2)
    way = []
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(("apps.", "registry_site.")):
            way.append((module, frame.f_code.co_qualname))
        frame = frame.f_back
    return way
