"""Fold the sections that terraform-docs wrote into a README: our pages list the same inputs and outputs, with more
detail.
"""

import re

from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from apps.lib.markdown.links import words_of

_MARKER = "generated_marker"
_BEGIN = re.compile(r"\s*(?:BEGIN_(?:AUTOMATED_)?TF_DOCS|BEGINNING OF PRE-COMMIT-(?:TERRAFORM|OPENTOFU) DOCS HOOK)")
_END = re.compile(r"\s*(?:END_(?:AUTOMATED_)?TF_DOCS|END OF PRE-COMMIT-(?:TERRAFORM|OPENTOFU) DOCS HOOK)")
# Only these: some teams let it write the whole README.
_SECTIONS = frozenset(
    [
        "requirements",
        "providers",
        "modules",
        "resources",
        "data sources",
        "inputs",
        "required inputs",
        "optional inputs",
        "outputs",
    ]
)


def mark(state: StateBlock, comment: str) -> None:
    """Leave a token for a top-level comment that begins or ends generated text."""
    if state.level == 0 and (begins := bool(_BEGIN.match(comment)), _END.match(comment)) != (False, None):
        state.push(_MARKER, "", 0).meta = {"begins": begins}


def fold(state: StateCore) -> None:
    """The parser's last rule: fold those sections and remove the marks."""
    tokens = state.tokens
    marks = [at for at, token in enumerate(tokens) if token.type == _MARKER]
    begin = next((at for at in marks if tokens[at].meta["begins"]), None)
    end = next((at for at in marks if begin is not None and at > begin and not tokens[at].meta["begins"]), None)
    folded = _sections(tokens, begin, end) if begin is not None and end is not None else None
    if folded:
        first, last, titles = folded
        tabs = getattr(state.env.get("place"), "tabs", ())
        label = Token("text", "", 0, content=f"Generated reference: {', '.join(titles)}")
        opened = [
            Token("details_open", "details", 1, block=True),
            Token("summary_open", "summary", 1, block=True),
            Token("inline", "", 0, children=[label]),
            _closed("summary"),
        ]
        if tabs:
            links = [Token("text", "", 0, content="Also on the tabs ")]
            for number, (name, url) in enumerate(tabs):
                links += [Token("text", "", 0, content=" and ")] if number else []
                links += [Token("link_open", "a", 1, attrs={"href": url}), Token("text", "", 0, content=name)]
                links += [Token("link_close", "a", -1)]
            paragraph = Token("paragraph_open", "p", 1, block=True)
            opened += [
                paragraph,
                Token("inline", "", 0, children=[*links, Token("text", "", 0, content=".")]),
                _closed("p"),
            ]
        tokens = [*tokens[:first], *opened, *tokens[first:last], _closed("details"), *tokens[last:]]
    state.tokens = [token for token in tokens if token.type != _MARKER]


def _sections(tokens: list[Token], begin: int, end: int) -> tuple[int, int, list[str]] | None:
    """The index of the first token of the known sections, the one after the last, and their titles."""
    titles: list[str] = []
    first, level = -1, ""
    for at in range(begin, end):
        if tokens[at].type != "heading_open" or tokens[at].level or (titles and tokens[at].tag > level):
            continue
        title = words_of(tokens[at + 1].children or []).strip()
        if title.lower() in _SECTIONS:
            if not titles:
                first, level = at, tokens[at].tag
            titles.append(title)
        elif titles:
            return first, at, titles
    return (first, end, titles) if titles else None


def _closed(tag: str) -> Token:
    return Token(f"{tag}_close", tag, -1, block=True)
