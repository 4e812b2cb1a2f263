"""READMEs: rendered and sanitised in the worker, stored as HTML with the renderer's version (D17)."""

from collections.abc import Sequence

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.gfm import gfm_plugin

# Grows with every change of the output, so that an operator can render old versions again.
RENDERER = "1"
MAX_CHARACTERS = 512 * 1024
INLINE_IMAGES = ("data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;")

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


def render(source: bytes) -> str:
    """HTML that is safe inside our pages: no script, style, form, remote image or event handler survives."""
    text = source.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\x00", "\ufffd")
    parser = _parser()
    tokens = parser.parse(text[:MAX_CHARACTERS])
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # The page has its own h1: the README's outline begins one level below it.
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
    return nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
        id_prefix="user-content-",
        # What scrolls must be reachable from the keyboard, and a box needs a name, also without JavaScript.
        set_tag_attribute_values={
            "pre": {"tabindex": "0"},
            "input": {"disabled": "disabled", "aria-label": "Task"},
        },
        strip_comments=True,
    )


def _parser() -> MarkdownIt:
    # Raw HTML is off in the parser; the sanitiser is the second wall.
    parser = MarkdownIt("js-default", {"linkify": False, "html": False}).use(gfm_plugin)
    parser.add_render_rule("image", _image)
    return parser


def _image(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """An image that is not in the text itself would be fetched from elsewhere: its words stand in for it."""
    token = tokens[index]
    if str(token.attrs.get("src", "")).startswith(INLINE_IMAGES):
        return renderer.image(tokens, index, options, env)
    return escapeHtml(renderer.renderInlineAsText(token.children, options, env))


def _attribute(tag: str, attribute: str, value: str) -> str | None:
    """Drop what would fetch from elsewhere while the page is read (tracking, intranet hosts)."""
    if (tag, attribute) == ("img", "src"):
        return value if value.startswith(INLINE_IMAGES) else None
    if attribute == "href" and value.strip().lower().startswith("data:"):
        return None
    if (tag, attribute) == ("input", "type"):
        return "checkbox"
    return value
