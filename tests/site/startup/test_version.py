"""The version of this Larder: `git describe` in a checkout, and what was written down where there is no `.git`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django import conf

from registry_site import version
from registry_site.monitoring import page
from registry_site.server import probes
from tests.builders.publishing import git
from tests.live import CHECKOUT

pytestmark = pytest.mark.needs("git")
NAMES = ("registry_site/version.py", version.FILE, ".gitattributes")
NUMBER = "0.9.0"  # of pyproject.toml


def commit(folder: Path, name: str) -> str:
    (folder / "apps" / name).write_text(name)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", name)
    return git(folder, "rev-parse", "--short", "HEAD")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with the files that decide, as they are here."""
    folder = tmp_path / "checkout"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, folder / name)
    (folder / "apps").mkdir()
    (folder / "pyproject.toml").write_text(f'[project]\nname = "larder"\nversion = "{NUMBER}"\n')
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder, "first.py")
    return folder


def printed(folder: Path, *words: str) -> str:
    """Return the output like bin/image and the Dockerfile, in a copy."""
    command = [sys.executable, str(folder / "registry_site" / "version.py"), *words]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=True).stdout.strip()


def archive(checkout: Path, folder: Path) -> Path:
    folder.mkdir()
    packed = subprocess.run(["git", "-C", checkout, "archive", "HEAD"], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
    return folder


def test_a_tag_is_the_version_and_each_commit_after_it_has_its_own(checkout: Path) -> None:
    assert printed(checkout) == f"{NUMBER}-g{git(checkout, 'rev-parse', '--short', 'HEAD')}", "before the first tag"
    git(checkout, "tag", "v1.2.0")
    assert printed(checkout) == "1.2.0"

    git(checkout, "tag", "not-a-version")
    first, second = (commit(checkout, name) and printed(checkout) for name in ("second.py", "third.py"))
    assert first.startswith("1.2.0-1-g")
    assert second == f"1.2.0-2-g{git(checkout, 'rev-parse', '--short', 'HEAD')}"

    git(checkout, "tag", "--annotate", "v1.3.0", "--message", "Larder 1.3.0")
    assert printed(checkout) == "1.3.0"
    (checkout / "apps" / "first.py").write_text("changed")
    assert printed(checkout) == "1.3.0-dirty"


def test_an_archive_of_a_commit_knows_its_version_without_git(checkout: Path, tmp_path: Path) -> None:
    commit_hash = git(checkout, "rev-parse", "--short", "HEAD")
    assert printed(archive(checkout, tmp_path / "untagged")) == f"{NUMBER}-g{commit_hash}"

    git(checkout, "tag", "v1.2.0")
    assert printed(archive(checkout, tmp_path / "tagged")) == "1.2.0"


def test_a_build_writes_down_what_its_caller_found(checkout: Path) -> None:
    """The image's build has no .git."""
    shutil.rmtree(checkout / ".git")
    printed(checkout, "--write", "1.2.0-3-g1a2b3c4")

    assert printed(checkout) == "1.2.0-3-g1a2b3c4"


def test_a_copy_that_knows_nothing_is_named_by_its_files(checkout: Path) -> None:
    """`docker build .` by hand: old and new differ all the same."""
    shutil.rmtree(checkout / ".git")
    before = printed(checkout)
    printed(checkout, "--write", "")
    assert printed(checkout) == before

    shutil.copy2(CHECKOUT / version.FILE, checkout / version.FILE)
    (checkout / "apps" / "first.py").write_text("changed")
    assert printed(checkout) != before
    assert before.startswith(f"{NUMBER}-files-")


def test_a_repository_around_a_copy_is_not_asked(checkout: Path) -> None:
    git(checkout, "tag", "v1.2.0")
    copy = checkout / "opt" / "larder"
    shutil.copytree(checkout / "registry_site", copy / "registry_site")

    assert printed(copy).startswith("0.0.0-files-")  # and without a file that names its number


def test_a_checkout_without_the_program_git_has_a_version(checkout: Path) -> None:
    command = [sys.executable, str(checkout / "registry_site" / "version.py")]
    done = subprocess.run(command, env={"PATH": "/nowhere"}, capture_output=True, text=True, check=True)

    assert done.stdout.startswith(f"{NUMBER}-files-")


@pytest.mark.needs("repository")
def test_this_process_has_the_version_of_its_checkout() -> None:
    """Asked of git in other words than the module's."""
    commit_hash = git(CHECKOUT, "rev-parse", "--short", "HEAD")
    assert commit_hash in conf.settings.VERSION or git(CHECKOUT, "tag", "--points-at", "HEAD")


def test_old_and_new_web_servers_differ_during_a_rollout(db, browser_of, bob, settings, monkeypatch) -> None:
    """On /status and in larder_build_info."""
    monkeypatch.setattr(probes.checks, "states", lambda: dict.fromkeys(probes.PARTS, "ok"))
    for name in ("1.2.0", "1.2.0-3-g1a2b3c4"):
        settings.VERSION = name
        document = browser_of(bob).get("/status", headers={"Accept": "application/json"}).json()
        assert document["versions"]["larder"] == name
        assert f'version="{name}"' in page.document().decode()
