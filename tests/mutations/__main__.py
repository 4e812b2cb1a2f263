"""Remove one protection at a time, and report which command notices: `python -m tests.mutations [WORD...]`.

`mutations.toml` names the file, the line, what it becomes, and the tests that must fail then. Each mutation is
applied to a copy of the checkout. The tests that `make test` selects run first, then those of `make test-all`. Exits
with 1 if one survives, or less than 95 % are caught by `make test`. WORDs choose mutations by a part of their area or
name.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutations import Mutation, mutations

CHECKOUT = Path(__file__).resolve().parents[2]
QUICK_SHARE = 0.95
SECONDS = 900
FAILED = 1  # pytest's exit code; others mean that no test ran


def selection(name: str) -> str:
    """The tests that a command selects, as the Makefile says."""
    found = re.search(rf"^{name} := (.+)$", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    assert found
    return found[1]


def copied(folder: Path) -> Path:
    """The checkout as it is now, with none of what git ignores except compiled code, which takes a minute to make."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (CHECKOUT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, folder / name)
    for part in {Path(name).parent for name in names.decode().split("\0") if name.endswith(".py")}:
        compiled = CHECKOUT / part / "__pycache__"
        if compiled.is_dir():
            unfinished = shutil.ignore_patterns("*.pyc.*")  # of another process, which renames it in a moment
            shutil.copytree(compiled, folder / part / "__pycache__", ignore=unfinished)
    return folder


def failed_test(folder: Path, mutation: Mutation, selected: str, database: str = "sqlite") -> str:
    """The first test that fails, "" if none does. Raises RuntimeError if the mutated code does not run."""
    environment = os.environ | {"LARDER_TEST_DATABASE": database}
    words = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", selected, *mutation.tests]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    failures = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode == FAILED and failures:
        return failures[0]
    if done.returncode not in (0, 5):  # 5: nothing was selected
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-1000:])
    return ""


def judge(folder: Path, mutation: Mutation) -> tuple[str, str]:
    """The command that notices, and the test."""
    mutation.apply(folder)
    try:
        quick, day, both = selection("QUICK"), selection("DAY"), selection("BOTH")
        test = ""
        if mutation.database == "sqlite":
            if test := failed_test(folder, mutation, quick):
                return "make test", test
            test = failed_test(folder, mutation, f"({day}) and not ({quick})")
        test = test or failed_test(folder, mutation, both, "postgres")
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return "DOES NOT RUN", str(error)[-600:]
    else:
        return ("make test-all", test) if test else ("SURVIVES", "")
    finally:
        shutil.copy2(CHECKOUT / mutation.file, folder / mutation.file)


def main(wanted: list[str]) -> int:
    chosen = [one for one in mutations() if not wanted or any(word in f"{one.area}: {one.name}" for word in wanted)]
    caught = dict.fromkeys(("make test", "make test-all", "SURVIVES", "DOES NOT RUN"), 0)
    workers = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="larder-mutations-") as parent, ThreadPoolExecutor(workers) as pool:
        folders: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            folders.put(copied(Path(parent) / str(number)))

        def run(mutation: Mutation) -> None:
            folder = folders.get()
            command, test = judge(folder, mutation)
            folders.put(folder)
            caught[command] += 1
            print(f"{command:13}  {mutation.area}: {mutation.name}\n               {test}", flush=True)  # noqa: T201

        list(pool.map(run, chosen))
    share = caught["make test"] / max(1, len(chosen))
    print(f"{len(chosen)} mutations: {caught}; make test notices {share:.0%}")  # noqa: T201
    return int(caught["make test"] + caught["make test-all"] < len(chosen) or share < QUICK_SHARE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
