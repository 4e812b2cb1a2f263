"""The version of this Larder: `git describe`, so that old and new are told apart during a rollout.

A checkout asks git. A copy without `.git` reads version.txt, which `git archive` fills in and the image's build
overwrites (`--write`). A copy with neither is named by its own files. `python registry_site/version.py` prints it.
Where no tag says more, the number is that of pyproject.toml, and what follows tells commits apart.
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = "registry_site/version.txt"
SOURCES = ("apps", "registry_site", "templates", "static")
DESCRIBE = ("describe", "--tags", "--match", "v[0-9]*", "--always", "--dirty")


def current(root: Path = ROOT) -> str:
    return _written(root) or _described(root) or _of_files(root)


def write(given: str, root: Path = ROOT) -> None:
    """For a build, which has no `.git`: what its caller found, or what the files say."""
    (root / FILE).write_text(f"{given.strip() or current(root)}\n")


def _written(root: Path) -> str:
    """`git archive` leaves `v0.1.0 1a2b3c4`, or ` 1a2b3c4` before the first tag; a checkout has the marks."""
    text = (root / FILE).read_text()
    if "$" in text or "%" in text:
        return ""
    return _named(text.split()[0], root)


def _described(root: Path) -> str:
    if not (root / ".git").exists():  # a repository around a copy is another one
        return ""
    # Whoever may run this code may read its history: on a host the checkout is root's.
    words = ["git", "-c", "safe.directory=*", "--no-optional-locks", "-C", str(root), *DESCRIBE]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return _named(done.stdout.strip(), root)


def _named(described: str, root: Path) -> str:
    """Return the version as SemVer writes it: v0.1.0-3-g1a2b3c4 without its v, and a commit before the first tag as
    0.1.0-g1a2b3c4.
    """
    if described[:1].isdigit() and "." in described:
        return described
    return described[1:] if described.startswith("v") else f"{_number(root)}-g{described}"


def _number(root: Path) -> str:
    """The version that pyproject.toml names: the last release, or the first before there is one."""
    try:
        found = re.search(r'^version = "([^"]+)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else "0.0.0"


def _of_files(root: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for name in SOURCES for path in (root / name).rglob("*") if path.is_file()):
        if "__pycache__" not in path.parts:
            found.update(f"{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return f"{_number(root)}-files-{found.hexdigest()[:12]}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(" ".join(sys.argv[2:]))
    else:
        sys.stdout.write(f"{current()}\n")
