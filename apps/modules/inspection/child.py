"""The program that reads module files in a confined process: `apps.lib.sandbox.parent` starts it."""

import gc
from typing import Any

from apps.lib.hcl import tree
from apps.lib.sandbox.positioned import texts_at
from apps.modules.inspection import units
from apps.modules.inspection.language import uses


def prepare() -> None:
    """Loads the grammar, whose library is a file, and its queries."""
    # Looking for circles among the nodes of trees, which have none, took a tenth of the time.
    gc.set_threshold(100_000)
    tree.warm_up()
    uses.warm_up()


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    """`request` has the fields of each folder, the places of its texts on `stdin`, and the sizes of its files.

    The answer is that of `units.read_folders`.
    """
    folders = [units.Folder(**fields) for fields in request["folders"]]
    return units.read_folders(folders, dict(texts_at(stdin, request["texts"])), request["sizes"])
