"""A fresh folder and home in which a real client runs against a live Larder."""

import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.live import Live


@dataclass
class Workspace:
    """One `terraform` (or `tofu`) working folder with a home and a CLI configuration of its own."""

    folder: Path
    program: str
    larder: Live
    host: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.host = self.host or self.larder.host
        home = self.folder / "home"
        home.mkdir(parents=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CHECKPOINT_DISABLE": "1",
            "SSL_CERT_FILE": str(self.larder.ca_bundle),
            "TF_IN_AUTOMATION": "1",
            **self.environment,
        }

    @property
    def work(self) -> Path:
        folder = self.folder / "work"
        folder.mkdir(exist_ok=True)
        return folder

    def credentials(self, token: str) -> None:
        """The token in the CLI configuration, as a person would write it."""
        rc = self.folder / "cli.tfrc"
        rc.write_text(f'credentials "{self.host}" {{\n  token = "{token}"\n}}\n')
        self.environment["TF_CLI_CONFIG_FILE"] = str(rc)

    def netrc(self, password: str) -> None:
        """go-getter compares the machine name with host AND port."""
        path = self.folder / "home" / ".netrc"
        path.write_text(f"machine {self.host} login anybody password {password}\n")

    def module(self, name: str, address: str, version: str = "") -> None:
        constraint = f'  version = "{version}"\n' if version else ""
        text = f'module "{name}" {{\n  source  = "{self.host}/{address}"\n{constraint}}}\n'
        with (self.work / "main.tf").open("a") as main:
            main.write(text)

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.program, *arguments, "-no-color"],
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def init(self) -> "subprocess.CompletedProcess[str]":
        return self.run("init", "-input=false")

    def installed(self) -> dict[str, str]:
        """Module call → version, as the client wrote it down."""
        manifest = json.loads((self.work / ".terraform/modules/modules.json").read_text())
        return {entry["Key"]: entry.get("Version", "") for entry in manifest["Modules"] if entry["Key"]}


def access_lines(larder: Live, since: int = 0) -> list[dict]:
    """The access log from byte `since` on: what the client really asked."""
    said(larder)
    with larder.output.open("rb") as log:
        log.seek(since)
        lines = [json.loads(line) for line in log.read().splitlines() if line.startswith(b'{"')]
    return [
        line for line in lines if line.get("logger") == "larder.access" and line["path"] not in ("/readyz", "/healthz")
    ]


def said(larder: Live) -> int:
    """A mark in the log: give it to `access_lines` to see what came after.

    A thread writes the lines, up to 5 ms after the answer: wait until it has.
    """
    size = -1
    while size != (now := larder.output.stat().st_size):
        size = now
        time.sleep(0.1)
    return size
