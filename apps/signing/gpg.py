"""gpg through python-gnupg, which only this module imports. Each use has its own home and a time limit."""

import os
import shutil
import threading
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import gnupg

from apps.lib.errors import Unavailable
from apps.signing import gnupg_home

# An RSA-4096 key takes a second on a fast machine, a signature some hundredths.
KEY_GENERATION_SECONDS = 120.0
TIMEOUT_SECONDS = 20.0

OPTIONS = [
    "--no-options",
    "--trust-model",
    "always",
    "--no-auto-check-trustdb",
    "--no-auto-key-locate",
    "--no-auto-key-retrieve",
    "--disable-dirmngr",
    "--digest-algo",
    "SHA512",
]


class Gpg(gnupg.GPG):  # type: ignore[misc]  # the library has no types
    """Kills gpg after a time limit: python-gnupg waits for ever, and a crafted key must not block a worker.

    Every call raises gnupg_home.HomesFull where gpg has no room.
    """

    def __init__(
        self, home: Path, *, private: bool = False, seconds: float = TIMEOUT_SECONDS, options: Sequence[str] = ()
    ) -> None:
        self.seconds = seconds
        more = options if private else [*options, "--no-autostart"]
        super().__init__(
            gpgbinary=program("gpg"), gnupghome=str(home), options=[*OPTIONS, *more], env=environment(home)
        )

    def _open_subprocess(self, args: list[str], passphrase: bool = False) -> Any:  # noqa: FBT001, FBT002  # its face
        process = super()._open_subprocess(args, passphrase)
        self.limit = threading.Timer(self.seconds, process.kill)
        self.limit.daemon = True
        self.limit.start()
        return process

    def _collect_output(self, process: Any, result: Any, *arguments: Any, **more: Any) -> Any:
        try:
            status = super()._collect_output(process, result, *arguments, **more)
        finally:
            self.limit.cancel()
        gnupg_home.require_room(result.stderr)
        return status

    def verify_messages(self, files: Sequence[Path]) -> list[Any]:
        """Return the library's result for each signed message, up to the first whose signature is not good.

        One process for all: a start of gpg takes some hundred times as long as a verification.
        """
        good = _Messages(self)
        self._handle_io(["--verify-files", *map(str, files)], BytesIO(), good, binary=True)
        return good.results


class _Messages(gnupg.StatusHandler):  # type: ignore[misc]  # the library has no types
    """Has the library interpret the lines about each message. gpg ends at the first whose signature is not good."""

    def __init__(self, gpg: Gpg) -> None:
        super().__init__(gpg)
        self.results: list[Any] = []
        self._current: Any = None

    def handle_status(self, key: str, value: str) -> None:
        if key == "FILE_START":
            self._current = self.gpg.result_map["verify"](self.gpg)
        elif self._current is None:
            return
        elif key == "FILE_DONE":
            self._current.returncode = 0
            self.results.append(self._current)
            self._current = None
        else:
            self._current.handle_status(key, value)


def program(name: str) -> str:
    """Return the path of one of GnuPG's programs. Raises Unavailable."""
    path = shutil.which(name)
    if path is None:
        raise Unavailable(f"GnuPG is not installed: no program {name} on the PATH.", hint="Install gnupg.")
    return path


def environment(home: Path) -> dict[str, str]:
    """Return a minimal environment: that of a worker names files with keys."""
    return {"PATH": os.defpath, "HOME": str(home), "GNUPGHOME": str(home), "LC_ALL": "C.UTF-8"}
