"""Archives as ordinary tools write them, with links and without, repack to what one would see on a disk."""

import io
import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from apps.lib.archives import sandboxed
from apps.lib.archives.links import Tree
from tests.rows import for_each_row

LIMITS = sandboxed.Limits()
LONG = "modules/" + "n" * 90 + "/" + "m" * 90 + ".tf"
FILES = {
    "main.tf": "locals {}\n",
    "run.sh": "#!/bin/sh\n",
    "shared/run.sh": "#!/bin/sh\n",
    "modules/caf\u00e9/main.tf": "# \u00fc\n" * 999,
    LONG: "# long\n",
    "empty.tf": "",
}
LINKS = {
    "a.tf": "main.tf", "examples/x/main.tf": "../../main.tf", "examples/x/shared": "../../shared", "examples/y": "x",
    "long.tf": LONG, "modules/back.tf": f"../{LONG}", "modules/empty.tf": "../empty.tf",
}  # fmt: skip
SHORT = {name: text for name, text in FILES.items() if len(name) < 99 and name.isascii()}
SHORT_LINKS = {name: target for name, target in LINKS.items() if LONG not in target}
Seen = dict[str, tuple[bytes, int]]


def laid(folder: Path, files: Mapping[str, str], links: Mapping[str, str]) -> Path:
    """A module as it lies on a disk, with links of every honest kind."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
    for name, target in links.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)
    (folder / "empty").mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return laid(tmp_path / "vpc", FILES, LINKS)


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """One without names that old formats cannot have."""
    return laid(tmp_path / "short" / "vpc", SHORT, SHORT_LINKS)


def on_disk(folder: Path) -> Seen:
    """Every file as one would open it: its bytes and its permissions."""
    found = {}
    for above, _, names in os.walk(folder, followlinks=True):
        for name in names:
            path = Path(above, name)
            found[path.relative_to(folder).as_posix()] = (path.read_bytes(), path.stat().st_mode & 0o777)
    return found


def repacked(path: Path) -> Seen:
    """Through the whole way: form, listing, layout, links, zip, and that zip read by the strict rules."""
    with path.open("rb") as file:
        form = sandboxed.form_of(file.read(sandboxed.HEAD_BYTES))
        assert form is not None
        listing = sandboxed.inspect(file, LIMITS, form=form, links=True)
        layout = sandboxed.layout_of(entry.name for entry in listing.entries)
        top, left_out = layout.top_folder, layout.left_out
        view = Tree(listing.entries, LIMITS).below(f"{top}/" if top else "")
        assert view.broken == []
        first, again = (
            b"".join(sandboxed.repack(file, LIMITS, form=form, folder=top, leave_out=left_out, copies=view.copies))
            for _ in range(2)
        )
    assert first == again
    sandboxed.read(io.BytesIO(first), LIMITS)
    with zipfile.ZipFile(io.BytesIO(first)) as zipped:
        return {info.filename: (zipped.read(info), info.external_attr >> 16 & 0o777) for info in zipped.infolist()}


@for_each_row("form", ["gz", "xz"])
@for_each_row("style", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=["gnu", "pax"])
def test_python(folder: Path, style: int, form: str):
    (folder / "hard.tf").unlink(missing_ok=True)
    os.link(folder / LONG, folder / "hard.tf")
    path = folder.parent / f"x.tar.{form}"
    with tarfile.open(path, f"w:{form}", format=style) as tar:  # type: ignore[call-overload] # a mode made of two parts
        tar.add(folder, "vpc-1.2.0")

    assert repacked(path) == on_disk(folder)


@for_each_row("more", [[], ["-h"]], ids=["symbolic links", "tar -h, which makes hard links"])
@for_each_row("style", ["v7", "oldgnu", "gnu", "ustar", "posix"])
@for_each_row("inside", ["vpc", "."])
@pytest.mark.needs("tar")
def test_gnu_tar(folder: Path, short: Path, style: str, inside: str, more: list[str]):
    module = short if style in ("v7", "ustar") else folder
    path = module.parent / "x.tar.gz"
    where = module if inside == "." else module.parent
    subprocess.run(["tar", *more, f"--format={style}", "-czf", path, "-C", where, inside], check=True)

    with tarfile.open(path) as oracle:
        assert any(item.islnk() if more else item.issym() for item in oracle)
    assert repacked(path) == on_disk(module)


@pytest.mark.needs("git")
def test_git_archive(folder: Path):
    shutil.rmtree(folder / "modules" / "caf\u00e9")  # git quotes it where the locale is C
    who = ["-c", "user.name=Alice", "-c", "user.email=alice@example.test"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    paths = [folder.parent / f"x.{form}" for form in ("tar.gz", "zip")]
    for path in paths:
        archive = ["archive", f"--format={path.name[2:]}", "--prefix=vpc-1.2.0/", "-o", str(path), "HEAD"]
        subprocess.run(["git", *archive], cwd=folder, check=True)
    shutil.rmtree(folder / ".git")

    assert [repacked(path) for path in paths] == [on_disk(folder)] * 2


def test_a_working_copy_sheds_what_is_no_part_of_it(folder: Path):
    (folder / ".terraform.lock.hcl").write_text("# locked\n")
    (folder / ".terraform.lock.hcl").chmod(0o644)
    expected = on_disk(folder)
    for name in (".git/HEAD", ".terraform/modules/modules.json", "terraform.tfstate", ".DS_Store", "._main.tf"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    path = folder.parent / "x.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder, ".")

    assert repacked(path) == expected
