"""Source text as HTML, line by line, with a few classes that static/css/components/source.css colours.

Pygments' own lexers for HCL and Markdown are quadratic or worse (64 kB of one letter: six minutes), and this runs in
requests. So these two lexers are our own; the others get only texts with lines of ordinary length, and a time limit
after which the rest stays plain.
"""

import re
import time
from collections.abc import Iterator
from functools import cache, lru_cache
from html import escape
from itertools import groupby

from pygments.lexer import ExtendedRegexLexer, Lexer, LexerContext
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, Punctuation, String, Text, _TokenType

MAX_CHARACTERS = 128 * 1024
LONGEST_LINE = 400
SECONDS = 0.3

_CLASSES = (
    (Comment, "hl-comment"),
    (Keyword.Constant, "hl-number"),
    (Keyword, "hl-keyword"),
    (Name.Attribute, "hl-name"),
    (Name.Tag, "hl-name"),
    (Name.Function, "hl-function"),
    (Name.Builtin, "hl-function"),
    (String.Interpol, "hl-function"),
    (String, "hl-string"),
    (Number, "hl-number"),
    (Generic.Heading, "hl-heading"),
    (Generic.Strong, "hl-heading"),
)
_BY_SUFFIX = {
    ".tf": "hcl",
    ".tofu": "hcl",
    ".hcl": "hcl",
    ".tfvars": "hcl",
    ".tftest": "hcl",
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".sh": "bash",
    ".bash": "bash",
    ".go": "go",
}
# Labels of code fences.
_BY_LABEL = {
    **dict.fromkeys(("hcl", "hcl2", "tf", "tofu", "terraform", "opentofu", "terraform-hcl"), "hcl"),
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), "bash"),
    "json": "json",
    "markdown": "markdown",
    "md": "markdown",
    "yaml": "yaml",
    "yml": "yaml",
    "go": "go",
    "golang": "go",
}
CLASSES = frozenset(name for _, name in _CLASSES)


def language_of(name: str) -> str:
    """hcl, json, markdown, yaml, bash or go, by file name; "" for plain text."""
    dot = name.rfind(".")
    return _BY_SUFFIX.get(name[dot:].lower(), "") if dot >= 0 else ""


def language_of_label(label: str) -> str:
    """The language by the first word of a code fence's label."""
    return _BY_LABEL.get(label.strip().partition(" ")[0].strip("{}.").lower(), "")


@lru_cache(maxsize=32)
def highlighted(text: str, language: str) -> tuple[str, ...]:
    """Each line as safe HTML, without its line break."""
    return lines_of(text, language, seconds=SECONDS)


