"""Sizes and names (docs/ARCHITECTURE.md): a file that outgrows its limit holds a second noun."""

import ast

from tests.house import sources

FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "services"}
FILE_LINES, FUNCTION_LINES, TEST_FILE_LINES, TEMPLATE_LINES = 400, 60, 300, 150
TEMPLATE_COLUMNS = 140


def too_long(paths, limit):
    lengths = {sources.name_of(path): len(sources.text_of(path).splitlines()) for path in paths}
    return {name: lines for name, lines in lengths.items() if lines > limit}


def test_no_source_file_is_longer_than_400_lines():
    """Except models.py: Django looks for all models of an app there."""
    paths = [path for path in sources.python_files("apps", "registry_site", "bench") if path.name != "models.py"]
    assert too_long(paths, FILE_LINES) == {}


def test_no_test_file_is_longer_than_300_lines():
    assert too_long(sources.python_files("tests"), TEST_FILE_LINES) == {}


def test_no_template_is_longer_than_150_lines():
    assert too_long(sources.templates(), TEMPLATE_LINES) == {}


def test_no_line_of_a_template_is_longer_than_140_columns():
    """They are wrapped at 120; a template tag cannot be."""
    lines = [(path, line) for path in sources.templates() for line in sources.text_of(path).splitlines()]
    assert [f"{sources.name_of(path)}: {line.strip()}" for path, line in lines if len(line) > TEMPLATE_COLUMNS] == []


def test_no_function_is_longer_than_60_lines():
    long = [
        f"{sources.name_of(path)}:{node.lineno} {node.name}"
        for path in sources.python_files()
        for node in ast.walk(sources.tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES
    ]
    assert long == []


def test_no_file_has_a_name_that_says_nothing():
    parts = {
        sources.name_of(path)
        for path in sources.python_files()
        if FORBIDDEN_NAMES & {path.stem, *path.relative_to(sources.CHECKOUT).parts}
    }
    assert parts == set()


def test_the_apps_are_those_of_the_architecture():
    """A new room needs an argument in docs/ARCHITECTURE.md, which names every one of them."""
    rooms = {path.name for path in (sources.CHECKOUT / "apps").iterdir() if (path / "__init__.py").is_file()}
    architecture = (sources.CHECKOUT / "docs" / "ARCHITECTURE.md").read_text()
    assert {room for room in rooms if f"`{room}`" not in architecture} == set()
