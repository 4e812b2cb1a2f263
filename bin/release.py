"""make release VERSION=0.2.0: checks that this commit may become that release, writes number and date, and tags it.

It pushes nothing: the last line says what to push. The tag starts the pipeline that tests, builds, signs and publishes.
"""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"(\d+)\.(\d+)\.(\d+)")
# Each line that names the version: what is before the number, and what is behind it.
PLACES = (
    ("pyproject.toml", r'^(version = ")[^"]+(")$'),
    ("deploy/helm/larder/Chart.yaml", r"^(version: )\S+()$"),
    ("deploy/helm/larder/Chart.yaml", r"^(appVersion: )\S+()$"),
    ("static/api/openapi.json", r'^(  "version": ")[^"]+(",?)$'),
)
CHANGELOG = "CHANGELOG.md"
HEADING = re.compile(r"^## (?P<version>\S+), unreleased$", re.MULTILINE)
DUTIES = "### What operators must do"
TESTS = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/house/test_documents.py", "-k", "version")


class Refused(Exception):
    pass


def git(*words: str) -> str:
    command = ["git", *words]
    return subprocess.run(  # noqa: S603  # words of ours
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def main(version: str) -> None:
    check(version)
    before = git("rev-parse", "HEAD")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        write(version, datetime.now(UTC).date().isoformat())
        tests = [sys.executable, *TESTS]
        if subprocess.run(tests, cwd=ROOT, check=False).returncode:  # noqa: S603  # our own tests
            raise Refused("The tests of the version fail. Nothing was committed or tagged.")
        git("commit", "--all", "--message", _subject(version))
        signed = ["--sign"] if git("config", "--default", "", "--get", "user.signingKey") else ["--annotate"]
        git("tag", *signed, f"v{version}", "--message", f"Larder {version}")
    except BaseException:  # also Ctrl-C, at any step
        if git("tag", "--list", f"v{version}"):
            git("tag", "--delete", f"v{version}")
        git("reset", "--hard", before)
        raise
    print(f"Tagged v{version}. Publish it with: git push --atomic origin main v{version}")


def check(version: str) -> None:
    if not NUMBER.fullmatch(version):
        raise Refused(f"VERSION={version!r} is not a version. Write it as 0.2.0.")
    if changed := git("status", "--porcelain"):
        raise Refused(f"These files differ from the commit. Commit or remove them:\n{changed}")
    if (branch := git("rev-parse", "--abbrev-ref", "HEAD")) != "main":
        raise Refused(f"This is the branch {branch}. Releases are tagged on main.")
    newest = max(map(_number, git("tag", "--list", "v[0-9]*").split()), default=(0, 0, 0))
    if _number(version) <= newest:
        raise Refused(f"{'.'.join(map(str, newest))} is tagged already. Choose a higher version.")
    if git("log", "-1", "--format=%s") == _subject(version):
        raise Refused(
            f"A run that was killed has committed {version} and not tagged it. Undo that: git reset --hard HEAD~1"
        )
    section = _section((ROOT / CHANGELOG).read_text())
    if section is None or section[0] != version:
        raise Refused(f"{CHANGELOG} must begin with the section `## {version}, unreleased`.")
    first, _, rest = section[1].strip().partition("\n")
    if first != DUTIES or not rest.strip() or rest.strip().startswith("#"):
        raise Refused(
            f"The section of {version} must begin with `{DUTIES}` and what they must do, or that there is nothing."
        )


def write(version: str, today: str) -> None:
    _replace(CHANGELOG, HEADING, lambda _: f"## {version}, {today}")
    for name, pattern in PLACES:
        _replace(name, re.compile(pattern, re.MULTILINE), lambda found: f"{found[1]}{version}{found[2]}")


def _replace(name: str, pattern: re.Pattern[str], by: Callable[[re.Match[str]], str]) -> None:
    text, count = pattern.subn(by, (ROOT / name).read_text(), count=1)
    if not count:
        raise Refused(f"{name} has no line that names the version.")
    (ROOT / name).write_text(text)


def _section(changelog: str) -> tuple[str, str] | None:
    """Version and text of the topmost section, if it is unreleased."""
    topmost = re.search(r"^## .*$", changelog, re.MULTILINE)
    found = HEADING.search(changelog)
    if not (found and topmost and found.start() == topmost.start()):
        return None
    return found["version"], changelog[found.end() :].split("\n## ", maxsplit=1)[0]


def _subject(version: str) -> str:
    return f"release: Version {version}"


def _number(text: str) -> tuple[int, ...]:
    found = NUMBER.search(text)
    return tuple(map(int, found.groups())) if found else (0, 0, 0)


if __name__ == "__main__":
    try:
        main(*(sys.argv[1:] or [""]))
    except Refused as refused:
        sys.exit(str(refused))
    except subprocess.CalledProcessError as failed:
        sys.exit(f"`{' '.join(failed.cmd)}` failed: {failed.stderr}")
    except FileNotFoundError as missing:
        sys.exit(f"{missing.filename} is missing. A release needs git, and the packages of requirements-dev.txt.")
    except KeyboardInterrupt:
        sys.exit("Interrupted. Nothing was committed or tagged.")
