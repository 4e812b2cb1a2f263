"""The program that reads module files in a confined process: `apps.lib.sandbox.parent` starts it."""

from typing import Any

from apps.lib.sandbox.positioned import open_positioned
from apps.modules.inspection import tree, units


def prepare() -> None:
    """Loads the grammar, whose library is a file."""
    tree.warm_up()


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    """`request` lists the texts, each with its length, in the order in which they follow each other on `stdin`."""
    with open_positioned(stdin) as file:
        texts = {path: file.read(length) for path, length in request["texts"]}
    return units.read_module(texts, request["sizes"], request["chosen"])
