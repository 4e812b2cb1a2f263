"""Callouts of provider docs, `-> **Note** …`, `~> …` and `!> …`, as the alerts of the gfm plugin."""

import re

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

# Mark -> class and title, with the titles of alerts.
_KINDS = {"->": ("note", "Note"), "~>": ("warning", "Warning"), "!>": ("caution", "Caution")}
_BEGIN = re.compile(
    r"(->|~>|!>)[ \t]*(?:(\*\*|__)(note|tip|important|warning|caution)[ \t]*:?\2[ \t]*:?[ \t]*)?", re.IGNORECASE
)


def callouts(state: StateCore) -> None:
    """A core rule between block and inline parsing: wrap paragraphs that begin with a mark."""
    if not getattr(state.env.get("place"), "callouts", False):
        return
    tokens: list[Token] = []
    open_levels: list[int] = []
    for position, token in enumerate(state.tokens):
        content = state.tokens[position + 1] if token.type == "paragraph_open" else None
        begin = _BEGIN.match(content.content) if content is not None else None
        if content is not None and begin is not None:
            kind, title = _KINDS[begin[1]]
            content.content = content.content[begin.end() :]
            box = Token("alert_open", "div", 1, block=True, attrs={"class": f"markdown-alert markdown-alert-{kind}"})
            head = Token("alert_title_open", "p", 1, block=True, attrs={"class": "markdown-alert-title"})
            title = begin[3].capitalize() if begin[3] else title
            words = Token("inline", "", 0, content=title, children=[], block=True)
            tokens += [box, head, words, Token("alert_title_close", "p", -1, block=True)]
            open_levels.append(token.level)
        tokens.append(token)
        if token.type == "paragraph_close" and open_levels and open_levels[-1] == token.level:
            open_levels.pop()
            tokens.append(Token("alert_close", "div", -1, block=True))
    state.tokens = tokens
