"""A check whose program is `programs`."""

import tempfile
from typing import Any

import pytest

from apps.lib.sandbox import parent as confined

PROGRAM = "tests.lib.sandbox.programs"


@pytest.fixture
def run():
    def run(do: str, limits: confined.Limits | None = None, **request: Any) -> dict[str, Any]:
        with tempfile.TemporaryFile() as file:
            file.write(b"the input")
            return confined.run(program=PROGRAM, request={"do": do, **request}, stdin=file, limits=limits)

    return run
