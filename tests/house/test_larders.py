"""A whole Larder takes seconds to start: tests share those of tests/larders.py, and who starts another says why."""

import ast
import re
from pathlib import Path

from tests.house.sources import name_of, python_files, text_of, tree_of

SHARED = "tests/larders.py"


def reasons(path: Path) -> list[str]:
    """What each call in the file gives as `why`; "" for a start of a Larder without it."""
    found: list[str] = []
    if not re.search(r"\bwhy=|\bstart_live\(", text_of(path)):  # parsing all files takes seconds
        return found
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            why = next((keyword.value for keyword in node.keywords if keyword.arg == "why"), None)
            if isinstance(why, ast.Constant):
                found.append(str(why.value))
            elif isinstance(node.func, ast.Name) and node.func.id == "start_live" and not isinstance(why, ast.Name):
                found.append("")  # a name is an argument, so that a caller gives the reason
    return found


def test_every_larder_is_shared_or_says_why_it_is_not():
    said = {name_of(path): found for path in python_files("tests") if (found := reasons(path))}

    assert set(said.pop(SHARED)) == {"shared"}
    every = [why for found in said.values() for why in found]
    assert [why for why in every if len(why.split()) < 3] == []
    assert len(every) > 20
    assert len(every) == len(set(every)), "two with the same reason could be one"
