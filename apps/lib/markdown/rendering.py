"""Markdown to safe HTML, in the worker; the HTML is stored with the renderer's version (D17).

`render(source, place)` returns the safe HTML of a text, `summary(source)` its first paragraph as text, `describe(text)`
the safe HTML of a description.
"""

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from html import escape
from itertools import pairwise
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_core import StateCore, text_join
from markdown_it.token import Token
from mdit_py_plugins.gfm import gfm_plugin

from apps.lib.markdown.generated import fold
from apps.lib.markdown.links import INLINE_IMAGES, Place, lead, led, words_of
from apps.lib.markdown.tags import add_tags, lowered
from apps.lib.text.highlighting import CLASSES as HIGHLIGHTS
from apps.lib.text.highlighting import language_of_label, lines_of

# Increase with every change of the output, so that operators can render old versions again.
RENDERER = "5"
MAX_CHARACTERS = 512 * 1024
# Some rules are quadratic in a paragraph's length, and a table of bars alone renders to a hundred times its size.
# Real texts stay far below both limits; the rest is shown as text, or not at all.
MAX_INLINE_CHARACTERS = 16 * 1024
MAX_TOKENS = 30_000
MAX_CODE_CHARACTERS = 64 * 1024
MAX_CODE_SECONDS = 1.0
MAX_DESCRIPTION_CHARACTERS = 8 * 1024
SUMMARY = 300
MAX_SUMMARY_TOKENS = 2_000
MAX_SENTENCE_CHARACTERS = 4 * 1024  # the pattern that looks for words in it is quadratic
ANCHOR_PREFIX = "user-content-"
# What is remembered of the words of texts that are rendered together: some tens of MB at most.
MAX_KNOWN, MAX_KNOWN_TOKENS = 10_000, 16
_FOLDS = ("details", "summary")
# References without a target and tags outside TAGS stay as written.
_NO_WORDS = re.compile(r"\[?!\[[^\]]*\]\[[^\]]*\](?:\]\[[^\]]*\])?|</?[a-zA-Z][^<>]*>")

_TAGS = """
a abbr b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img input kbd li ol p pre q s samp
section small span strong sub summary sup table tbody td tfoot th thead tr ul var
"""
TAGS = frozenset(_TAGS.split())
CLASSES = {
    "div": {
        "markdown-alert",
        *(f"markdown-alert-{kind}" for kind in ("note", "tip", "important", "warning", "caution")),
    },
    "p": {"markdown-alert-title"},
    "section": {"footnotes"},
    "sup": {"footnote-ref"},
    "ul": {"contains-task-list"},
    "li": {"task-list-item", "footnote-item"},
    "input": {"task-list-item-checkbox"},
    "a": {"footnote-backref"},
    "span": set(HIGHLIGHTS),
}
ATTRIBUTES = {
    "a": {"href", "title", "id"},
    "img": {"src", "alt", "title", "width", "height"},
    "input": {"type", "checked", "disabled"},
    "th": {"align", "scope"},
    "td": {"align"},
    "ol": {"start"},
    **{tag: {"id"} for tag in ("h1", "h2", "h3", "h4", "h5", "h6", "li", "section")},
}


Known = dict[str, list[Token]]  # inline tokens by their source, shared by everything that has these words


class _Anywhere(Place):
    """Keeps every link, to recognise a row of links."""

    def link(self, href: str) -> str:
        return href


def render(source: bytes, place: Place | None = None) -> str:
    """No script, style, form, remote image or event handler survives."""
    return render_and_summarise(source, place)[0]


def summary(source: bytes) -> str:
    """The first paragraph as plain text, at most 300 characters.

    Skips badges, headings, comments and the contents of <details>.
    """
    # Parse all blocks: definitions of image and link references are usually at the end.
    env = {"place": Place(), "most_tokens": MAX_SUMMARY_TOKENS}
    _parser().parse(text_of(source)[:MAX_CHARACTERS], env)
    return str(env["summary"])


