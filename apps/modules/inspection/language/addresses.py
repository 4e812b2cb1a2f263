"""Names, addresses and version constraints as clients check them. Each function says what is expected, or nothing."""

import re

MAX_CHARACTERS = 2_000  # longer ones are not judged

_NAME = re.compile(r"[^\W\d][\w-]*")
_PROVIDER_PART = re.compile(r"[0-9a-z](?:-?[0-9a-z])*")
_VERSION = (
    r"v?\d+(?:\.\d+)*(?:-(?:\d+[0-9A-Za-z~-]*(?:\.[0-9A-Za-z~-]+)*)|-?(?:[A-Za-z~-]+[0-9A-Za-z~-]*(?:\.[0-9A-Za-z~-]+)*))?"
    r"(?:\+[0-9A-Za-z~-]+(?:\.[0-9A-Za-z~-]+)*)?"
)
_TERM = re.compile(rf"\s*(?:=|!=|>=|<=|~>|>|<)?\s*{_VERSION}\s*", re.ASCII)
_REGISTRY_NAME = r"[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?"
_REGISTRY = re.compile(
    rf"(?:[^/]+\.[^/]+/|localhost(?::\d+)?/)?{_REGISTRY_NAME}/{_REGISTRY_NAME}/[0-9a-z]{{1,64}}(?://.*)?"
)
_BARE_PATH = re.compile(r"[\w -]+(?:/[\w -]+)*", re.ASCII)
_NO_REGISTRY_HOSTS = ("github.com", "bitbucket.org")


def is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text)) or (text[:1] != "-" and text.replace("-", "_").isidentifier())


def expected_provider_name(text: str) -> str:
    if not text.isascii() or len(text) > MAX_CHARACTERS or _PROVIDER_PART.fullmatch(text):
        return ""
    return "a provider's name: lower-case letters, digits and single hyphens between them"


def expected_provider_source(text: str) -> str:
    if not text.isascii() or len(text) > MAX_CHARACTERS:
        return ""
    *above, kind = parts = text.split("/")
    if len(parts) > 3 or not all(parts):  # noqa: PLR2004  # host, namespace, type
        return "a provider's source address such as hashicorp/aws"
    names = [kind.lower(), *(part.lower() for part in above[-1:])]
    if not all(map(_PROVIDER_PART.fullmatch, names)):
        return "a provider's source address such as hashicorp/aws"
    if kind.lower().startswith(("terraform-provider-", "terraform-")) and len(kind) > len("terraform-"):
        return f"a provider's source address without the prefix: {'/'.join([*above, kind.rpartition('terraform-')[2]])}"
    return ""


def expected_constraint(text: str) -> str:
    if len(text) > MAX_CHARACTERS or all(map(_TERM.fullmatch, text.split(","))):
        return ""
    return "a version constraint such as >= 1.2.0, < 2.0.0"


def expected_source(text: str, *, has_version: bool) -> str:
    """Of a module. `has_version`: then it must be the address of a registry's module."""
    if len(text) > MAX_CHARACTERS or not text.isascii():
        return ""
    is_registry = bool(_REGISTRY.fullmatch(text)) and text.partition("/")[0].lower() not in _NO_REGISTRY_HOSTS
    if has_version:
        return "" if is_registry else "an address of a module registry, since version is set"
    if not text.strip():
        return "a module's source address"
    if _BARE_PATH.fullmatch(text) and not is_registry:
        return f"a module's source address; a folder begins with ./ (./{text})"
    return ""
