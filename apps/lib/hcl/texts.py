"""Texts that people send, such as lock files: they are bounded, and the first fault refuses them with its line.

A request reads only short ones itself: longer ones are for a confined child.
"""

import re
import unicodedata
from itertools import islice

from apps.lib.amounts import amount_text
from apps.lib.errors import Invalid
from apps.lib.hcl import tree
from apps.lib.hcl.bodies import Argument, Content
from apps.lib.hcl.expressions import NativeBody
from apps.lib.hcl.files import File, Unreadable

MAX_BYTES = 512 * 1024
MAX_SECONDS = 2  # a lock file of the most bytes takes a fifth
MAX_TOKENS = 50_000  # each costs the parser hundreds of bytes; a lock file of the most bytes has 30,000
MAX_STEPS = 15_000  # points and brackets: its time grows with the square of a chain such as a.b[0]
_TOKEN = re.compile(r'"[^"\n]*"|\w+|[^\w\s]')
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_BRACKETS = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?:#|//)[^\n]*|[{}()\[\]]')


def parse(text: str, *, what: str) -> tuple[File, Content]:
    """Read `what`, such as "lock file", as HCL: its strings are in Unicode's normal form. Raises Invalid."""
    size = len(text.encode(errors="replace"))
    if size > MAX_BYTES:
        raise Invalid(f"The {what} has {amount_text(size)}, expected at most {amount_text(MAX_BYTES)}.")
    more = next(islice(_TOKEN.finditer(text), MAX_TOKENS, None), None)
    if more is not None or sum(map(text.count, ".[({")) > MAX_STEPS:
        raise Invalid(f"The {what} has more than {MAX_TOKENS:,} words and marks, or {MAX_STEPS:,} points and brackets.")
    file = File(what, unicodedata.normalize("NFC", text.removeprefix("\ufeff")).encode(errors="replace"))
    try:
        root = tree.parse(file, seconds=MAX_SECONDS)
    except Unreadable as error:
        raise invalid(file, error.offset, str(error), "a simpler text") from None
    if root.has_error:
        raise _refusal(file)
    for at, message in tree.faults_of(file, root):
        raise invalid(file, at, _line_of(file, file.line(at)), f"HCL ({message})")
    return file, NativeBody(file, root).content({}, only_arguments=False)


def invalid(file: File, at: int, found: str, expected: str, hint: str = "") -> Invalid:
    return Invalid(f"Line {file.line(at)}: found {found}, expected {expected}.", hint=hint)


def arguments_of(file: File, content: Content) -> dict[str, Argument]:
    """By their names. Raises Invalid if one is set twice."""
    named: dict[str, Argument] = {}
    for argument in content.arguments:
        if argument.name in named:
            raise invalid(file, argument.at, f"{argument.name[:40]} a second time", "each attribute once")
        named[argument.name] = argument
    return named


def _refusal(file: File) -> Invalid:
    """The tree says of a whole block, or text, that it is wrong: look for the line up to which it is sound."""
    text = file.text.decode()
    lines = text.split("\n")
    sound, number = 0, len(lines)
    if _is_sound(text):
        opening, number = _unclosed(text)[-1]
        return Invalid(f"Line {number}: found {opening!r} without its end, expected {_CLOSING[opening]!r}.")
    while number - sound > 1:
        middle = (sound + number) // 2
        sound, number = (middle, number) if _is_sound("\n".join(lines[:middle])) else (sound, middle)
    expected = 'name = value, or a block such as name "label" {'
    return Invalid(f"Line {number}: found {_line_of(file, number)}, expected {expected}.")


def _line_of(file: File, number: int) -> str:
    line = file.text.decode().split("\n")[number - 1].strip()
    return repr(line[:60]) if line else "the end of the text"


def _is_sound(text: str) -> bool:
    """Return whether nothing is wrong but brackets that are not closed yet."""
    closing = "".join(f"\n{_CLOSING[opening]}" for opening, _ in reversed(_unclosed(text)))
    try:
        return not tree.parse(File("", (text + closing).encode()), seconds=MAX_SECONDS / 10).has_error
    except Unreadable:
        return False


def _unclosed(text: str) -> list[tuple[str, int]]:
    """The brackets that are open at the end, each with its line."""
    found: list[tuple[str, int]] = []
    for match in _BRACKETS.finditer(text):
        if match[0] in _CLOSING:
            found.append((match[0], 1 + text.count("\n", 0, match.start())))
        elif found and match[0] == _CLOSING[found[-1][0]]:
            found.pop()
    return found
