"""A module file's text without the defaults of sensitive variables, for pages that show files. Its lines stay as many.

What is sensitive says the file itself, or the document of the inspection, which knows override files as well. Where a
default cannot be told apart for sure, the whole body of its block is masked; a text too broken for that is withheld.
Only the first pass over the text is done here, in the process that answers: no grammar, linear time.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from apps.lib.archives.layouts import MODULE_SUFFIXES
from apps.modules.inspection import folders
from apps.modules.inspection.blocks import SECRET, UNKNOWN
from apps.modules.inspection.damage import may_have_swallowed
from apps.modules.inspection.layout import Layout, Statement, TooDeep, lay_out
from apps.modules.inspection.positioned_json import BadJson, Located, Member, read_json
from apps.modules.inspection.schema import SCHEMA

# Of a longer text only the heads of its blocks are looked for: a page does not wait for more.
MOST_LAID_OUT = 128 * 1024

_HEAD = re.compile(rb'variable(?![\w-])(?:[ \t]+"?(?P<name>[^"\s{]+)"?)?[^\n{]*\{?')
_WORD = re.compile(rb"(?<![\w-])(?:variable|default|sensitive)(?![\w-])")
_AT_MARGIN = re.compile(rb'^(?:%s)[ \t]+["\w{]' % "|".join(SCHEMA).encode(), re.MULTILINE)
_DEFAULT = re.compile(rb"default(?![\w-])[ \t]*(?:=(?!=)[ \t]*)?")
_ANY_DEFAULT = re.compile(rb"(?<![\w-])default(?:[ \t]*=(?!=)|[ \t]*/[*])")
_FLAG = re.compile(rb"sensitive(?![\w-])")
_OPEN_FLAG = re.compile(rb'sensitive[ \t]*=[ \t]*(?:false|"false")')
_PART = re.compile(rb"[A-Za-z_][\w-]*[ \t]*(?:=(?!=)|\{)")
_NAME = re.compile(r"[\w-]+")
_BLANK_REST = re.compile(rb"[ \t]*\n")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Masked:
    """`text` is empty where it is withheld, for the reason that `withheld` names."""

    text: str
    has_masks: bool = False
    withheld: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """Variables of the file's folder, as far as the inspection knows them."""

    secret: frozenset[str]
    open: frozenset[str]


def masked(path: str, text: str, *, document: Mapping[str, Any], paths: Collection[str], is_cut: bool) -> Masked:
    """`document` is the inspection's; `paths` are those of all files of the archive."""
    if not path.lower().endswith(MODULE_SUFFIXES):
        return Masked(text)
    return _masked(text, path.lower().endswith(".json"), _names(path, document, paths), is_cut)


@lru_cache(maxsize=32)
def _masked(text: str, is_json: bool, names: Names, is_cut: bool) -> Masked:  # noqa: FBT001  # a cache takes no keywords
    if is_json:
        return _masked_json(text, names, is_cut=is_cut)
    data = text.encode()
    words = {match[0] for match in _WORD.finditer(data)}
    if not {b"variable", b"default"} <= words or not (names.secret or is_cut or b"sensitive" in words):
        return Masked(text)
    spans = list(_native_spans(data, names, is_cut=is_cut))
    return Masked(_without(data, spans, SECRET.encode()).decode(), has_masks=True) if spans else Masked(text)


def _names(path: str, document: Mapping[str, Any], paths: Collection[str]) -> Names:
    folder = path.rpartition("/")[0]
    siblings = [name for name in paths if name.rpartition("/")[0] == folder]
    # An override that nobody could read may say that a variable is sensitive: then its default is unknown.
    hidden = {SECRET, UNKNOWN} if any(map(folders.is_override, siblings)) else {SECRET}
    found = [row for unit in document.get("units", ()) if unit["path"] == folder for row in unit.get("variables", ())]
    secret = frozenset(row["name"] for row in found if row.get("sensitive") or row.get("default") in hidden)
    return Names(secret, frozenset(row["name"] for row in found) - secret)


