from collections.abc import Callable
from pathlib import Path

import pytest

from apps.lib.archives import sandboxed


@pytest.fixture
def repack(tmp_path: Path) -> Callable[..., bytes]:
    """`repack(data, form, …)` returns the zip."""

    def run(data: bytes, form: sandboxed.Form = "tar.gz", **more) -> bytes:
        path = tmp_path / "source"
        path.write_bytes(data)
        with path.open("rb") as file:
            return b"".join(sandboxed.repack(file, sandboxed.Limits(), form=form, **more))

    return run
