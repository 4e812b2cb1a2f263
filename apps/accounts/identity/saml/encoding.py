"""Which bytes of SAML messages and metadata a parser reads as what they show."""

import codecs
import re

# XML 1.0, productions 23, 32 and 80.
_DECLARATION = re.compile(
    rb"""<\?xml\s+version\s*=\s*(["'])1\.\d\1"""
    rb"""(\s+encoding\s*=\s*(["'])utf-8\3)?(\s+standalone\s*=\s*(["'])(yes|no)\5)?\s*\?>""",
    re.IGNORECASE,
)


def is_utf8(xml: bytes) -> bool:
    """Tell whether a parser reads these bytes as UTF-8. In UTF-16 or UTF-7 a search for `<!` finds no doctype."""
    try:
        xml.decode()
    except UnicodeDecodeError:
        return False
    start = xml.removeprefix(codecs.BOM_UTF8)
    return b"\0" not in xml and (not re.match(rb"<\?xml\s", start) or bool(_DECLARATION.match(start)))
