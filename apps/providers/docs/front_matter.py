"""The YAML front matter of a page, between `---` lines.

Pages need only single values from it, so this reads lines, without tags, anchors or objects, and ignores the rest.
"""

import re
from dataclasses import dataclass

MAX_BYTES = 16 * 1024
MAX_VALUE_CHARACTERS = 300
_KNOWN = ("subcategory", "page_title", "description")
_PAIR = re.compile(r"([A-Za-z_][\w-]{0,40}):(?:[ \t]+(.*))?$")
_BLOCK = re.compile(r"[|>][+-]?\d?$")
_FENCE = "---"
_ESCAPED = re.compile(r'\\(["\\/])')


@dataclass(frozen=True, slots=True)
class FrontMatter:
    subcategory: str = ""
    page_title: str = ""
    description: str = ""


def split(text: str) -> tuple[FrontMatter, str]:
    """The values, and the text after them; all of the text if there is no front matter."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() != _FENCE:
        return FrontMatter(), text
    seen = 0
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in (_FENCE, "..."):
            return FrontMatter(**_values(lines[1:number])), "\n".join(lines[number + 1 :])
        seen += len(line)
        if seen > MAX_BYTES:
            break
    return FrontMatter(), text


def _values(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    key = ""
    for line in lines:
        pair = _PAIR.match(line.rstrip())
        if pair is not None:
            key = pair[1]
            found[key] = (pair[2] or "").strip()
        elif key and line[:1].isspace():
            found[key] += f"\n{line.strip()}"  # a block, or a plain value on several lines
        elif line.strip():
            key = ""
    return {name: _scalar(found[name]) for name in _KNOWN if name in found}


def _scalar(raw: str) -> str:
    """One line of text without quotes, block marks and the comment after a plain value."""
    first, _, rest = raw.partition("\n")
    if _BLOCK.match(first):
        return _line(rest)
    whole = _line(raw)
    if len(whole) > 1 and whole[0] == whole[-1] == '"':
        return _line(_ESCAPED.sub(r"\1", whole[1:-1].replace("\\n", " ").replace("\\t", " ")))
    if len(whole) > 1 and whole[0] == whole[-1] == "'":
        return _line(whole[1:-1].replace("''", "'"))
    return whole.partition(" #")[0].rstrip()


def _line(text: str) -> str:
    line = " ".join(text.split())
    shown = "".join(mark if mark.isprintable() else "\ufffd" for mark in line)
    return shown if len(shown) <= MAX_VALUE_CHARACTERS else f"{shown[: MAX_VALUE_CHARACTERS - 1]}…"
