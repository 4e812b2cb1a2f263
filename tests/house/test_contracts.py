import subprocess
import sys
from pathlib import Path

from tests.house import sources


def test_imports_point_down():
    """The contracts stand in pyproject.toml; docs/ARCHITECTURE.md shows them as a picture."""
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([linter, "--no-cache"], cwd=sources.CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