def _without(text: bytes, spans: list[Span], word: bytes) -> bytes:
    """Each span as one word and the line breaks that were in it."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            parts.append(text[at : max(start, at)])
            # Of two that overlap, the second has its word already.
            parts.append((word if start >= at else b"") + b"\n" * text.count(b"\n", max(start, at), end))
            at = end
    return b"".join([*parts, text[at:]])


def _native_spans(text: bytes, names: Names, *, is_cut: bool) -> Iterator[Span]:
    layout = _laid_out(text)
    if layout is None:
        yield from _rough_spans(text, 0, len(text), names, is_cut=is_cut)
        return
    variables = []
    for statement in layout.statements:
        if statement.fault is not None:
            yield from _rough_spans(text, statement.start, len(text), names, is_cut=is_cut)
            break
        if may_have_swallowed(text, statement.start, statement.end):
            yield from _rough_spans(text, statement.start, statement.end, names, is_cut=False)
        head = _HEAD.match(text, statement.start, statement.end)
        if head:
            variables.append((statement, head, (head["name"] or b"").decode()))
    secret = {name for statement, _, name in variables if _is_secret(text, layout, statement, name, names)}
    for statement, head, name in variables:
        if name in secret:
            yield from _spans_of_variable(text, layout, statement, head)


def _laid_out(text: bytes) -> Layout | None:
    try:
        return lay_out(text) if len(text) <= MOST_LAID_OUT else None
    except TooDeep:
        return None


def _spans_of_variable(text: bytes, layout: Layout, statement: Statement, head: re.Match[bytes]) -> Iterator[Span]:
    parts = layout.within(1, statement)
    spans = []
    is_sure = bool(parts)
    for start, end in parts:
        default = _DEFAULT.match(text, start, end)
        if default:
            spans.append((default.end(), end))
        elif not _PART.match(text, start, end) or _ANY_DEFAULT.search(text, start, end):
            is_sure = False
    if is_sure:
        yield from spans
    elif _ANY_DEFAULT.search(text, statement.start, statement.end):
        yield _body_start(text, head), max(head.end(), statement.end - 1)


def _is_secret(text: bytes, layout: Layout, statement: Statement, name: str, names: Names) -> bool:
    # A name that is written in escapes may be any of them.
    if name in names.secret or (names.secret and not _NAME.fullmatch(name)):
        return True
    flags = [part for part in layout.within(1, statement) if _FLAG.match(text, *part)]
    if not all(_OPEN_FLAG.fullmatch(text, *flag) for flag in flags):
        return True
    # Nobody has read it: then the word is enough, wherever it stands.
    return name not in names.open and any(
        match[0] == b"sensitive" and not _OPEN_FLAG.match(text, match.start(), statement.end)
        for match in _WORD.finditer(text, statement.start, statement.end)
    )


def _rough_spans(text: bytes, start: int, end: int, names: Names, *, is_cut: bool) -> Iterator[Span]:
    """From one head of a block at the left margin to the next: whatever is in between may be one block."""
    heads = [match.start() for match in _AT_MARGIN.finditer(text, start, end)]
    bounds = [start, *(head for head in heads if head > start), end]
    for first, last in pairwise(bounds):
        words = {match[0] for match in _WORD.finditer(text, first, last)}
        if not {b"variable", b"default"} <= words:
            continue
        found = list(_HEAD.finditer(text, first, last))
        named = {(match["name"] or b"").decode("utf-8", "replace") for match in found}
        if b"sensitive" in words or named & names.secret or (is_cut and last == end):
            yield _body_start(text, found[0]), last


def _body_start(text: bytes, head: re.Match[bytes]) -> int:
    rest = _BLANK_REST.match(text, head.end())
    return rest.end() if rest else head.end()


def _masked_json(text: str, names: Names, *, is_cut: bool) -> Masked:
    try:
        document = read_json(text)
    except BadJson:
        # A name may be written in escapes, so only a text without any tells that there is no default in it.
        if "default" not in text and "\\u" not in text:
            return Masked(text)
        why = "it is too long to look through" if is_cut else "it is no JSON"
        return Masked("", withheld=f"{why}, and a sensitive default in it could not be told apart")
    spans = [span for name, bodies in _variables(document) for span in _json_spans(name, bodies, names)]
    if not spans:
        return Masked(text)
    # The offsets are in characters.
    shown, at = [], 0
    for start, end in sorted(spans):
        shown += [text[at:start], f'"{SECRET}"' + "\n" * text.count("\n", start, end)]
        at = end
    return Masked("".join([*shown, text[at:]]), has_masks=True)


def _variables(document: Located) -> Iterator[tuple[str, list[Member]]]:
    """Each variable's name, and the members of all its bodies."""
    for member in _members(document):
        if member.key == "variable":
            for variable in _members(member.value):
                yield variable.key, list(_members(variable.value))


def _members(value: Located) -> Iterator[Member]:
    for item in value.content if value.kind == "[" else [value]:
        if item.kind == "{":
            yield from item.content


def _json_spans(name: str, members: list[Member], names: Names) -> Iterator[Span]:
    flags = [member.value.content for member in members if member.key == "sensitive"]
    if name in names.secret or any(flag not in (False, "false") for flag in flags):
        yield from ((member.value.start, member.value.end) for member in members if member.key == "default")
