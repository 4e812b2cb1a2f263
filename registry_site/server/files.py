"""Replace small files atomically: after any crash a reader sees the old or the new one."""

import os
import tempfile
from pathlib import Path

from apps.lib.process.durable import settle


def replace(path: Path, content: bytes, *, mode: int) -> None:
    """Write `content` to `path` with `mode`; leave a file with the same content as it is."""
    if path.is_file() and path.read_bytes() == content:
        path.chmod(mode)
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(content)
            file.flush()
            os.fsync(handle)
        Path(name).replace(path)
        settle(path.parent)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
