"""Names, addresses and version constraints as clients check them. Each function says what is expected, or nothing."""

import re

MAX_CHARACTERS = 2_000  # longer ones are not judged

_NAME = re.compile(r"[^\W\d][\w-]*")
_PROVIDER_PART = re.compile(r"[0-9a-z](?:-?[0-9a-z])*")
_LABEL = r"(?!..--)[0-9a-z](?:[0-9a-z-]*[0-9a-z])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.*(?::(?P<port>\d{{1,5}}))?", re.IGNORECASE)
_VERSION = (
    r"v?\d+(?:\.\d+)*(?:-(?:\d+[0-9A-Za-z~-]*(?:\.[0-9A-Za-z~-]+)*)|-?(?:[A-Za-z~-]+[0-9A-Za-z~-]*(?:\.[0-9A-Za-z~-]+)*))?"
    r"(?:\+[0-9A-Za-z~-]+(?:\.[0-9A-Za-z~-]+)*)?"
)
_TERM = re.compile(rf"\s*(?:=|!=|>=|<=|~>|>|<)?\s*{_VERSION}\s*", re.ASCII)


def is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text)) or (text[:1] != "-" and text.replace("-", "_").isidentifier())


def is_host(text: str) -> bool:
    """Return whether the package svchost of both clients accepts the host; not judged if it is not ASCII."""
    found = _HOST.fullmatch(text)
    if found is None:
        return not text.isascii()
    return not found["port"] or int(found["port"]) < 65536  # noqa: PLR2004


def expected_provider_name(text: str) -> str:
    if not text.isascii() or len(text) > MAX_CHARACTERS or _PROVIDER_PART.fullmatch(text):
        return ""
    return "a provider's name: lower-case letters, digits and single hyphens between them"


def expected_provider_source(text: str, *, is_newer: bool = False) -> str:
    """`is_newer`: of Terraform 1.16, where a namespace may have underscores."""
    if not text.isascii() or len(text) > MAX_CHARACTERS:
        return ""
    *above, kind = parts = text.split("/")
    namespace = above[-1].lower() if above else "a"
    if is_newer:
        namespace = namespace.replace("_", "-")
    is_known = namespace == "-" or _PROVIDER_PART.fullmatch(namespace)  # "-": as before version 0.13
    if len(parts) > 3 or not all(parts) or not is_known or not _PROVIDER_PART.fullmatch(kind.lower()):  # noqa: PLR2004
        return "a provider's source address such as hashicorp/aws"
    if len(above) == 2 and not is_host(above[0]):  # noqa: PLR2004
        return "a host name before the namespace"
    if above and kind.lower().startswith(("terraform-provider-", "terraform-")) and len(kind) > len("terraform-"):
        return f"a provider's source address without the prefix: {'/'.join([*above, kind.rpartition('terraform-')[2]])}"
    return ""


def expected_constraint(text: str) -> str:
    if len(text) > MAX_CHARACTERS or all(map(_TERM.fullmatch, text.split(","))):
        return ""
    return "a version constraint such as >= 1.2.0, < 2.0.0"