def render_and_summarise(source: bytes, place: Place | None = None, known: Known | None = None) -> tuple[str, str]:
    """Both of one parse, which takes most of their time. `known`: an empty dictionary for the first of several texts,
    and then the same one: the READMEs of a module repeat most of each other's words.
    """
    place = place or Place()
    parser, env = _parser(), {"place": place, "known": {} if known is None else known}
    tokens = parser.parse(text_of(source)[:MAX_CHARACTERS], env)
    html = _cleaner(place.links, place.pictures).clean(parser.renderer.render(tokens, parser.options, env)).strip()
    return html, str(env["summary"])


@lru_cache(maxsize=2048)
def describe(text: str) -> str:
    """The description of a variable or an output, for a table cell: no headings, images or HTML."""
    parser = _plain_parser()
    shown = text if len(text) <= MAX_DESCRIPTION_CHARACTERS else f"{text[:MAX_DESCRIPTION_CHARACTERS]}…"
    return _cleaner((), ()).clean(str(parser.render(shown.replace("\x00", "\ufffd"), {}))).strip()


def text_of(source: bytes) -> str:
    """The Markdown as text that PostgreSQL can store."""
    return source.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\x00", "\ufffd")


@cache
def _parser() -> MarkdownIt:
    # Raw HTML is off in the parser; the sanitiser is the second line of defence.
    parser = MarkdownIt("js-default", {"linkify": False, "html": False}).use(gfm_plugin, front_matter=True)
    add_tags(parser)
    parser.core.ruler.after("block", "bound", _bound)
    parser.core.ruler.after("bound", "callouts", callouts)
    parser.core.ruler.at("inline", _inline)
    parser.core.ruler.disable("text_join")
    parser.core.ruler.push("summarise", _summarise)
    parser.core.ruler.push("lead", lead)
    parser.core.ruler.push("outline", _outline)
    parser.core.ruler.push("generated", fold)
    parser.add_render_rule("fence", _fence)
    return parser


@cache
def _plain_parser() -> MarkdownIt:
    parser = MarkdownIt("js-default", {"linkify": False, "html": False, "breaks": False})
    parser.disable(["heading", "lheading", "hr"])
    parser.core.ruler.push("lead", lead)
    return parser


def _bound(state: StateCore) -> None:
    del state.tokens[state.env.get("most_tokens", MAX_TOKENS) :]  # the sanitiser closes open tags


def _inline(state: StateCore) -> None:
    """Parse each text in its block, or take over what the same words were before. No later rule changes such tokens."""
    env = state.env
    known: Known = env.get("known", {})
    # What brackets mean then depends on the text that they are in.
    has_labels = bool(env.get("references") or env.get("footnotes", {}).get("refs"))
    for token in state.tokens:
        if token.type != "inline":
            continue
        words = token.content
        if len(words) > MAX_INLINE_CHARACTERS:
            token.children = [*(token.children or ()), Token("text", "", 0, content=words)]
        elif (children := known.get(words)) is not None and not (has_labels and "[" in words):
            token.children = children
        else:
            token.children = token.children or []
            state.md.inline.parse(words, state.md, env, token.children)
            text_join(StateCore(words, state.md, env, [token]))
            if len(token.children) <= MAX_KNOWN_TOKENS and len(known) < MAX_KNOWN and not (has_labels and "[" in words):
                known[words] = token.children


def _summarise(state: StateCore) -> None:
    """Before links are resolved: a row of links is recognised wherever they lead."""
    state.env["summary"] = ""
    folds: list[str] = []
    anywhere = _Anywhere()
    for before, token in pairwise(state.tokens[:MAX_SUMMARY_TOKENS]):
        shown = _unfolded(list(led(token.children or [], anywhere)), folds)  # for every token: a fold spans paragraphs
        is_heading = any(child.content[1:2] == "h" for child in shown if child.type == "html_inline")
        if before.type == "paragraph_open" and before.level == 0 and not is_heading and _is_sentence(shown):
            words = " ".join(words_of(shown).split())
            cut = words[: SUMMARY - 1]
            state.env["summary"] = words if len(words) <= SUMMARY else f"{cut.rpartition(' ')[0] or cut}…"
            return


