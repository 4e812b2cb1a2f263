"""The tests run where nothing is installed: no program on the PATH, and Python by its own path."""

import os
import subprocess
import sys

import pytest

from tests.live import CHECKOUT


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--collect-only"], ["tests/jobs"]], ids=["collection", "a folder"])
def test_without_a_path_nothing_breaks_and_the_first_lines_say_what_is_missing(words, tmp_path):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LARDER_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=CHECKOUT,
        env={**inherited, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "Missing: " in done.stdout or words == ["tests/jobs"]
    assert ("apt-get install" in done.stdout) == ("Missing: " in done.stdout)
