"""The program that reads module files in a confined process: `apps.lib.sandbox.parent` starts it."""

from typing import Any

from apps.lib.sandbox.positioned import open_positioned
from apps.modules.inspection import tree, units


def prepare() -> None:
    """Loads the grammar, whose library is a file."""
    tree.warm_up()


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    """`request` lists folders, each as the fields of one, and the texts, each with its place on `stdin` and its length.

    The answer is that of `units.read_folders`.
    """
    texts = {}
    with open_positioned(stdin) as file:
        for path, at, length in request["texts"]:
            file.seek(at)
            texts[path] = file.read(length)
    return units.read_folders([units.Folder(**fields) for fields in request["folders"]], texts, request["sizes"])
