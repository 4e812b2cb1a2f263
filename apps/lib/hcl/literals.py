"""Strings, heredocs and numbers as HCL decodes them, without evaluating anything."""

import re

_NAMED = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(
    r'\\(?:(?P<named>[nrt"\\])|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})|)|(?P<sign>[$%])(?P=sign)\{'
)
_WRITTEN = {sign: f"\\{name}" for name, sign in _NAMED.items()}
_TO_ESCAPE = re.compile(r'["\\]|[^\x20-\x7e]|[$%](?=\{)')
_DOUBLED = re.compile(r"([$%])\1\{")
_TEMPLATE = re.compile(r"\$\$\{|%%\{|(?P<begins>[$%]\{)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_EXACT = 2**53  # beyond it, readers of JSON lose digits
_MOST_DIGITS = 40
_LAST_RUNE = 0x10FFFF


class Undecodable(Exception):
    """No literal, or one that JSON or a database could not hold as it is."""


def quoted(text: str) -> str:
    """Return the text between the quotes of a string without templates. Raises Undecodable."""
    return _storable(_ESCAPE.sub(_unescaped, text))


def written_string(text: str) -> str:
    """A string that is no template, as HCL's own writer does."""
    return f'"{_TO_ESCAPE.sub(_escaped, text)}"'


def undoubled(text: str) -> str:
    """`$${` and `%%{` say that no template begins. Raises Undecodable."""
    return _storable(_DOUBLED.sub(r"\1{", text))


def begins_template(text: str) -> bool:
    return any(match["begins"] for match in _TEMPLATE.finditer(text))


def heredoc(text: str, *, flush: bool) -> str:
    """The lines of a heredoc without templates; `flush` (`<<-`) takes from each what the least indented begins with."""
    lines = _LINE.findall(text.replace("\r\n", "\n"))
    if flush:
        # As HCL counts: lines of nothing but space do not count and stay as they are.
        spaces = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        lines = [line[spaces:] if line.strip() else line for line in lines]
    return undoubled("".join(lines))


def number(text: str) -> int | float:
    """Raises Undecodable also where a reader of JSON would see another number."""
    if not _NUMBER.fullmatch(text) or len(text) > _MOST_DIGITS:
        raise Undecodable(text[:_MOST_DIGITS])
    if text.lstrip("-").isdecimal():
        whole = int(text)
        if abs(whole) > _EXACT:
            raise Undecodable(text)
        return whole
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Undecodable(text)
    return value


def outdented(text: str, indentation: str) -> str:
    """The text without what all its lines but the first are indented by, which is at most `indentation`."""
    first, *others = text.replace("\r\n", "\n").split("\n")
    filled = [line for line in others if line.strip()]
    while indentation and not all(line.startswith(indentation) for line in filled):
        indentation = indentation[:-1]
    return "\n".join([first, *(line.removeprefix(indentation) for line in others)])


def _unescaped(match: re.Match[str]) -> str:
    if match["sign"]:
        return f"{match['sign']}{{"
    if match["named"]:
        return _NAMED[match["named"]]
    digits = match["short"] or match["long"]
    if not digits:
        raise Undecodable("an escape that HCL does not support")
    rune = int(digits, 16)
    if rune > _LAST_RUNE or 0xD800 <= rune <= 0xDFFF:  # noqa: PLR2004  # the surrogates of UTF-16
        raise Undecodable("an escape that is not a character")
    return chr(rune)


def _escaped(match: re.Match[str]) -> str:
    sign = match[0]
    if sign in "$%":
        return sign * 2
    if sign in _WRITTEN:
        return _WRITTEN[sign]
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if ord(sign) <= 0xFFFF else f"\\U{ord(sign):08x}"  # noqa: PLR2004 - the escape with four digits


def _storable(text: str) -> str:
    if "\0" in text:
        raise Undecodable("PostgreSQL's JSON has no NUL")
    return text
