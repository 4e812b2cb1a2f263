"""The pages of docs/ and the commands in them, for tests that hold pages against the code or execute what they say.

A comment directly above a block of shell commands says who executes it:

    <!-- run by tests/e2e/test_documents.py::test_using -->
    <!-- not run: needs a Kubernetes cluster -->
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
SHELL = frozenset({"sh", "bash", "shell", "console", "powershell"})
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"<!-- (?:run by (?P<test>\S+)|not run: (?P<reason>[^>]+?)) -->\n *\Z")


@dataclass(frozen=True)
class Fence:
    page: str  # as docs/using.md
    line: int
    language: str
    text: str
    test: str  # that executes it
    reason: str  # for which no test does

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def text_of(page: str) -> str:
    return (CHECKOUT / page).read_text()


@cache
def pages() -> tuple[str, ...]:
    paths = [*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md")]
    return tuple(sorted(str(path.relative_to(CHECKOUT)) for path in paths))


def fences(page: str) -> Iterator[Fence]:
    text = text_of(page)
    for found in FENCE.finditer(text):
        mark = MARK.search(text[: found.start()])
        line = text.count("\n", 0, found.start()) + 1
        said = (mark["test"] or "", mark["reason"] or "") if mark else ("", "")
        yield Fence(page, line, found["language"], textwrap.dedent(found["text"]), *said)


def run_by(test: str, page: str = "") -> list[Fence]:
    """The blocks that name this test, of all pages or one: it executes what is here and nothing else."""
    found = [fence for name in ([page] if page else pages()) for fence in fences(name) if fence.test == test]
    assert found, f"no block names {test}"
    return found


def configuration() -> str:
    """Every variable with its heading: docs/configuration/ as one text."""
    return "\n".join(path.read_text() for path in sorted((CHECKOUT / "docs" / "configuration").glob("*.md")))
