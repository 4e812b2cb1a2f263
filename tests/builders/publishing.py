"""A checkout with what bin/image reads, and scripts in place of Docker and cosign that write down what they were asked.

Helm packs, lints and renders, and does not push.
"""

import os
import subprocess
from pathlib import Path

from tests.live import CHECKOUT
from tests.programs import HELM

DIGEST = f"sha256:{'a1' * 32}"
CHART_DIGEST = f"sha256:{'c2' * 32}"
REGISTRY = "registry.acme.example:5000/team"
RECORD = """#!/bin/sh
echo "$(basename "$0") $*" >> "$ASKED"
"""
PROGRAMS = {
    # buildx says in a file what it pushed, and writes the bill of materials into a folder.
    "docker": RECORD
    + f"""
while [ $# -gt 0 ]; do case $1 in
    --metadata-file) echo '{{"containerimage.digest": "{DIGEST}", "image.name": "larder"}}' > "$2" ;;
    type=local,dest=*) echo '{{}}' > "${{1#type=local,dest=}}/sbom.json" ;;
    --format) printf '%s\\n' elsewhere.example/larder@{DIGEST} {REGISTRY}/larder@{DIGEST} ;;
esac; shift; done
""",
    "cosign": RECORD
    + """
while [ $# -gt 0 ]; do case $1 in --bundle) echo '{}' > "$2" ;; esac; shift; done
""",
    "helm": RECORD
    + f"""
[ "$1" = push ] || exec {HELM} "$@"
cp "$2" "$(dirname "$ASKED")"
echo "Pushed: ${{3#oci://}}/larder:1" >&2
echo "Digest: {CHART_DIGEST}" >&2
""",
}
CHANGELOG = """# Changelog

## 1.2.0, 2026-11-30

### What operators must do

- Read [the page](docs/deployment.md) and [the protocol](https://opentofu.org/docs).

## 1.1.0, 2026-01-01

- Older.
"""
FILES = (
    "Makefile",
    "bin/image",
    "bin/release_page.py",
    "CHANGELOG.md",
    ".gitignore",
    "registry_site/version.py",
    "registry_site/version.txt",
    ".gitattributes",
    "deploy/helm/larder",
    "deploy/prometheus",
)


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=Alice", "-c", "user.email=alice@acme.example", "-c", "tag.gpgSign=false"]
    words = ("git", "-C", str(folder), *who, *words)
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


class Checkout:
    """A tagged commit with what bin/image reads, as it is here."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked_file = folder / "checkout", folder / "asked"
        for name in FILES:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            # A link stays one, as in a clone.
            command = ["cp", "-R", str(CHECKOUT / name), str(self.folder / name)]
            subprocess.run(command, check=True)
        (self.folder / "CHANGELOG.md").write_text(CHANGELOG)
        git(self.folder, "init", "--quiet", "--initial-branch", "main")
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "--message", "first")
        git(self.folder, "tag", "v1.2.0")
        self.programs = folder / "programs"
        self.programs.mkdir()
        for name, script in PROGRAMS.items():
            (self.programs / name).write_text(script)
            (self.programs / name).chmod(0o755)

    def run(self, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        environment = {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "ASKED": str(self.asked_file),
            "HOME": "/nowhere",
        }
        variables = {"REGISTRY": REGISTRY} | variables
        words = command or ("bin/image", "publish")
        return subprocess.run(
            words, cwd=self.folder, env=environment | variables, capture_output=True, text=True, check=False
        )

    @property
    def asked(self) -> list[str]:
        return self.asked_file.read_text().splitlines() if self.asked_file.exists() else []