def _outline(state: StateCore) -> None:
    """Headings start below the page's own and have GitHub's anchors."""
    seen: Counter[str] = Counter()
    for position, token in enumerate(state.tokens):
        if token.type not in ("heading_open", "heading_close"):
            continue
        token.tag = lowered(token.tag)
        if token.type == "heading_open" and position + 1 < len(state.tokens):
            slug = slug_of(words_of(state.tokens[position + 1].children or []))
            token.attrs["id"] = f"{slug}-{seen[slug]}" if seen[slug] else slug
            seen[slug] += 1


def slug_of(words: str) -> str:
    """GitHub's anchor of a heading with these words."""
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")[:200]


def _unfolded(children: list[Token], folds: list[str]) -> list[Token]:
    """Tokens outside <details> and <summary>, without images; updates `folds`, the open ones."""
    kept = []
    for child in children:
        tag = child.content.strip("</>") if child.type == "html_inline" else ""
        if tag not in _FOLDS:
            if not folds and child.type != "image" and not child.meta.get("is_image"):
                kept.append(child)
        elif not child.content.startswith("</"):
            folds.append(tag)
        elif tag in folds:
            while folds.pop() != tag:  # also ends tags left open inside
                pass
    return kept


def _is_sentence(tokens: list[Token]) -> bool:
    """False for a row of links, badges without a target, and tags outside TAGS."""
    outside, depth = [], 0  # of links
    for child in tokens:
        depth += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        if depth == 0:
            outside.append(child)
    code = any(child.type == "code_inline" for child in outside)
    return code or any(letter.isalpha() for letter in _NO_WORDS.sub("", words_of(outside)[:MAX_SENTENCE_CHARACTERS]))


@lru_cache(maxsize=8)
def _cleaner(links: tuple[str, ...], pictures: tuple[str, ...]) -> nh3.Cleaner:
    links, pictures = ("http://", "https://", "mailto:", "#", *links), (*INLINE_IMAGES, *pictures)

    def attribute(tag: str, name: str, value: str) -> str | None:
        """Drop attributes that fetch from other sites while the page is read (tracking, intranet hosts)."""
        if (tag, name) == ("img", "src"):
            return value if value.startswith(pictures) else None
        if name == "href" and not value.lower().startswith(links):
            return None
        if name == "href" and value.startswith("#"):  # ids have the prefix, so links to them need it
            return f"#{ANCHOR_PREFIX}{value[1:]}"
        return "checkbox" if (tag, name) == ("input", "type") else value

    return nh3.Cleaner(
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        attribute_filter=attribute,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
        id_prefix=ANCHOR_PREFIX,
        # Scrolling regions need keyboard focus, and checkboxes a name, also without JavaScript.
        set_tag_attribute_values={
            "pre": {"tabindex": "0"},
            "input": {"disabled": "disabled", "aria-label": "Task"},
            "img": {"loading": "lazy"},
        },
        strip_comments=True,
    )


@dataclass
class Budget:
    """For the code of one text: a thousand short blocks cost no more than one long one."""

    characters: int = MAX_CODE_CHARACTERS
    end: float = field(default_factory=lambda: time.monotonic() + MAX_CODE_SECONDS)

    def seconds_for(self, code: str) -> float:
        """Seconds for these characters; 0 once the budget is spent."""
        self.characters -= len(code)
        return max(0.0, self.end - time.monotonic()) if self.characters >= 0 else 0.0


def _fence(_: RendererProtocol, tokens: Sequence[Token], at: int, _options: Any, env: Any) -> str:
    token = tokens[at]
    language = language_of_label(token.info)
    budget: Budget = env.setdefault("code_budget", Budget())
    seconds = budget.seconds_for(token.content) if language else 0.0
    shown = "\n".join(lines_of(token.content, language, seconds=seconds)) + "\n" if seconds else escape(token.content)
    return f"<pre><code>{shown}</code></pre>\n"


# Callouts of provider docs, `-> **Note** …`, `~> …` and `!> …`, become the alerts of the gfm plugin.
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
