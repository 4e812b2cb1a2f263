"""The few HTML tags that READMEs use in their Markdown, such as those of terraform-docs in its tables.

The parser's own HTML support stays off: it passes on anything that an author writes. These rules know a short list of
tags, rewrite each without its attributes, and leave the rest to be shown as text.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from apps.lib.markdown import generated

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,11})(\s[^<>]{0,1000})?/?>")
_ATTRIBUTE = re.compile(r"([a-zA-Z]{1,10})\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"']+))")
_ANCHOR = re.compile(r"[\w.-]{1,200}")
_KEPT = """
abbr b blockquote code dd del details dl dt em i kbd li ol p pre q s samp strong sub summary sup table tbody td tfoot
th thead tr ul var
"""
KEPT = frozenset(_KEPT.split())
EMPTY = frozenset(("br", "hr"))
HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
# Presentational tags: drop them, keep their contents.
IGNORED = frozenset(("center", "div", "font", "picture", "source", "span"))
_COMMENT, _COMMENT_END = "<!--", "-->"
_CODE_INDENT = 4


def add_tags(parser: MarkdownIt) -> None:
    parser.inline.ruler.at("html_inline", _tag)
    parser.block.ruler.before(
        "html_block", "comment", _comment_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def lowered(tag: str) -> str:
    """A README's h1 becomes h2: the page has its own h1."""
    return f"h{min(int(tag[1]) + 1, 6)}"


def _tag(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  # the parser calls it so
    if state.src[state.pos] != "<":
        return False
    if state.src.startswith(_COMMENT, state.pos):
        end = state.src.find(_COMMENT_END, state.pos + len(_COMMENT))
        if end < 0:
            return False
        state.pos = end + len(_COMMENT_END)
        return True
    found = _TAG.match(state.src, state.pos, state.posMax)
    if found is None or not _push(state, found[2].lower(), found[3] or "", closes=bool(found[1]), silent=silent):
        return False
    state.pos = found.end()
    return True


def _push(state: StateInline, tag: str, attributes: str, *, closes: bool, silent: bool) -> bool:
    """False for an unknown tag. Adds a token unless `silent`: the parser only looks ahead."""
    if tag not in KEPT | EMPTY | HEADINGS | IGNORED and tag not in ("a", "img"):
        return False
    if silent or tag in IGNORED:
        return True
    if tag in ("a", "img"):
        # Tokens like those of Markdown links and images, so that one rule resolves their targets.
        given = {found[1].lower(): found[2] or found[3] or found[4] or "" for found in _ATTRIBUTE.finditer(attributes)}
        if closes:
            if tag == "a":
                # 0 while pushing: the parser counts open tags, and this one may have no opening tag.
                state.push("link_close", "a", 0).nesting = -1
        elif tag == "a":
            token = state.push("link_open", "a", 0)
            token.nesting = 1
            token.attrs = {"href": given["href"]} if "href" in given else {}
            anchor = given.get("id") or given.get("name") or ""
            if _ANCHOR.fullmatch(anchor):
                token.attrs["id"] = anchor
        else:
            token = state.push("image", "img", 0)
            token.attrs = {"src": given.get("src", ""), "alt": ""}
            token.attrs |= {side: given[side] for side in ("width", "height") if given.get(side, "").isdecimal()}
            words = StateInline(given.get("alt", ""), state.md, state.env, [])
            words.push("text", "", 0).content = given.get("alt", "")
            token.children, token.content = words.tokens, given.get("alt", "")
        return True
    name = lowered(tag) if tag in HEADINGS else tag
    state.push("html_inline", "", 0).content = f"</{name}>" if closes and tag not in EMPTY else f"<{name}>"
    return True


def _comment_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:  # noqa: FBT001  # as above
    """A comment at the start of a line, across blank lines, up to the line on which it ends."""
    begin = state.bMarks[first] + state.tShift[first]
    if state.sCount[first] - state.blkIndent >= _CODE_INDENT or not state.src.startswith(_COMMENT, begin):
        return False
    # If one comment of this block never ends, no later one does: searching for each would be quadratic.
    endless: set[int] = state.env.setdefault("endless_comments", set())
    if end in endless:
        return False
    begin += len(_COMMENT)
    for line in range(first, end):
        at = state.src.find(_COMMENT_END, begin, state.eMarks[line])
        if at >= 0:
            if state.src[at + len(_COMMENT_END) : state.eMarks[line]].strip():
                return False  # followed by text: a paragraph
            if not silent:
                state.line = line + 1
                generated.mark(state, state.src[state.bMarks[first] + state.tShift[first] + len(_COMMENT) : at])
            return True
        begin = state.eMarks[line]
    endless.add(end)
    return False
