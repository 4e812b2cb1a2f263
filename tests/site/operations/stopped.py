"""A Larder that is not running: only its commands."""

import json
import subprocess
import sys
from functools import cached_property
from pathlib import Path

from tests.live import CHECKOUT, environment_of

PORT = 1  # nobody listens: these Larders never serve


class Stopped:
    """Its commands run in forks of a loaded process once it has a secret key."""

    def __init__(self, folder: Path, secret_key: str = "", **variables: str) -> None:
        self.data_dir = folder
        self.environment = environment_of(folder, PORT, LARDER_LOG_LEVEL="ERROR", **variables)
        if secret_key:
            folder.mkdir(mode=0o700)
            (folder / "secret_key").write_text(secret_key)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit status, output, errors."""
        if (self.data_dir / "secret_key").exists():
            commands = self.commands
            assert commands.stdin is not None
            assert commands.stdout is not None
            print(json.dumps(arguments), file=commands.stdin, flush=True)
            status, output, errors = json.loads(commands.stdout.readline())
            return status, output, errors
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=CHECKOUT, env=self.environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def manage(self, *arguments: str) -> str:
        status, output, errors = self.run(*arguments)
        assert status == 0, output + errors
        return output

    def end(self) -> None:
        if "commands" in vars(self):
            self.commands.communicate()

    @cached_property
    def commands(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "tests.forks"],
            cwd=CHECKOUT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
