"""The part of a CHANGELOG.md that is about one version, rendered in the worker as READMEs are."""

import re
from collections.abc import Collection, Iterator

from apps.lib import versions
from apps.lib.errors import Invalid
from apps.modules.contents import readme

NAMES = ("changelog.md", "changelog.markdown", "changelog")
MAX_CHARACTERS = 32 * 1024
MAX_LINES = 100_000
_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
# `## [1.2.0] - 2026-05-04`, `# v1.2.0`, `## Release 1.2.0`
_NUMBER = re.compile(r"\W*(?:release\s+|version\s+)?v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]*[0-9A-Za-z])?)", re.IGNORECASE)
_REFERENCE = re.compile(r" {0,3}\[([^\]]{1,200})\]:[ \t]*\S")
_LABEL = re.compile(r"\[([^\[\]\n]{1,200})\]")
_ANCHOR = re.compile(r'<(h[1-6]) id="[^"]*">')


def render(source: bytes, version: str, *, prefix: str, files: Collection[str]) -> str:
    """Empty if the text has no section of this version. Without anchors: README and changelog share a page."""
    section = section_of(readme.text_of(source), version)
    html = readme.render(section.encode(), prefix=prefix, files=files) if section else ""
    return _ANCHOR.sub(r"<\1>", html)


def section_of(text: str, version: str) -> str:
    """Return the text below the heading with the version's number, up to the next version's, and the links that it
    names.
    """
    lines = text.replace("\r\n", "\n").split("\n")[:MAX_LINES]
    wanted = versions.parse(version).precedence
    begin, end, rank = -1, len(lines), 0
    for first, last, level, title in _headings(lines):
        number = _NUMBER.match(title)
        if begin < 0:
            if number and _precedence(number[1]) == wanted:
                begin, rank = last + 1, level
        elif number or level < rank:
            end = first
            break
    if begin < 0:
        return ""
    section = "\n".join(lines[begin:end]).strip()
    if len(section) > MAX_CHARACTERS:
        section = f"{section[:MAX_CHARACTERS].rpartition(chr(10))[0]}\n\n…"
    labels = {label.lower() for label in _LABEL.findall(section)}
    references = (line for line in lines[end:] if (found := _REFERENCE.match(line)) and found[1].lower() in labels)
    return "\n".join([section, "", *references]).strip() if section else ""


def _headings(lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """(first line, last line, level, title) of each heading outside code fences."""
    fence = ""
    for position, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        if fence or mark:
            continue
        if found := _HEADING.fullmatch(line):
            yield position, position, len(found[1]), found[2]
        elif line.strip() and position + 1 < len(lines) and (found := _UNDERLINE.fullmatch(lines[position + 1])):
            yield position, position + 1, 1 if found[1][0] == "=" else 2, line.strip()


def _precedence(number: str) -> str:
    try:
        return versions.parse(number).precedence
    except Invalid:
        return ""