def lines_of(text: str, language: str, *, seconds: float) -> tuple[str, ...]:
    """Highlight like `highlighted`, without a cache: lines after the time limit stay plain."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines or not language or len(text) > MAX_CHARACTERS or any(len(line) > LONGEST_LINE for line in lines):
        return tuple(escape(line) for line in lines)
    return tuple(_lines(_lexer(language), "\n".join(lines), seconds))


def _lines(lexer: Lexer, text: str, seconds: float) -> Iterator[str]:
    done: list[str] = []
    for name, tokens in groupby(_timely(lexer, text, seconds), key=lambda token: _class_of(token[0])):
        value = "".join(value for _, value in tokens)
        for position, part in enumerate(value.split("\n")):
            if position:
                yield "".join(done)
                done = []
            if part:
                done.append(f'<span class="{name}">{escape(part)}</span>' if name else escape(part))
    yield "".join(done)


def _timely(lexer: Lexer, text: str, seconds: float) -> Iterator[tuple[_TokenType, str]]:
    end = time.monotonic() + seconds
    for at, kind, value in lexer.get_tokens_unprocessed(text):
        yield kind, value
        if time.monotonic() > end:
            yield Text, text[at + len(value) :]
            return


@cache
def _class_of(kind: _TokenType) -> str:
    return next((name for known, name in _CLASSES if kind in known), "")


@cache
def _lexer(language: str) -> Lexer:
    own = {"hcl": HclLexer, "markdown": MarkdownLexer}.get(language)
    return own() if own else get_lexer_by_name(language)


Tokens = Iterator[tuple[int, _TokenType, str]]


def _up_to(end: re.Pattern[str], match: re.Match[str], context: LexerContext, kind: _TokenType) -> Tokens:
    """Everything up to the match of `end`, or to the end of the text: scans no text twice."""
    ending = end.search(context.text, match.end())
    stop = ending.end() if ending else len(context.text)
    yield match.start(), kind, context.text[match.start() : stop]
    context.pos = stop


def _heredoc(_: Lexer, match: re.Match[str], context: LexerContext) -> Tokens:
    end = re.compile(rf"^[ \t]*{re.escape(match[1])}[ \t]*$", re.MULTILINE)
    yield from _up_to(end, match, context, String.Heredoc)


def _block_comment(_: Lexer, match: re.Match[str], context: LexerContext) -> Tokens:
    yield from _up_to(re.compile(r"\*/"), match, context, Comment)


def _html_comment(_: Lexer, match: re.Match[str], context: LexerContext) -> Tokens:
    yield from _up_to(re.compile("-->"), match, context, Comment)


def _fence(_: Lexer, match: re.Match[str], context: LexerContext) -> Tokens:
    end = re.compile(rf"^[ \t]*{match[1]}[ \t]*$", re.MULTILINE)
    yield from _up_to(end, match, context, String.Backtick)


_BLOCKS = "check|data|ephemeral|import|locals|module|moved|output|provider|removed|resource|run|terraform|variable"


class HclLexer(ExtendedRegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Enough of HCL for colours. Each rule stays within one line and consumes at least one character."""

    flags = re.MULTILINE
    tokens = {
        "root": [
            (r"[ \t\n]+", Text),
            (r"(?:#|//).*", Comment),
            (r"/\*", _block_comment),
            (r"<<-?([A-Za-z_]\w*)[ \t]*$", _heredoc),
            (r'"', String, "string"),
            (rf"^[ \t]*(?:{_BLOCKS})\b", Keyword),
            (r"(?:for|if|in|for_each|dynamic)\b", Keyword),
            (r"(?:true|false|null)\b", Keyword.Constant),
            (r"\d[\d.]*(?:[eE][+-]?\d+)?", Number),
            (r"[A-Za-z_][\w-]*(?=[ \t]*=(?!=))", Name.Attribute),
            (r"[A-Za-z_][\w-]*(?=\()", Name.Function),
            (r"[A-Za-z_][\w-]*(?=[ \t]*\{)", Keyword),
            (r"[A-Za-z_][\w-]*", Name),
            (r"[{}\[\](),.?:]+", Punctuation),
            (r".", Operator),
        ],
        "string": [
            (r'[^"\\$%\n]+', String),
            (r"\\.", String.Escape),
            (r"[$%]\{[^}\"\n]*\}?", String.Interpol),
            (r'["\n]', String, "#pop"),
            (r".", String),
        ],
    }


class MarkdownLexer(ExtendedRegexLexer):  # type: ignore[misc]  # as above
    """Headings, code, links and bold text."""

    flags = re.MULTILINE
    tokens = {
        "root": [
            (r"^#{1,6} .*", Generic.Heading),
            (r"^[ \t]*(```+|~~~+).*$", _fence),
            (r"<!--", _html_comment),
            (r"^[ \t]*(?:[-*+]|\d{1,9}[.)])(?=[ \t])", Keyword),
            (r"^[ \t]*>", Keyword),
            (r"`[^`\n]+`", String.Backtick),
            (r"\*\*[^*\n]+\*\*", Generic.Strong),
            (r"!?\[[^\[\]\n]*\]\([^()\n]*\)", Name.Tag),
            (r"[^`*!\[<\n]+", Text),
            (r"\n", Text),
            (r".", Text),
        ],
    }
