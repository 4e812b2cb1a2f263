"""Start this interpreter as a process that has nothing of this one: no variable, file, folder or package."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[3]
# -I: no variable and no folder of the caller is used; -S: no site-packages. So the root is put on its path.
_START = (
    "import json, sys; from importlib import import_module; orders = json.loads(sys.argv[1]); "
    "sys.path.insert(0, orders['root']); import_module(orders['program']).main(orders)"
)


def started(
    program: str,
    orders: Mapping[str, Any],
    *,
    environment: Mapping[str, str],
    folder: str,
    files: int,
    inherited: Sequence[int] = (),
) -> "subprocess.Popen[bytes]":
    """Run `main` of a module with the orders, which other users of the host can see, and `parent`, this process's id.

    `files`: `subprocess.PIPE` or `DEVNULL`, for each of its standard files. `inherited`: its other descriptors. Raises
    OSError.
    """
    given = {**orders, "root": str(_ROOT), "program": program, "parent": os.getpid()}
    return subprocess.Popen(  # noqa: S603  # our own interpreter and code
        [sys.executable, "-I", "-S", "-c", _START, json.dumps(given)],
        stdin=files,
        stdout=files,
        stderr=files,
        env=dict(environment),  # this process's holds keys
        cwd=folder,
        close_fds=True,
        pass_fds=inherited,
        # It is killed with all that it starts. Ctrl-C at a terminal ends the worker, which may finish this work first.
        process_group=0,
    )
