"""Targets of a text's links and images: files beside it, the web, or nothing."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import quote, unquote

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

INLINE_IMAGES = ("data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;")
MAX_HREF_CHARACTERS, MAX_TITLE_CHARACTERS, MAX_INLINE_IMAGES_BYTES = 2000, 300, 1_000_000
_WEB = re.compile(r"https?://[^/\s]|mailto:[^\s]", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


@dataclass
class Place:
    """The location of a text. This one resolves links to the web only.

    Subclasses resolve their files in `page_of` and `picture_of`, and list the prefixes of their URLs in `links` and
    `pictures`: the sanitiser drops all other URLs of this site.
    """

    callouts: ClassVar[bool] = False  # render `-> **Note** …` as an alert
    base: str = ""
    inline_bytes: int = field(default=0, init=False)

    @property
    def links(self) -> tuple[str, ...]:
        return ()

    @property
    def tabs(self) -> tuple[tuple[str, str], ...]:
        """Names and URLs of the pages that list what a README repeats."""
        return ()

    @property
    def pictures(self) -> tuple[str, ...]:
        return ()

    def page_of(self, path: str, fragment: str) -> str | None:  # noqa: ARG002  # for those who know files
        """The URL of a file's page, None if there is none."""
        return None

    def picture_of(self, path: str) -> str | None:  # noqa: ARG002  # as above
        return None

    def link(self, href: str) -> str | None:
        """The URL of a link; None if only its text remains."""
        if not href or len(href) > MAX_HREF_CHARACTERS:
            return None
        if href.startswith("#"):
            return href
        if _SCHEME.match(href):
            return href if _WEB.match(href) else None
        rest, _, fragment = href.partition("#")
        path = path_of(rest, self.base)
        return None if path is None else self.page_of(path, quote(fragment, safe="-_."))

    def picture(self, src: str) -> str | None:
        """The URL of an image in the text or the archive; None for remote images."""
        if src.startswith(INLINE_IMAGES):
            self.inline_bytes += len(src)
            return src if self.inline_bytes <= MAX_INLINE_IMAGES_BYTES else None
        if len(src) > MAX_HREF_CHARACTERS or _SCHEME.match(src):
            return None
        path = path_of(src.partition("#")[0], self.base)
        return None if path is None else self.picture_of(path)


def path_of(href: str, base: str) -> str | None:
    """The path in the archive that `href` means in folder `base`; None if it leaves the archive."""
    path = unquote(href.partition("?")[0])
    parts: list[str] = []
    for part in ("" if path.startswith("/") else f"{base}/").split("/") + path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def lead(state: StateCore) -> None:
    """The parser's last rule: resolve every link and image by `env["place"]`, or keep only its text."""
    place = state.env.setdefault("place", Place())
    for token in state.tokens:
        if token.children:
            token.children = list(led(token.children, place))


def led(tokens: list[Token], place: Place) -> Iterator[Token]:
    """The tokens with links resolved; a link without text or image (a badge's) is dropped. Changes none of them: other
    texts may share them.
    """
    held: list[list[Token]] = []  # open links, each with its tokens so far
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
            shown = _image(token, place) if token.type == "image" else token
            if held:
                held[-1].append(shown)
            else:
                yield shown
    for unclosed in held:
        yield from unclosed[1:]


def _closed(inside: list[Token], close: Token, place: Place) -> Iterator[Token]:
    link, *words = inside
    attrs = dict(link.attrs)
    target = place.link(str(attrs.pop("href", "")))
    if len(str(attrs.get("title", ""))) > MAX_TITLE_CHARACTERS:
        del attrs["title"]
    says = any(token.type == "image" or token.content.strip() for token in words)
    if target is not None and says:
        attrs["href"] = target
    is_kept = "href" in attrs or "id" in attrs
    yield from [Token(link.type, link.tag, link.nesting, attrs), *words, close] if is_kept else words


def _image(token: Token, place: Place) -> Token:
    target = place.picture(str(token.attrs.get("src", "")))
    if target is None:
        return Token("text", "", 0, content=words_of(token.children or []), meta={"is_image": True})
    attrs = token.attrs | {"src": target}
    if len(str(attrs.get("title", ""))) > MAX_TITLE_CHARACTERS:
        del attrs["title"]
    return Token(token.type, token.tag, token.nesting, attrs, children=token.children, content=token.content)


def words_of(tokens: list[Token]) -> str:
    """The plain text of the tokens."""
    return "".join(
        words_of(token.children) if token.children else " " if token.type.endswith("break") else token.content
        for token in tokens
        if token.type != "html_inline"
    )
