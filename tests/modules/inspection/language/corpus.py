"""Look for false alarms: which folders of real repositories are questioned that a client loads?

    python -m tests.modules.inspection.language.corpus FOLDER terraform tofu

FOLDER contains Git repositories, bare or not. Reads the newest commit and up to five tags of each. Asks the clients, by
`get`, only about roots and folders below `modules/` that the check questions; fails if one of them loads such a folder.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from apps.lib.archives.layouts import MODULE_SUFFIXES, is_module_file
from apps.modules.inspection import loading, units

MAX_TAGS = 5
MAX_SECONDS = 60


def git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=True).stdout


def revisions(repository: Path) -> list[str]:
    tags = git(repository, "tag", "--sort=creatordate").decode().split()
    step = max(len(tags) // MAX_TAGS, 1)
    return [*tags[::step][:MAX_TAGS], "HEAD"]


def paths_in(repository: Path, revision: str) -> list[str]:
    return git(repository, "ls-tree", "-r", "-z", "--name-only", revision).decode().split("\0")[:-1]


def files_of(repository: Path, revision: str, paths: list[str]) -> dict[str, bytes]:
    """The module files: a snapshot may lack large files of other kinds."""
    if not any(is_module_file(path.rpartition("/")[2]) for path in paths):
        return {}
    patterns = [f":(glob)**/*{suffix}" for suffix in MODULE_SUFFIXES if any(path.endswith(suffix) for path in paths)]
    with tarfile.open(fileobj=BytesIO(git(repository, "archive", "--format=tar", revision, *patterns))) as packed:
        return {one.name: file.read() for one in packed if (file := packed.extractfile(one))}


def questioned(files: dict[str, bytes], paths: list[str]) -> dict[str, loading.Fault]:
    """The first fault of each folder that users of the module load."""
    texts = {path: data for path, data in files.items() if is_module_file(path.rpartition("/")[2])}
    inspected = units.read_module(texts, {path: len(data) for path, data in texts.items()})
    found: dict[str, loading.Fault] = {}
    for fault in loading.faults_in(inspected, paths):
        if fault.is_loaded:
            found.setdefault(fault.file.rpartition("/")[0], fault)
    return found


def loaders(clients: list[str], folder: str, files: dict[str, bytes]) -> Iterator[str]:
    """The clients that load the folder."""
    with tempfile.TemporaryDirectory() as home:
        for path, data in files.items():
            place = Path(home, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        settings = os.environ | {"HOME": home, "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull}
        for client in clients:
            done = subprocess.run(
                [client, "get", "-no-color"],
                cwd=Path(home, folder),
                env=settings,
                capture_output=True,
                check=False,
                timeout=MAX_SECONDS,
            )
            if done.returncode == 0:
                yield client


def main(folder: str, *clients: str) -> int:
    alarms = read = 0
    heads = {
        path.parent
        for pattern in ("*/HEAD", "*/*/HEAD", "*/.git/HEAD", "*/*/.git/HEAD")
        for path in Path(folder).glob(pattern)
    }
    for repository in sorted(heads):
        for revision in revisions(repository):
            paths = paths_in(repository, revision)
            files, read = files_of(repository, revision, paths), read + 1
            for place, fault in questioned(files, paths).items():
                loading_it = list(loaders(list(clients), place, files))
                alarms += bool(loading_it)
                verdict = f"LOADED by {', '.join(loading_it)}" if loading_it else "refused"
                print(f"{verdict}: {repository} {revision}: {fault}")  # noqa: T201
    print(f"{len(heads)} repositories, {read} revisions, {alarms} false alarms")  # noqa: T201
    return 1 if alarms or not read else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
