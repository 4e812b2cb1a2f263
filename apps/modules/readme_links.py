"""Where the links and images of a README lead: to the files of the same version, to the web, or nowhere."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from urllib.parse import quote, unquote

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

INLINE_IMAGES = ("data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;")
SHOWN_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
MOST_HREF, MOST_TITLE, MOST_INLINE_IMAGES = 2000, 300, 1_000_000
_WEB = re.compile(r"https?://[^/\s]|mailto:[^\s]", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
# What Django's reverse() leaves as it is, so that the links equal those of the pages.
_SAFE = "/~:@!$&'()*+,;="


@dataclass
class Place:
    """The README in `base` of a version whose pages are at `prefix` and whose files are `files`."""

    prefix: str = ""
    base: str = ""
    files: Collection[str] = ()
    inline_bytes: int = field(default=0, init=False)

    def link(self, href: str) -> str | None:
        """The address that a link leads to; None where it stays the text that it is."""
        if not href or len(href) > MOST_HREF:
            return None
        if href.startswith("#"):
            return href
        if _SCHEME.match(href):
            return href if _WEB.match(href) else None
        rest, _, fragment = href.partition("#")
        path = self._path(rest)
        if path is None or not (path in self._names or path in _folders(self._names)):
            return None
        anchor = f"#{quote(fragment, safe='-_.')}" if fragment and path in self._names else ""
        return f"{self.prefix}/files/{quote(path, safe=_SAFE)}".removesuffix("/") + anchor

    def picture(self, src: str) -> str | None:
        """The address of an image that is in the text or in the archive; others would be fetched from elsewhere."""
        if src.startswith(INLINE_IMAGES):
            self.inline_bytes += len(src)
            return src if self.inline_bytes <= MOST_INLINE_IMAGES else None
        if len(src) > MOST_HREF or _SCHEME.match(src):
            return None
        path = self._path(src.partition("#")[0])
        if path is None or path not in self._names or not path.lower().endswith(SHOWN_IMAGES):
            return None
        return f"{self.prefix}/raw/{quote(path, safe=_SAFE)}"

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.files) if self.prefix else frozenset()

    def _path(self, href: str) -> str | None:
        """The path within the archive; None where it leads out of it."""
        path = unquote(href.partition("?")[0])
        parts: list[str] = []
        for part in ("" if path.startswith("/") else f"{self.base}/").split("/") + path.split("/"):
            if part == "..":
                if not parts:
                    return None
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        return "/".join(parts)


@lru_cache(maxsize=4)  # the READMEs of one archive ask with the same set
def _folders(names: frozenset[str]) -> frozenset[str]:
    return frozenset(_parents(names)) if names else frozenset()


def _parents(names: frozenset[str]) -> Iterator[str]:
    yield ""
    for name in names:
        while name := name.rpartition("/")[0]:
            yield name


def lead(state: StateCore) -> None:
    """The parser's last rule: sends every link and image to where `env["place"]` says, or leaves its words."""
    place = state.env.setdefault("place", Place())
    for token in state.tokens:
        if token.children:
            token.children = list(_led(token.children, place))


def _led(tokens: list[Token], place: Place) -> Iterator[Token]:
    """The tokens with their links judged; a link without a word or picture (a badge's) goes with what it held."""
    held: list[list[Token]] = []  # the open links, each with what is inside so far
    for token in tokens:
        if token.type == "link_open":
            held.append([token])
        elif token.type == "link_close":
            inside = list(_closed(held.pop(), token, place)) if held else []
            if held:
                held[-1].extend(inside)
            else:
                yield from inside
        else:
            led = _image(token, place) if token.type == "image" else token
            if held:
                held[-1].append(led)
            else:
                yield led
    for unclosed in held:
        yield from unclosed[1:]


def _closed(inside: list[Token], close: Token, place: Place) -> Iterator[Token]:
    link, *words = inside
    target = place.link(str(link.attrs.pop("href", "")))
    if len(str(link.attrs.get("title", ""))) > MOST_TITLE:
        del link.attrs["title"]
    says = any(token.type == "image" or token.content.strip() for token in words)
    if target is not None and says:
        link.attrs["href"] = target
    is_kept = "href" in link.attrs or "id" in link.attrs
    yield from [link, *words, close] if is_kept else words


def _image(token: Token, place: Place) -> Token:
    target = place.picture(str(token.attrs.get("src", "")))
    if len(str(token.attrs.get("title", ""))) > MOST_TITLE:
        del token.attrs["title"]
    if target is None:
        return Token("text", "", 0, content=words_of(token.children or []), meta={"is_image": True})
    token.attrs["src"] = target
    return token


def words_of(tokens: list[Token]) -> str:
    """What the tokens say, without what they look like."""
    return "".join(
        words_of(token.children) if token.children else " " if token.type.endswith("break") else token.content
        for token in tokens
        if token.type != "html_inline"
    )
