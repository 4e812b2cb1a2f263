"""Programs of a Larder of which nothing is set but what a test sets."""

import os
import subprocess
import sys
from pathlib import Path

from tests.live import CHECKOUT


def _run(words: list[str], variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LARDER_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, *words],
        cwd=CHECKOUT,
        env=inherited | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def manage(folder: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """A command, with the data folder in this one."""
    return _run(["manage.py", *arguments], {"LARDER_DATA_DIR": str(folder / "data")} | variables)


def run_python(code: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """A program with the real settings."""
    return _run(["-c", code], {"DJANGO_SETTINGS_MODULE": "registry_site.settings"} | variables)
