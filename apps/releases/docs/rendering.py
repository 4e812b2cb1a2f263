"""Make pages from the Markdown of docs: kind, name and safe HTML (D17)."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import ClassVar

from apps.lib.markdown import rendering
from apps.lib.markdown.links import Place as Links
from apps.releases.docs import layouts
from apps.releases.docs.layouts import LICENCE, ROOTS, Place
from apps.releases.docs.models import DocsKind, Page

MAX_BYTES = 16 * 1024
MAX_VALUE_CHARACTERS = 300
_KNOWN = ("subcategory", "page_title", "description")
_PAIR = re.compile(r"([A-Za-z_][\w-]{0,40}):(?:[ \t]+(.*))?$")
_BLOCK = re.compile(r"[|>][+-]?\d?$")
_FENCE = "---"
_ESCAPED = re.compile(r'\\(["\\/])')
_HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
# Links between pages in docs of public providers: /providers/<namespace>/<type>/<version>/docs/… and, older,
# /docs/providers/<type>/…
_REGISTRY = re.compile(r"(?:providers/[^/]+/(?P<new>[^/]+)/[^/]+/docs|docs/providers/(?P<old>[^/]+))(?:/(?P<rest>.*))?")
_HEAD = 4_096
_ABOUT = {layouts.README: "README", "changelog": "Changelog", LICENCE: "License"}
_LICENCE = Place(DocsKind.ABOUT, LICENCE)
# Where links of these pages begin; those of others, in the folder of their kind.
_FOLDERS = {DocsKind.OVERVIEW: "docs", DocsKind.ABOUT: ""}


@dataclass(frozen=True, slots=True)
class FrontMatter:
    subcategory: str = ""
    page_title: str = ""
    description: str = ""


def split(text: str) -> tuple[FrontMatter, str]:
    """The values, and the text after them; all of the text if there is no front matter."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() != _FENCE:
        return FrontMatter(), text
    seen = 0
    key = ""
    found: dict[str, str] = {}
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in (_FENCE, "..."):
            values = {name: _scalar(found[name]) for name in _KNOWN if name in found}
            return FrontMatter(**values), "\n".join(lines[number + 1 :])
        seen += len(line)
        if seen > MAX_BYTES:
            break
        pair = _PAIR.match(line.rstrip())
        if pair is not None:
            key = pair[1]
            found[key] = (pair[2] or "").strip()
        elif key and line[:1].isspace():
            found[key] += f"\n{line.strip()}"  # a block, or a plain value on several lines
        elif line.strip():
            key = ""
    return FrontMatter(), text


def _scalar(raw: str) -> str:
    """One line of text without quotes, block marks and the comment after a plain value."""
    first, _, rest = raw.partition("\n")
    if _BLOCK.match(first):
        return _line(rest)
    whole = _line(raw)
    if len(whole) > 1 and whole[0] == whole[-1] == '"':
        return _line(_ESCAPED.sub(r"\1", whole[1:-1].replace("\\n", " ").replace("\\t", " ")))
    if len(whole) > 1 and whole[0] == whole[-1] == "'":
        return _line(whole[1:-1].replace("''", "'"))
    return whole.partition(" #")[0].rstrip()


def _line(text: str) -> str:
    line = " ".join(text.split())
    shown = "".join(mark if mark.isprintable() else "\ufffd" for mark in line)
    return shown if len(shown) <= MAX_VALUE_CHARACTERS else f"{shown[: MAX_VALUE_CHARACTERS - 1]}…"


def render(texts: Mapping[Place, bytes], row: type[Page], *, prefix: str, provider_type: str) -> Iterator[Page]:
    """Each text as an unsaved `row`, with links below `prefix`, the path of the docs.

    Takes milliseconds for each page: never call it in a transaction.
    """
    places = frozenset(texts)
    for place, source in texts.items():
        text = rendering.text_of(source).replace("\r\n", "\n")
        front, body = split(text)
        found = _HEADING.search(body[:_HEAD])
        heading = " ".join(found[1].replace("\\_", "_").replace("`", "").split()) if found else ""
        base = _AmongPages(_FOLDERS.get(place.kind, f"docs/{place.kind}"), prefix, provider_type, places)
        yield row(
            kind=place.kind,
            slug=place.slug,
            name=_name(place, provider_type, front.page_title, heading)[:200],
            subcategory=front.subcategory,
            title=front.page_title or heading[:300],
            description=front.description,
            # Licences are laid out with blanks, which Markdown would take for code.
            html=f'<pre tabindex="0">{escape(text[: rendering.MAX_CHARACTERS])}</pre>'
            if place == _LICENCE
            else rendering.render(body.encode(), base),
        )


def _name(place: Place, provider_type: str, title: str, heading: str) -> str:
    """The name that readers search for: `dns_record`, though its file is `record.md`. Also for a provider dns-beta."""
    if place.kind == DocsKind.OVERVIEW:
        return "Overview"
    if place.kind == DocsKind.ABOUT:
        return _ABOUT[place.slug]
    if place.kind == DocsKind.GUIDE:
        return title or heading or place.slug.replace("-", " ").replace("_", " ").capitalize()
    if place.kind == DocsKind.FUNCTION:
        return place.slug
    called = re.compile(rf"(?<![\w.-])[a-z0-9-]+_{re.escape(place.slug)}(?![\w-])")
    for text in (heading, title):
        if found := called.search(text):
            return found[0]
    start = provider_type.replace("-", "_")
    return place.slug if f"{place.slug}_".startswith(f"{start}_") else f"{start}_{place.slug}"


@dataclass
class _AmongPages(Links):
    """A page in folder `base` of docs whose pages are `places`, shown below `prefix`."""

    prefix: str = ""
    provider_type: str = ""
    places: Collection[Place] = field(default_factory=frozenset)
    callouts: ClassVar[bool] = True

    @property
    def links(self) -> tuple[str, ...]:
        return (self.prefix,)

    def page_of(self, path: str, fragment: str) -> str | None:
        place = layouts.place_of(self._within(path)) or layouts.about_of(path)
        if place is None or place not in self.places:
            return None
        anchor = f"#{rendering.ANCHOR_PREFIX}{fragment}" if fragment else ""
        return self.prefix + ("" if place.kind == DocsKind.OVERVIEW else f"/{place.kind}/{place.slug}") + anchor

    def _within(self, path: str) -> str:
        """The path relative to the docs folder."""
        registry = _REGISTRY.fullmatch(path)
        if registry and self.provider_type in (registry["new"], registry["old"]):
            return registry["rest"] or layouts.INDEX
        for root in ROOTS:
            if path == root.rstrip("/"):
                return layouts.INDEX
            if path.startswith(root):
                return path.removeprefix(root)
        return path
