"""The settings with which Sphinx makes a site of docs/: https://www.sphinx-doc.org/en/master/usage/configuration.html

The tables of docs/README.md are the navigation, as on the pages of a running Larder. Links to files outside of docs/
lead to the repository that SOURCE names, at this version; without SOURCE they are text. Each version is a folder of
site/, and site/index.html lists those that were built there.
"""

import os
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
INDEX = "README"
_ROW = re.compile(r"\|\s*(?:… )?\[(?P<label>[^\]]+)\]\((?P<page>[^)\s#:.]+)\.md(?:#[^)\s]*)?\)\s*\|")
_LINK = re.compile(r"(?<!!)\[(?P<label>[^\]\n]+)\]\((?P<target>[^)\s]+)\)")

version = release = subprocess.run(  # noqa: S603  # ours
    [sys.executable, str(ROOT / "registry_site" / "version.py")], capture_output=True, text=True, check=True
).stdout.strip()
project = "Larder"
copyright = f"{release}"  # noqa: A001  # Sphinx's name; the footer has it
html_title = f"Larder {release}"
html_theme = "furo"
templates_path = ["templates"]
html_sidebars = {
    "**": [
        *(f"sidebar/{name}.html" for name in ("brand", "search", "scroll-start", "navigation")),
        "versions.html",
        "sidebar/scroll-end.html",
    ]
}
html_show_sphinx = False
html_copy_source = html_show_sourcelink = False
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = INDEX
exclude_patterns = ["maintain", "ARCHITECTURE.md"]
myst_heading_anchors = 4
# HCL of clients, and text with placeholders, is shown as it is written.
suppress_warnings = ["misc.highlighting_failure"]


def _with_navigation(text: str) -> str:
    """Append the navigation: the pages by the chapters of docs/README.md, each page once and as its row calls it."""
    seen: set[str] = set()
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        rows = {row["page"]: row["label"].replace("`", "") for row in _ROW.finditer(part)}
        entries = [f"{label} <{page}>" for page, label in rows.items() if page not in seen and _is_shown(page)]
        seen |= rows.keys()
        if entries:
            caption = part.partition("\n")[0].strip()
            lines = ["```{toctree}", ":hidden:", f":caption: {caption}", *entries, "```"]
            text += "\n" + "\n".join(lines) + "\n"
    return text


def _is_shown(page: str) -> bool:
    return not f"{page}.md".startswith(("maintain/", "ARCHITECTURE.md"))


def _linked(found: re.Match[str], folder: PurePosixPath) -> str:
    """Return the link, or what replaces one to what is not on the site."""
    path, _, anchor = found["target"].partition("#")
    if "://" in path or path.startswith("mailto:") or not path:
        return found[0]
    place = os.path.normpath(PurePosixPath("docs") / folder / path)
    inside = place.startswith("docs/") and _is_shown(place.removeprefix("docs/").removesuffix(".md"))
    if inside or not (ROOT / place).exists():
        return found[0]  # Sphinx says where one leads nowhere
    source = os.environ.get("SOURCE", "").rstrip("/")
    if not source:
        return found["label"]
    ref = "main" if "-" in release else f"v{release}"
    return f"[{found['label']}]({source}/blob/{ref}/{place}{f'#{anchor}' if anchor else ''})"


def _read(app: Any, name: str, content: list[str]) -> None:  # noqa: ARG001  # Sphinx's signature
    folder = PurePosixPath(name).parent
    text = _LINK.sub(lambda found: _linked(found, folder), content[0])
    content[0] = _with_navigation(text) if name == INDEX else text


def _finish(app: Any, failure: Exception | None) -> None:
    if failure is not None:
        return
    built = sorted((path.parent.name for path in Path(app.outdir).parent.glob(f"*/{INDEX}.html")), key=_order)
    links = "\n".join(f'<li><a href="{name}/{INDEX}.html">Larder {name}</a></li>' for name in reversed(built))
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    (Path(app.outdir).parent / "index.html").write_text(
        f"{head}<title>Larder</title>\n<h1>Documentation of Larder</h1>\n<ul>\n{links}\n</ul>\n"
    )


def _order(name: str) -> tuple[list[int], bool, str]:
    """0.10.0 comes after 0.9.0, and after the commits before it."""
    number, _, rest = name.partition("-")
    return [int(part) for part in number.split(".") if part.isdigit()], not rest, rest


def setup(app: Any) -> None:
    app.connect("source-read", _read)
    app.connect("build-finished", _finish)
