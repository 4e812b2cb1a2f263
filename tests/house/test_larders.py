"""A whole Larder takes seconds to start: tests share those of tests/larders.py, and who starts another says why."""

import ast

from tests.live import CHECKOUT

SHARED = "tests/larders.py"


def reasons(path: str) -> list[str]:
    """What each call of `start_live` in the file says; "" where it says nothing that can be read here."""
    found = []
    for node in ast.walk(ast.parse((CHECKOUT / path).read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "start_live":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            why = given.get("why")
            found.append(str(why.value) if isinstance(why, ast.Constant) else "")
    return found


def test_every_larder_is_shared_or_says_why_it_is_not():
    files = sorted(str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / "tests").rglob("*.py"))
    said = {path: found for path in files if (found := reasons(path))}

    assert set(said.pop(SHARED)) == {"shared"}
    every = [why for found in said.values() for why in found]
    assert [why for why in every if len(why.split()) < 3] == []
    assert len(every) > 20
    assert len(every) == len(set(every)), "two with the same reason could be one"
