"""The tests that a change reaches, for `make test-changed`: `python -m tests.changed [BASE]`.

By the import graph of the contracts in `pyproject.toml`. A test that asks a view through its URL imports nothing of it:
the folder of tests that mirrors the view's stands for those. Before a landing every test runs.
"""

import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp

from tests.programs import CHECKOUT

EDGES = ("admin_base", "api", "contrib", "oci", "portal", "protocol")
LISTS = ("urls", "wiring")  # import all views: what they reach says nothing


def changed_files(base: str) -> set[str]:
    """Since `base`, committed or not."""
    questions = (["diff", "--name-only", base], ["ls-files", "--others", "--exclude-standard"])
    asked = [
        subprocess.run(["git", *each], cwd=CHECKOUT, capture_output=True, text=True, check=True) for each in questions
    ]
    return {line for done in asked for line in done.stdout.splitlines()}


def folder_of(*parts: str) -> str:
    """The deepest folder of tests that mirrors these folders; those of `registry_site` are in tests/site."""
    room = Path("apps", *parts[:2], "tests")  # of one in apps/contrib
    found = [room.joinpath(*parts[2:length]) for length in range(len(parts), 1, -1)]
    found += [Path("tests", *parts[:length]) for length in range(len(parts), 0, -1)]
    return next((str(folder) for folder in found if (CHECKOUT / folder).is_dir()), "tests/house")


@cache
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("apps", "registry_site", "tests")


def reached_by(files: set[str]) -> Iterator[str]:
    graph = imports()
    changed = {file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in files} & graph.modules
    reached = changed.union(*(graph.find_downstream_modules(module) for module in changed))
    for module in reached:
        top, *parts = module.split(".")
        if "tests" in (top, *parts[2:3]):
            name = parts[-1] if parts else ""
            if name.startswith("test_"):
                yield f"{module.replace('.', '/')}.py"
            elif name == "conftest" and module in changed:
                yield module.rpartition(".")[0].replace(".", "/")
        elif module in changed or (parts[:1] and parts[0] in EDGES and parts[-1] not in LISTS):
            yield folder_of(*(parts if top == "apps" else ("site", *parts)))
    for file in files:  # templates, styles, documents
        top, *parts = file.split("/")
        if not file.endswith(".py"):
            yield folder_of(*parts) if top in ("apps", "templates") else "tests/house"


def smallest(names: Iterator[str]) -> list[str]:
    """Without what is gone, and without files of folders that are named as well."""
    wanted = {Path(name) for name in names if (CHECKOUT / name).exists()}
    return sorted(str(each) for each in wanted if not wanted & set(each.parents))


if __name__ == "__main__":
    print(*smallest(reached_by(changed_files(*sys.argv[1:] or ["HEAD"]))) or ["tests/house"])  # noqa: T201
