"""JSON with the place of every value, read without recursion. Python's own reader tells no places."""

import json
import re
from dataclasses import dataclass
from typing import Any

from apps.modules.inspection.caps import MOST_DEPTH

_TOKEN = re.compile(
    r"""(?P<mark>[{}\[\],:])
    |(?P<string>"(?:[^"\\\x00-\x1f]++|\\.)*+")
    |(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    |(?P<word>true|false|null)(?![A-Za-z0-9_])""",
    re.VERBOSE,
)
_SPACE = re.compile(r"[ \t\r\n]*")
_WORDS = {"true": True, "false": False, "null": None}
_ENDS = {"{": "}", "[": "]"}

_Key = tuple[str, int] | None  # of a member, and where it stands; none in a list


class BadJson(Exception):
    """`offset` is in characters."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(slots=True)
class Located:
    """`kind` is `{`, `[`, string, number or word; `content` a list of members, of elements, or a scalar."""

    kind: str
    content: Any
    start: int
    end: int = 0


@dataclass(frozen=True, slots=True)
class Member:
    key: str
    start: int
    value: Located


def read_json(text: str) -> Located:
    """Raises BadJson."""
    reader = _Reader(text)
    value = reader.value()
    if reader.kind:
        raise BadJson(reader.start, "something follows the end of the document")
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.start = self.end = 0
        self.kind = self.lexeme = ""
        self.advance()

    def advance(self) -> None:
        """To the next token; at the end `kind` is empty."""
        space = _SPACE.match(self.text, self.end)
        assert space  # noqa: S101  # it matches nothing as well
        self.start = self.end = space.end()
        match = _TOKEN.match(self.text, self.start)
        if match is None and self.start < len(self.text):
            raise BadJson(self.start, "this is no JSON")
        self.kind, self.lexeme = (match.lastgroup or "", match[0]) if match else ("", "")
        self.end += len(self.lexeme)

    def value(self) -> Located:
        """One whole value; containers that are not closed yet wait in a list instead of on Python's stack."""
        opened: list[tuple[Located, _Key]] = []
        key: _Key = None
        while True:
            if self.lexeme in _ENDS:
                container = self.opening(len(opened))
                if self.lexeme != _ENDS[container.kind]:
                    opened.append((container, key))
                    key = self.key(container)
                    continue
                done = self.closing(container)
            else:
                done = self.scalar()
            while opened:
                container, outer = opened[-1]
                _add(container, key, done)
                if self.lexeme == ",":
                    self.advance()
                    key = self.key(container)
                    break
                if self.lexeme != _ENDS[container.kind]:
                    raise BadJson(self.start, f"a comma or {_ENDS[container.kind]} is missing here")
                opened.pop()
                done, key = self.closing(container), outer
            else:
                return done

    def opening(self, depth: int) -> Located:
        if depth >= MOST_DEPTH:
            raise BadJson(self.start, f"more than {MOST_DEPTH} brackets are open at once")
        container = Located(self.lexeme, [], self.start)
        self.advance()
        return container

    def closing(self, container: Located) -> Located:
        container.end = self.end
        self.advance()
        return container

    def key(self, container: Located) -> _Key:
        if container.kind == "[":
            return None
        start = self.start
        if self.kind != "string":
            raise BadJson(start, "a name in quotes is missing here")
        name = self.string()
        self.advance()
        if self.lexeme != ":":
            raise BadJson(self.start, "a colon is missing here")
        self.advance()
        return name, start

    def scalar(self) -> Located:
        if self.kind not in ("string", "number", "word"):
            raise BadJson(self.start, "a value is missing here")
        content: Any = self.lexeme
        if self.kind == "string":
            content = self.string()
        elif self.kind == "word":
            content = _WORDS[self.lexeme]
        found = Located(self.kind, content, self.start, self.end)
        self.advance()
        return found

    def string(self) -> str:
        try:
            text: str = json.loads(self.lexeme)
            text.encode()
        except ValueError as error:  # an escape that is none, or half a character
            raise BadJson(self.start, "this is no string") from error
        if "\0" in text:
            raise BadJson(self.start, "this string holds a NUL")
        return text


def _add(container: Located, key: _Key, value: Located) -> None:
    container.content.append(value if key is None else Member(*key, value))
