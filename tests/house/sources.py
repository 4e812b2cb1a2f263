"""What the house tests look at: the project's own files, read once."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("apps", "registry_site", "tests", "bench")


def python_files(*folders: str) -> list[Path]:
    found = [path for folder in folders or FOLDERS for path in (CHECKOUT / folder).rglob("*.py")]
    return sorted([*found, CHECKOUT / "manage.py"] if not folders else found)


def templates() -> list[Path]:
    return sorted((CHECKOUT / "templates").rglob("*.*"))


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def name_of(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


def code_of(path: Path) -> str:
    """The source without comments and docstrings: a ban is about what runs, not about what is explained."""
    return ast.unparse(_without_docstrings(tree_of(path)))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    bare = ast.parse(ast.unparse(tree))
    for node in ast.walk(bare):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0].value = ast.Constant(value=...)
    return bare


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def files_with(pattern: str, paths: list[Path]) -> list[str]:
    """`file:line` of each match in code (comments and docstrings do not count)."""
    wanted = re.compile(pattern)
    return [
        f"{name_of(path)}: {line.strip()}"
        for path in paths
        for line in code_of(path).splitlines()
        if wanted.search(line)
    ]
