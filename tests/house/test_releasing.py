"""bin/release.py, which `make release` calls: what it refuses, what it writes, and that it leaves nothing half done."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.publishing import git
from tests.house import sources
from tests.rows import for_each_row

pytestmark = pytest.mark.needs("git")
FILES = ("bin/release.py", "pyproject.toml", "deploy/helm/larder/Chart.yaml", "static/api/openapi.json")
# The tests of the version that it runs: in a clone without the suite, one that compares what it wrote.
COMPARES = """
import re
from pathlib import Path

def test_all_name_the_same_version():
    names = ["pyproject.toml", "deploy/helm/larder/Chart.yaml", "static/api/openapi.json", "CHANGELOG.md"]
    found = re.findall(r"0\\.\\d\\.\\d", Path("CHANGELOG.md").read_text())[0]
    assert all(found in Path(name).read_text() for name in names)
"""
CHANGELOG = """# Changelog

## 0.9.0, unreleased

### What operators must do

- Run `manage.py reinspect`.

### Features

- Faster.

## 0.1.0, 2026-01-01

### What operators must do

- Nothing.
"""


class Checkout:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in FILES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(sources.CHECKOUT / name, folder / name)
        (folder / "tests/house").mkdir(parents=True)
        self.write("pytest.ini", "[pytest]\n")
        self.write("tests/house/test_documents.py", COMPARES)
        self.write("CHANGELOG.md", CHANGELOG)
        self.write(".gitignore", "__pycache__\n")
        git(folder, "init", "--quiet", "--initial-branch", "main")
        for key, value in {"user.name": "Alice", "user.email": "alice@acme.example", "user.signingKey": ""}.items():
            git(folder, "config", key, value)
        self.commit()
        git(folder, "tag", "v0.1.0")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def commit(self) -> None:
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "--message", "change")

    def release(self, version: str = "0.9.0") -> "subprocess.CompletedProcess[str]":
        words = [sys.executable, "bin/release.py", version]
        # Without what this run tells its children: the settings of the suite are not there.
        outer = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "DJANGO_"))}
        return subprocess.run(words, cwd=self.folder, env=outer, capture_output=True, text=True, check=False)

    @property
    def state(self) -> tuple[str, str, str]:
        return tuple(git(self.folder, *words) for words in (["rev-parse", "HEAD"], ["tag"], ["status", "--porcelain"]))  # type: ignore[return-value]  # three


@pytest.fixture
def checkout(tmp_path) -> Checkout:
    return Checkout(tmp_path / "checkout")


def test_a_release_writes_its_number_and_date_and_tags_the_commit(checkout):
    done = checkout.release()

    assert done.returncode == 0, done.stdout + done.stderr
    assert git(checkout.folder, "describe", "--exact-match") == "v0.9.0"  # an annotated tag
    assert git(checkout.folder, "log", "-1", "--format=%s") == "release: Version 0.9.0"
    assert git(checkout.folder, "status", "--porcelain") == ""
    changelog = (checkout.folder / "CHANGELOG.md").read_text()
    assert re.search(r"^## 0\.9\.0, 20\d\d-\d\d-\d\d$", changelog, re.MULTILINE)
    changed = git(checkout.folder, "diff", "--numstat", "HEAD^").splitlines()
    lines = {line.split("\t")[2]: line.split("\t")[:2] for line in changed}
    # Of each file the line that names the version, and of the chart two.
    assert lines == {name: ["1", "1"] for name in (*FILES[1:], "CHANGELOG.md")} | {FILES[2]: ["2", "2"]}
    assert done.stdout.splitlines()[-1].endswith("git push --atomic origin main v0.9.0")


def dirty(checkout):
    checkout.write("unknown.py", "")


def on_a_branch(checkout):
    git(checkout.folder, "checkout", "--quiet", "-b", "work")


def without_section(checkout):
    checkout.write("CHANGELOG.md", CHANGELOG.replace("## 0.9.0, unreleased", "## 0.8.0, unreleased"))
    checkout.commit()


def section_that_is_not_the_first(checkout):
    checkout.write("CHANGELOG.md", CHANGELOG.replace("# Changelog\n", "# Changelog\n\n## 1.0.0, 2026-01-02\n"))
    checkout.commit()


def without_duties(checkout):
    checkout.write("CHANGELOG.md", CHANGELOG.replace("### What operators must do\n\n- Run", "### Features\n\n- Run"))
    checkout.commit()


def with_empty_duties(checkout):
    checkout.write("CHANGELOG.md", CHANGELOG.replace("- Run `manage.py reinspect`.\n\n", ""))
    checkout.commit()


def tagged_already(checkout):
    git(checkout.folder, "tag", "v0.10.0")


def with_a_failing_test(checkout):
    checkout.write("tests/house/test_documents.py", "def test_version():\n    assert False\n")
    checkout.commit()


def without_a_line_for_the_version(checkout):
    checkout.write("static/api/openapi.json", "{}\n")
    checkout.commit()


def without_the_key_that_signs(checkout):
    git(checkout.folder, "config", "user.signingKey", "0000000000000000")


def killed_before_the_tag(checkout):
    git(checkout.folder, "commit", "--quiet", "--allow-empty", "--message", "release: Version 0.9.0")


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (dirty, "unknown.py"),
        (on_a_branch, "tagged on main"),
        (without_section, "must begin with the section `## 0.9.0, unreleased`"),
        (section_that_is_not_the_first, "must begin with the section"),
        (without_duties, "must begin with `### What operators must do`"),
        (with_empty_duties, "must begin with `### What operators must do`"),
        (tagged_already, "0.10.0 is tagged already"),
        (with_a_failing_test, "tests of the version fail"),
        (without_a_line_for_the_version, "openapi.json has no line"),
        (without_the_key_that_signs, "git tag --sign"),
        (killed_before_the_tag, "git reset --hard HEAD~1"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_is_not_ready_is_refused_and_nothing_changes(checkout, prepare, words):
    prepare(checkout)
    before = checkout.state

    done = checkout.release()

    assert done.returncode == 1
    assert words in done.stderr
    assert checkout.state == before


def test_a_run_that_is_interrupted_leaves_nothing(checkout):
    """As Ctrl-C or a pipeline does it, while the tests run: after all files were written."""
    interrupts = "def test_version():\n    os.kill(os.getppid(), signal.SIGTERM)\n    time.sleep(60)\n"
    checkout.write("tests/house/test_documents.py", f"import os, signal, time\n\n{interrupts}")
    checkout.commit()
    before = checkout.state

    done = checkout.release()

    assert (done.returncode, done.stderr.strip()) == (1, "Interrupted. Nothing was committed or tagged.")
    assert checkout.state == before


@for_each_row("version", ["", "v0.9.0", "0.9", "0.9.0-rc1"])
def test_a_version_is_three_numbers(checkout, version):
    done = checkout.release(version)
    assert (done.returncode, "is not a version" in done.stderr) == (1, True)


def test_make_passes_the_version_on():
    words = ["make", "--dry-run", "release", "VERSION=0.9.0"]
    done = subprocess.run(words, cwd=sources.CHECKOUT, capture_output=True, text=True, check=True)
    assert 'bin/release.py "0.9.0"' in done.stdout


def test_the_real_section_is_ready_but_for_its_date():
    """What `make release` will ask of CHANGELOG.md."""
    text = (sources.CHECKOUT / "CHANGELOG.md").read_text()
    first = text[text.index("\n## ") :].split("\n## ")[1]
    assert first.split("\n\n")[1] == "### What operators must do"
