"""docs/security.md promises only what tests show: each promise names some, and each of them is one that pytest runs.

- A webhook without a valid signature is refused.
  <!-- shown by
  tests/hooks/test_refusals.py::test_an_unsigned_one_is_refused -->
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests import rooms
from tests.documents import text_of
from tests.programs import CHECKOUT

PAGE = "docs/security.md"
_SHOWN = re.compile(r"<!-- shown by\s(.*?)-->", re.DOTALL)
# What is no promise: what does not hold, and the way to a page of its own.
_EXEMPT = ("Does not hold",)
_NEVER_RUN = ("skip", "xfail")


@dataclass(frozen=True)
class Promise:
    section: str
    text: str
    tests: tuple[str, ...]


def promises(page: str) -> Iterator[Promise]:
    """Each paragraph and each item of a list below a question, as far as it is no limit of a promise."""
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        for block in re.split(r"\n\s*\n|\n(?=- )", body):
            text = " ".join(_SHOWN.sub("", block).split())
            tests = tuple(word for found in _SHOWN.findall(block) for word in found.split())
            if text and not text.startswith(_EXEMPT):
                yield Promise(title, text, tests)


@cache
def functions_of(path: str) -> dict[str, ast.FunctionDef]:
    """The tests of a file, as pytest collects them."""
    file = CHECKOUT / path
    if not (file.is_file() and file.name.startswith("test_") and "tests/" in path):
        return {}
    found = ast.parse(file.read_text()).body
    return {one.name: one for one in found if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")}


def problem_with(name: str) -> str:
    path, _, test = name.partition("::")
    function = functions_of(path).get(test)
    if function is None:
        return "" if rooms.is_gone(path) else f"{name} is no test"
    marks = [ast.unparse(mark) for mark in function.decorator_list]
    return f"{name} may never run" if any(f"mark.{word}" in mark for mark in marks for word in _NEVER_RUN) else ""


def test_each_promise_of_the_security_page_names_tests_that_are_there():
    found = list(promises(text_of(PAGE)))
    assert len(found) > 30
    assert [f"{one.section}: {one.text[:80]}" for one in found if not one.tests] == []
    assert [problem for one in found for test in one.tests if (problem := problem_with(test))] == []


def test_it_would_find_a_promise_without_a_test_and_a_test_that_is_gone():
    page = (
        "# Page\n\nNo promise.\n\n## 1. Is it safe?\n\nVery.\nIt is.\n<!-- shown by\n"
        "tests/house/test_promises.py::test_that_is_gone -->\n\n- One.\n- Two\n  lines.\n\nDoes not hold: all.\n"
    )
    first, second, third = promises(page)
    assert (first.text, first.section) == ("Very. It is.", "1. Is it safe?")
    assert [problem_with(test) for test in first.tests] == [f"{first.tests[0]} is no test"]
    assert (second.text, second.tests, third.text) == ("- One.", (), "- Two lines.")
    for name in ("docs/security.md::test_x", "tests/house/scenario.py::url", "tests/house/test_promises.py"):
        assert problem_with(name)
    assert (
        problem_with(
            "tests/house/test_promises.py::test_it_would_find_a_promise_without_a_test_and_a_test_that_is_gone"
        )
        == ""
    )


def test_a_reader_does_not_see_the_names(client, db):
    page = client.get("/help/security").text
    assert "Questions of a security engineer" in page
    assert "shown by" not in page
    assert "::test_" not in page
