"""Hide secrets in text that is logged or stored: by their form, and by the name before them."""

import re
from typing import Any

HIDDEN = "[redacted]"

# A slash, plain or encoded in a query string.
_SLASH = r"(?:/|%(?:25)*2f)"
_DONE = r"(?!\[redacted\])"
_PRIVATE_KEY = r"[ +][A-Z0-9 +]*PRIVATE[ +]KEY[A-Z +]*-----"
_ARMOURED = r"(?:[\w+/=\s:.()-]|\\+[nr])"
_SHAPES = re.compile(
    "|".join(
        [
            # Private keys, also without an end if cut off.
            rf"(?P<armour>-----BEGIN{_PRIVATE_KEY}){_DONE}(?:[^\"']{{0,16000}}?-----END{_PRIVATE_KEY}|{_ARMOURED}*)",
            # API tokens, tokens of the OCI token service, JSON web tokens and Django's signed values.
            r"lrd_[a-z]_[0-9A-Za-z]{8,}",
            r"lrr_[\w.:%=-]{8,}",
            r"\beyJ[\w-]{6,}[.:][\w-]+[.:][\w-]+",
            # /archives/<capability>/…, /uploads/<ticket>, /invitations/<secret>. Upload sessions of OCI are no secret.
            rf"(?P<capability>{_SLASH}archives{_SLASH})[0-9a-z]+(?:\.|%(?:25)*2e)[\w-]{{20,}}",
            rf"(?P<link>(?<!/blobs)(?<!%2fblobs){_SLASH}(?:uploads|invitations){_SLASH})[\w~%.-]{{16,}}",
            # The password in the URL of a database, a broker or a store.
            r"(?P<account>://[^\s:/@\"'\\]*:)[^\s/\"'\\]+(?=@)",
            # Credentials without their header name. Prose has no digit, capital or padding here.
            r"(?P<scheme>\b(?:bearer|basic)(?:\s|%20|\+))(?=[\w.~+/=-]*(?:\d|=|(?-i:[A-Z])))[\w.~+/=-]{6,}",
            # The password of `admin` that the first run prints once.
            r"\b[0-9a-f]{6}(?:-[0-9a-f]{6}){3}\b",
        ]
    ),
    re.IGNORECASE | re.ASCII,
)
# The end of a name: matches larder-session, HTTP_X_CSRFTOKEN and csrfmiddlewaretoken too.
_NAME = (
    r"(?:authorization|cookie|passw(?:or)?d\d?|passphrase|secret|secret[_-]key|access[_-]key|private[_-]key|api[_-]?key"
    r"|token|ticket|capability|amz-signature|credentials?|session|session_?id|csrf|code_verifier)"
)
_IN_QUOTES = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_IN_BRACKETS = rf"\[(?:[^\[\]\"']|{_IN_QUOTES})*\]"
_SEPARATOR = r"(?:=|%(?:25)*3d|\\*[\"']\s*+:\s*+|:[ \t]++)"
_BARE = r"[^\s&;,<>()\[\]{}\"']+"
_NAMED = re.compile(
    "|".join(
        [
            # Raw headers: the value extends to the end of the line.
            rf"(?P<header>(?:authorization|cookie):[ \t]*+){_DONE}[^\r\n\"']+",
            # name=value in a query string, a form, a connection string or a repr; "name": "value"; name: value.
            rf"(?P<named>{_NAME}{_SEPARATOR}){_DONE}(?:{_IN_QUOTES}|{_IN_BRACKETS}|{_BARE})",
            # An OAuth code. Only in this context: other codes are no secret.
            r"(?P<code>(?:[?&]|%(?:25)*(?:3f|26))code(?:=|%(?:25)*3d))[^\s&\"'%\[]+",
        ]
    ),
    re.IGNORECASE | re.ASCII,
)
_SECRET_KEY = re.compile(rf"{_NAME}$", re.IGNORECASE | re.ASCII)


def redact_shapes(text: str) -> str:
    """Hide text with the form of our secrets. Never removes a quote, so a rendered JSON line stays valid."""
    return _SHAPES.sub(_hide, text)


def redact(text: str) -> str:
    """Hide text with the form of a secret, and the value after the name of one."""
    return _NAMED.sub(_hide, redact_shapes(text))


def redact_all(value: Any) -> Any:
    """A copy of JSON-like data with every text redacted. Other values become their repr."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {str(key): HIDDEN if is_secret(str(key)) else redact_all(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact_all(item) for item in value]
    return redact(repr(value))


def is_secret(key: str) -> bool:
    """The name alone marks its value as secret."""
    return _SECRET_KEY.search(key) is not None


def _hide(found: re.Match[str]) -> str:
    kept = found[found.lastgroup] if found.lastgroup else ""
    return f"{kept}{HIDDEN}"
