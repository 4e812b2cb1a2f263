"""The program that renders READMEs in a confined process: `apps.lib.sandbox.parent` starts it."""

from typing import Any

from apps.lib.sandbox.positioned import texts_at
from apps.modules.contents import readme

# Codecs and lexers are files, which a confined process cannot open: this text needs each of them.
_LANGUAGES = ("hcl", "bash", "json", "markdown", "yaml", "go")
_NEEDS_ALL = "[a](https://xn--bcher-kva.example/) <https://bücher.example/ü> &auml;\n\n" + "".join(
    f"```{language}\na\n```\n" for language in _LANGUAGES
)


def prepare() -> None:
    """Loads what is loaded on first use."""
    readme.render_and_summarise(_NEEDS_ALL.encode(), prefix="", base="", files=())


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    """`request` lists the READMEs, each by its folder with its place on `stdin` and its length.

    The answer has the HTML and the summary of each.
    """
    files = frozenset(request["files"])
    known: readme.Known = {}
    pages = {
        folder: readme.render_and_summarise(source, base=folder, files=files, prefix=request["prefix"], known=known)
        for folder, source in texts_at(stdin, request["readmes"])
    }
    return {"pages": pages}
