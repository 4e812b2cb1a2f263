"""A program that needs site-packages: as the HCL reader does, it imports them before the limits are set."""

from typing import Any

READERS: list[Any] = []


def prepare() -> None:
    import tree_sitter
    import tree_sitter_hcl

    READERS.append(tree_sitter.Parser(tree_sitter.Language(tree_sitter_hcl.language())))


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    return {"root": READERS[0].parse(request["text"].encode()).root_node.type}
