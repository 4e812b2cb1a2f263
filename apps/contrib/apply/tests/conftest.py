import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command


@pytest.fixture
def apply(tmp_path: Path, alice: Any, bob: Any, charlie: Any) -> Any:
    """`apply(text)`: the lines that the command prints."""

    def run(text: str, **options: Any) -> list[str]:
        file, out = tmp_path / "larder.yaml", io.StringIO()
        file.write_text(text)
        call_command("apply", str(file), stdout=out, **options)
        return out.getvalue().splitlines()

    return run
