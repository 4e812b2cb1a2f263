"""The project's own files for the house tests, read once."""

import ast
import re
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("apps", "registry_site", "tests", "bench")


def python_files(*folders: str) -> list[Path]:
    """Those of `tests` are in the rooms as well, whose tests do not belong to `apps`."""
    found = {path for folder in folders or FOLDERS for path in (CHECKOUT / folder).rglob("*.py")}
    of_rooms = {path for folder in CHECKOUT.glob("apps/contrib/*/tests") for path in folder.rglob("*.py")}
    found = found | of_rooms if "tests" in (folders or FOLDERS) else found - of_rooms
    return sorted(found if folders else {*found, CHECKOUT / "manage.py"})


def templates() -> list[Path]:
    """Those of all, and those of the rooms in apps/contrib."""
    folders = [CHECKOUT / "templates", *(CHECKOUT / "apps" / "contrib").glob("*/templates")]
    return sorted(path for folder in folders for path in folder.rglob("*.*"))


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def name_of(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


@cache
def code_of(path: Path) -> str:
    """The source without comments and docstrings: a ban is about code, not about prose."""
    tree = ast.parse(text_of(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                first.value = ast.Constant(value=...)
    return ast.unparse(tree)


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Every module that a file imports, wherever in it."""
    nodes = list(ast.walk(tree_of(path)))
    whole = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return *whole, *(node.module or "" for node in nodes if isinstance(node, ast.ImportFrom))


def files_with(pattern: str, paths: list[Path]) -> list[str]:
    """`file: line` of each match in code. A file whose text matches nowhere is not parsed; ruff wraps no name."""
    wanted = re.compile(pattern)
    return [
        f"{name_of(path)}: {line.strip()}"
        for path in paths
        if wanted.search(text_of(path))
        for line in code_of(path).splitlines()
        if wanted.search(line)
    ]
