"""The logo of an installation: an SVG or PNG that an operator names, read as if a stranger had sent it.

`<img>` runs no script of an SVG, but the file can also be opened on its own, at the registry's address. So a logo holds
shapes and colours, and nothing that acts or fetches.
"""

import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from apps.lib.errors import Invalid

MAX_BYTES = 50_000
MAX_PIXELS = 2048
_PNG = b"\x89PNG\r\n\x1a\n"
_SVG = "{http://www.w3.org/2000/svg}"
_NAMES = """
svg g defs title desc symbol use path rect circle ellipse line polyline polygon text tspan style
linearGradient radialGradient stop clipPath mask pattern marker
"""
_SHAPES = frozenset(_NAMES.split())
# References to anything but a part of the file, in attributes and styles. A backslash can hide either word.
_FETCHES = re.compile(r"""url\s*\(\s*["']?\s*(?!["'#\s])|@import|\\""", re.IGNORECASE)
_HINT = "Export it as a plain or optimised SVG, or as a PNG."


@dataclass(frozen=True, slots=True)
class Logo:
    body: bytes
    suffix: str  # svg or png

    @property
    def content_type(self) -> str:
        return {"svg": "image/svg+xml", "png": "image/png"}[self.suffix]


def read(body: bytes) -> Logo:
    """Raise Invalid unless it is a small PNG, or an SVG of shapes alone."""
    if len(body) > MAX_BYTES:
        raise Invalid(f"found {len(body)} bytes, expected at most {MAX_BYTES}", hint="Choose a smaller file.")
    if body.startswith(_PNG):
        return _png(body)
    _check_svg(body)
    return Logo(body, "svg")


def _png(body: bytes) -> Logo:
    """The first chunk says how large it is: https://www.w3.org/TR/png-3/#11IHDR"""
    width, height = int.from_bytes(body[16:20]), int.from_bytes(body[20:24])
    if body[12:16] != b"IHDR" or not 0 < width <= MAX_PIXELS or not 0 < height <= MAX_PIXELS:
        raise Invalid(
            f"found a PNG of {width} by {height} pixels, expected at most {MAX_PIXELS} in each direction",
            hint="Choose a smaller picture.",
        )
    return Logo(body, "png")


def _check_svg(body: bytes) -> None:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("found bytes that are neither a PNG nor text, expected an SVG or PNG file") from None
    # Entities could make a small text large, and a style sheet could lie elsewhere.
    if "<!DOCTYPE" in text or "<!ENTITY" in text or re.search(r"<\?(?!xml\s)", text):
        raise Invalid("found a document type or a processing instruction, expected shapes alone", hint=_HINT)
    try:
        root = ET.fromstring(text)  # noqa: S314  # without a document type there are no entities
    except ET.ParseError as error:
        raise Invalid(f"found {error}, expected an SVG or PNG file") from None
    if root.tag != f"{_SVG}svg":
        raise Invalid(f"found the element {root.tag[:60]!r}, expected an SVG file")
    for element in root.iter():
        _check_element(element)


def _check_element(element: ET.Element) -> None:
    # The parser of ElementTree keeps no comments.
    name = element.tag.removeprefix(_SVG)
    if name not in _SHAPES:
        raise Invalid(f"found the element {name[:60]!r}, expected shapes alone", hint=_HINT)
    if name == "style" and _FETCHES.search(element.text or ""):
        raise Invalid("found a style that fetches something, expected shapes alone", hint=_HINT)
    for attribute, value in element.attrib.items():
        plain = attribute.rpartition("}")[2].lower()
        is_reference = plain in ("href", "src") and not value.startswith("#")
        if plain.startswith("on") or is_reference or _FETCHES.search(value):
            raise Invalid(
                f"found the attribute {plain[:60]!r}, which acts or fetches, expected shapes alone", hint=_HINT
            )
