"""The part of HCL that lock files and `required_providers` blocks use: attributes with literal values, and blocks.

The reader is linear and needs no sandbox, unlike that of whole configurations (`modules/inspection`): it runs in
requests, on text of anyone. What it does not know, such as a function call, is an `Expression`, whose end it finds by
counting brackets.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from apps.lib.amounts import amount_text
from apps.lib.errors import Invalid

MAX_BYTES = 512 * 1024
MAX_DEPTH = 20
MAX_TOKENS = 50_000  # words, marks and line ends; a lock file of the most bytes has 30,000

_SPACE = re.compile(r"[ \t]+|\r?\n|#[^\n]*|//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[^\W\d][\w-]*(?:\.[^\W\d][\w-]*)*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_PLAIN = re.compile(r'[^"\\$%\n\r]+')
_INSIDE = re.compile(r'[^"\\\\$%{}]+')
_HEREDOC = re.compile(r"<<-?([^\W\d][\w-]*)\r?\n")
_MARK = re.compile(r"\.\.\.|[=!<>]=|=>|&&|\|\||.", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_HEX: Final = {"u": 4, "U": 8}
_CLOSING: Final = {"{": "}", "[": "]", "(": ")"}
_KEYWORDS: Final = {"true": True, "false": False, "null": None}
_HIGHEST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Expression:
    """A value that is not literal."""


@dataclass(frozen=True, slots=True)
class Number:
    text: str


# Objects are dictionaries; a bare word such as `aws.west` is an Expression.
Value = str | bool | None | Number | Expression | list["Value"] | dict[str, "Value"]


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    value: Value
    line: int


@dataclass(slots=True)
class Body:
    attributes: dict[str, Attribute] = field(default_factory=dict)
    blocks: list["Block"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    labels: tuple[str, ...]
    body: Body
    line: int


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # word, number, text, template, line, mark, end
    text: str
    line: int

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the text"
        if self.kind == "line":
            return "the end of the line"
        if self.kind in ("text", "template"):
            return "a quoted text"
        return repr(self.text[:40])


def parse(text: str, *, what: str) -> Body:
    """Read `what`, such as "lock file". Raises Invalid, which names the line."""
    size = len(text.encode(errors="replace"))
    if size > MAX_BYTES:
        raise Invalid(f"The {what} has {amount_text(size)}, expected at most {amount_text(MAX_BYTES)}.")
    return _Reader(text).whole()


def invalid(line: int, found: object, expected: str, hint: str = "") -> Invalid:
    return Invalid(f"Line {line}: found {found}, expected {expected}.", hint=hint)


def quoted(text: str) -> str:
    """As HCL's own writer does."""
    parts = []
    for at, character in enumerate(text):
        if character in '"\\':
            parts.append("\\" + character)
        elif character in "$%":
            parts.append(character * 2 if text[at + 1 : at + 2] == "{" else character)
        elif character in "\n\r\t":
            parts.append({"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character])
        elif character.isprintable():
            parts.append(character)
        else:
            parts.append(f"\\u{ord(character):04x}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}")  # noqa: PLR2004 - the escape with four digits
    return '"' + "".join(parts) + '"'


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text.removeprefix("\ufeff")
        self.at = 0
        self.line = 1

    def tokens(self) -> Iterator[_Token]:
        while True:
            while match := _SPACE.match(self.text, self.at):
                line = self.line
                self.take(match[0])
                if match[0] in ("\n", "\r\n"):
                    yield _Token("line", "\n", line)
            if self.at >= len(self.text):
                yield _Token("end", "", self.line)
                return
            yield self.one()

    def take(self, text: str) -> None:
        self.at += len(text)
        self.line += text.count("\n")

    def one(self) -> _Token:
        line = self.line
        if self.text[self.at] == '"':
            self.at += 1
            text = self.quotation(line)
            return _Token("template" if text is None else "text", text or "", line)
        if match := _HEREDOC.match(self.text, self.at):
            end = re.compile(rf"^[ \t]*{re.escape(match[1])}[ \t]*\r?$", re.MULTILINE).search(self.text, match.end())
            if end is None:
                raise invalid(line, f"the text <<{match[1][:40]} without its end", f"a line with {match[1][:40]}")
            self.take(self.text[self.at : end.end()])
            return _Token("template", "", line)
        for kind, pattern in (("word", _WORD), ("number", _NUMBER)):
            if match := pattern.match(self.text, self.at):
                self.take(match[0])
                return _Token(kind, match[0], line)
        match = _MARK.match(self.text, self.at)
        assert match is not None  # noqa: S101  # there is a character left
        if self.text.startswith("/*", self.at):
            raise invalid(line, "a comment without its end", "*/")
        self.take(match[0])
        return _Token("mark", match[0], line)

    def quotation(self, begin: int) -> str | None:
        """The text up to the closing quote; None for a template."""
        parts: list[str] = []
        is_template = False
        while True:
            if match := _PLAIN.match(self.text, self.at):
                self.at = match.end()
                parts.append(match[0])
            character = self.text[self.at : self.at + 1]
            if character in ("", "\n", "\r"):
                raise invalid(begin, "a text without its closing quote", "a quote on the same line")
            self.at += 1
            if character == '"':
                return None if is_template else unicodedata.normalize("NFC", "".join(parts))
            if character == "\\":
                parts.append(self.escape())
            elif self.text.startswith(character + "{", self.at):
                self.at += 2  # `$${` is no template
                parts.append(character + "{")
            elif self.text[self.at : self.at + 1] == "{":
                is_template = True
                self.at += 1
                self.template()
            else:
                parts.append(character)

    def template(self) -> None:
        """Pass what is between `${` and its `}`, quoted texts with templates of their own included."""
        # Of each open bracket its kind: "{", or '"' for a text.
        is_open = ["{"]
        begin = self.line
        while is_open:
            if match := _INSIDE.match(self.text, self.at):
                self.take(match[0])
            character = self.text[self.at : self.at + 1]
            if not character:
                raise invalid(begin, "a template without its end", "}")
            self.take(character)
            in_text = is_open[-1] == '"'
            if in_text and character == "\\":
                self.take(self.text[self.at : self.at + 1])
            elif in_text and character in "$%" and self.text.startswith("{", self.at):
                self.take("{")
                is_open.append("{")
            elif len(is_open) > MAX_DEPTH:
                raise invalid(self.line, "more nested templates", f"at most {MAX_DEPTH}")
            elif character == '"':
                is_open.pop() if in_text else is_open.append('"')
            elif not in_text and character == "{":
                is_open.append("{")
            elif not in_text and character == "}":
                is_open.pop()

    def escape(self) -> str:
        mark = self.text[self.at : self.at + 1]
        self.at += 1
        if mark in _ESCAPES:
            return _ESCAPES[mark]
        if mark in _HEX:
            digits = self.text[self.at : self.at + _HEX[mark]]
            if re.fullmatch(f"[0-9A-Fa-f]{{{_HEX[mark]}}}", digits):
                number = int(digits, 16)
                if number <= _HIGHEST and number not in _SURROGATES:
                    self.at += len(digits)
                    return chr(number)
        raise invalid(self.line, f"the escape \\{mark.strip()[:1]}", 'one of \\n, \\r, \\t, \\", \\\\, \\u and \\U')


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = _Scanner(text).tokens()
        self.next = next(self.tokens)
        self.count = 0

    def take(self) -> _Token:
        token = self.next
        if token.kind != "end":
            self.next = next(self.tokens)
            self.count += 1
            if self.count > MAX_TOKENS:
                raise invalid(token.line, f"more than {MAX_TOKENS:,} words and marks", "a shorter text")
        return token

    def is_mark(self, *marks: str) -> bool:
        return self.next.kind == "mark" and self.next.text in marks

    def expect(self, mark: str) -> _Token:
        if not self.is_mark(mark):
            raise invalid(self.next.line, self.next, repr(mark))
        return self.take()

    def skip_lines(self) -> None:
        while self.next.kind == "line":
            self.take()

    def whole(self) -> Body:
        body = self.body(0)
        if self.next.kind != "end":
            raise invalid(self.next.line, self.next, "a name")
        return body

    def body(self, depth: int) -> Body:
        if depth > MAX_DEPTH:
            raise invalid(self.next.line, "more nested blocks", f"at most {MAX_DEPTH}")
        body = Body()
        while True:
            self.skip_lines()
            if self.next.kind == "end" or self.is_mark("}"):
                return body
            name = self.take()
            if name.kind != "word" or "." in name.text:
                raise invalid(name.line, name, "the name of an attribute or block")
            if self.is_mark("="):
                self.take()
                if name.text in body.attributes:
                    raise invalid(name.line, f"{name.text} a second time", "each attribute once")
                body.attributes[name.text] = Attribute(name.text, self.value(0), name.line)
                self.end_of_line()
            else:
                body.blocks.append(self.block(name, depth))

    def block(self, kind: _Token, depth: int) -> Block:
        labels = []
        while self.next.kind in ("text", "word"):
            labels.append(self.take().text)
        if not self.is_mark("{"):
            raise invalid(self.next.line, self.next, f"= or {{ after {kind.text[:40]}")
        self.take()
        body = self.body(depth + 1)
        self.expect("}")
        self.end_of_line()
        return Block(kind.text, tuple(labels), body, kind.line)

    def end_of_line(self) -> None:
        if self.next.kind == "line":
            self.take()
        elif self.next.kind != "end" and not self.is_mark("}"):
            raise invalid(self.next.line, self.next, "the end of the line")

    def value(self, depth: int) -> Value:
        """Read a literal, or pass an expression."""
        if depth > MAX_DEPTH:
            raise invalid(self.next.line, "more nested values", f"at most {MAX_DEPTH}")
        found = self.literal(depth)
        if self.is_end_of_value():
            return found
        if self.next.kind != "mark":
            raise invalid(self.next.line, self.next, "an operator, a comma or the end of the line")
        self.pass_expression(self.next.line)
        return Expression()

    def is_end_of_value(self) -> bool:
        return self.next.kind in ("line", "end") or self.is_mark(",", "]", "}", ")")

    def literal(self, depth: int) -> Value:
        token = self.take()
        if token.kind == "text":
            return token.text
        if token.kind == "number":
            return Number(token.text)
        if token.kind in ("word", "template"):
            return _KEYWORDS.get(token.text, Expression())
        if token.kind == "mark" and token.text in "[{":
            return self.items(depth) if token.text == "[" else self.entries(depth)
        if token.kind != "mark" or token.text not in "(-!":
            raise invalid(token.line, token, "a value")
        if token.text == "(":
            self.pass_brackets(token)
        else:
            while self.is_mark("-", "!"):
                self.take()
            self.literal(depth)
        return Expression()

    def items(self, depth: int) -> Value:
        found: list[Value] = []
        while True:
            self.skip_lines()
            if self.is_mark("]"):
                self.take()
                return found
            if self.next.kind == "word" and self.next.text == "for":
                self.pass_brackets(_Token("mark", "[", self.next.line))
                return Expression()
            found.append(self.value(depth + 1))
            self.skip_lines()
            if not self.is_mark("]"):
                self.expect(",")

    def entries(self, depth: int) -> Value:
        found: dict[str, Value] = {}
        while True:
            self.skip_lines()
            if self.is_mark("}"):
                self.take()
                return found
            key = self.take()
            if key.kind not in ("word", "text") or (key.kind == "word" and key.text == "for"):
                self.pass_brackets(_Token("mark", "{", key.line), key)
                return Expression()
            if not self.is_mark("=", ":"):
                raise invalid(self.next.line, self.next, "= after the key of an object")
            self.take()
            if key.text in found:
                raise invalid(key.line, f"{key.text[:40]} a second time", "each key once")
            found[key.text] = self.value(depth + 1)
            if self.is_mark(","):
                self.take()
            elif self.next.kind != "line" and not self.is_mark("}"):
                raise invalid(self.next.line, self.next, "a comma, the end of the line or }")

    def pass_expression(self, line: int) -> None:
        """Up to the end of the value, which a line break inside brackets does not end."""
        while not self.is_end_of_value():
            token = self.take()
            if token.kind == "mark" and token.text in _CLOSING:
                self.pass_brackets(token)
        if self.is_mark(")"):
            raise invalid(line, "')'", "the end of the value")

    def pass_brackets(self, opening: _Token, first: _Token | None = None) -> None:
        is_open = [_CLOSING[opening.text]]
        pending = [first] if first is not None else []
        while is_open:
            token = pending.pop() if pending else self.take()
            if token.kind == "end":
                raise invalid(opening.line, f"{opening.text!r} without its end", repr(is_open[-1]))
            if token.kind != "mark":
                continue
            if token.text in _CLOSING:
                is_open.append(_CLOSING[token.text])
            elif token.text in _CLOSING.values() and token.text != is_open.pop():
                raise invalid(token.line, token, "brackets in pairs")
