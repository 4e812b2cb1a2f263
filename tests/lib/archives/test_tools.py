"""Archives as ordinary tools write them are taken, whatever the format, and repack to what was packed."""

import io
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from apps.lib.archives import sandboxed
from tests.rows import for_each_row

FILES = {
    "main.tf": "locals {}\n",
    "run.sh": "#!/bin/sh\n",
    "modules/caf\u00e9/main.tf": "# \u00fc\n" * 999,
    "modules/" + "n" * 90 + "/" + "m" * 90 + ".tf": "# long\n",
    "empty.tf": "",
}
SHORT = {name: text for name, text in FILES.items() if len(name) < 99 and name.isascii()}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A folder with files as they lie on a disk."""
    folder = tmp_path / "vpc"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "run.sh").chmod(0o755)
    (folder / "empty").mkdir()
    return folder


def repacked(path: Path) -> dict[str, tuple[str, int]]:
    """Through the whole way: form, listing, layout, zip. Name -> text and permissions."""
    with path.open("rb") as file:
        form = sandboxed.form_of(file.read(sandboxed.HEAD_BYTES))
        assert form is not None
        listing = sandboxed.inspect(file, sandboxed.Limits(), form=form)
        layout = sandboxed.layout_of(entry.name for entry in listing.entries)
        pieces = sandboxed.repack(
            file, sandboxed.Limits(), form=form, folder=layout.top_folder, leave_out=layout.left_out
        )
        data = b"".join(pieces)
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        return {
            info.filename: (zipped.read(info).decode(), info.external_attr >> 16 & 0o777) for info in zipped.infolist()
        }


def expected(files: dict[str, str]) -> dict[str, tuple[str, int]]:
    return {name: (text, 0o755 if name == "run.sh" else 0o644) for name, text in files.items()}


@for_each_row("form", ["gz", "xz"])
@for_each_row("style", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=["gnu", "pax"])
def test_python(module: Path, style: int, form: str):
    path = module.parent / f"x.tar.{form}"
    with tarfile.open(path, f"w:{form}", format=style) as tar:  # type: ignore[call-overload] # a mode made of two parts
        tar.add(module, "vpc-1.2.0")

    assert repacked(path) == expected(FILES)


@pytest.mark.parametrize("style", ["v7", "oldgnu", "gnu", "ustar", "posix"])
@pytest.mark.parametrize("inside", ["vpc", "."])
@pytest.mark.needs("tar")
def test_gnu_tar(module: Path, style: str, inside: str):
    path = module.parent / "x.tar.gz"
    files = FILES
    if style in ("v7", "ustar"):
        shutil.rmtree(module / "modules")
        files = SHORT
    folder = module if inside == "." else module.parent
    subprocess.run(["tar", f"--format={style}", "-czf", path, "-C", folder, inside], check=True)

    assert repacked(path) == expected(files)


@pytest.mark.parametrize("form", ["tar.gz", "zip"])
@pytest.mark.needs("git")
def test_git_archive(module: Path, form: str):
    shutil.rmtree(module / "modules" / "caf\u00e9")  # git quotes it where the locale is C
    who = ["-c", "user.name=Alice", "-c", "user.email=alice@example.test"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *command], cwd=module, check=True)
    path = module.parent / f"x.{form}"
    archive = ["archive", f"--format={form}", "--prefix=vpc-1.2.0/", "-o", str(path), "HEAD"]
    subprocess.run(["git", *archive], cwd=module, check=True)

    assert repacked(path) == expected({name: text for name, text in FILES.items() if "caf" not in name})


def test_a_working_copy_sheds_what_is_no_part_of_it(module: Path):
    for name in (".git/HEAD", ".terraform/modules/modules.json", "terraform.tfstate", ".DS_Store", "._main.tf"):
        path = module / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    (module / ".terraform.lock.hcl").write_text("# locked\n")
    path = module.parent / "x.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(module, ".")

    assert repacked(path) == expected({**FILES, ".terraform.lock.hcl": "# locked\n"})
