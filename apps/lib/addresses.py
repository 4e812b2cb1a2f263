"""Addresses (D10): rules for names, with errors that suggest a better one."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from apps.lib.errors import Invalid
from apps.lib.net import hostnames

LONGEST_NAME = 64
LONGEST_SYSTEM = 64
LONGEST_TYPE = 63  # clients parse it as a host name label

_URL = "it is a part of Larder's own URLs"
_PROTOCOL = "clients request it at the root of every registry"
_OCI = "OCI clients read it as a path word of /v2/"

OCI_WORDS = dict.fromkeys(("blobs", "manifests", "tags", "referrers", "uploads"), _OCI)
_PROTOCOL_WORDS = dict.fromkeys(
    ("providers", "modules", "v1", "v2", "mirror", "login", "oauth", "well-known"), _PROTOCOL
)
_PAGES = (
    "account", "accounts", "admin", "api", "archives", "assets", "audit", "auth", "browse", "docs", "download",
    "downloads", "health", "healthz", "help", "jobs", "keys", "logout", "metrics", "mirrors", "namespace",
    "namespaces", "new", "notifications", "oci", "p", "packages", "profile", "readyz", "releases", "search",
    "settings", "setup", "signin", "signout", "signup", "static", "static-copy", "status", "tokens", "upload",
    "users", "webhooks",
)  # fmt: skip
_UNDER_NAMESPACE = (
    "new",
    "settings",
    "members",
    "keys",
    "tokens",
    "audit",
    "providers",
    "modules",
    "releases",
    "search",
)
_UNDER_MODULE = ("new", "versions", "download", "releases", "settings", "upload")

RESERVED_NAMESPACES: Mapping[str, str] = {**dict.fromkeys(_PAGES, _URL), **_PROTOCOL_WORDS, **OCI_WORDS}
RESERVED_MODULE_NAMES: Mapping[str, str] = {**dict.fromkeys(_UNDER_NAMESPACE, _URL), **OCI_WORDS}
RESERVED_SYSTEMS: Mapping[str, str] = {**dict.fromkeys(_UNDER_MODULE, _URL), **OCI_WORDS}
RESERVED_PROVIDER_TYPES: Mapping[str, str] = {**dict.fromkeys(_UNDER_NAMESPACE, _URL), **OCI_WORDS}

_NOBODY: frozenset[str] = frozenset()
_TYPE_PREFIXES = ("terraform-", "opentofu-")


def check_namespace(text: str, reserved: frozenset[str] = _NOBODY) -> None:
    """Raises Invalid. `reserved`: further names that the operator reserves."""
    _check("namespace", text, "-_", LONGEST_NAME, capitals=True)
    _check_reserved("namespace", text, RESERVED_NAMESPACES, reserved)


def check_module_name(text: str, reserved: frozenset[str] = _NOBODY) -> None:
    """Raises Invalid."""
    _check("module name", text, "-_", LONGEST_NAME, capitals=True)
    _check_reserved("module name", text, RESERVED_MODULE_NAMES, reserved)


def check_system(text: str, reserved: frozenset[str] = _NOBODY) -> None:
    """Raises Invalid: clients accept lower-case letters and digits only."""
    _check("system", text, "", LONGEST_SYSTEM)
    _check_reserved("system", text, RESERVED_SYSTEMS, reserved)


def check_provider_type(text: str, reserved: frozenset[str] = _NOBODY) -> None:
    """Raises Invalid. Clients fold provider sources to lower case."""
    _check("provider type", text, "-", LONGEST_TYPE)
    for prefix in _TYPE_PREFIXES:
        if text.startswith(prefix):
            # Clients refuse such a type in a source address: it looks like a repository name.
            short = text.removeprefix(prefix).removeprefix("provider-")
            raise Invalid(
                f"provider type {text!r} starts with {prefix!r}, which clients refuse in a source address",
                hint=f"Use {short!r}." if short else "Leave the prefix out.",
            )
    _check_reserved("provider type", text, RESERVED_PROVIDER_TYPES, reserved)


def canonical(text: str) -> str:
    """The form in which names are unique: lower case, with `-` for `_`."""
    return text.lower().replace("_", "-")


# In this order. No two digits become one letter: team6 and team8 are two names.
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("c1", "d"))
_LETTERS = str.maketrans("012345789inq", "olzeastbgl" + "mg")


def skeleton(text: str) -> str:
    """The form in which names look alike: `acme` for `Ac-Me`, `acne` and `acrne`, `hall` for `ha11`.

    Coarser than `canonical`. It is stored: another one needs a migration that fills the column again.
    """
    folded = text.lower().replace("-", "").replace("_", "")
    for pair, letter in _PAIRS:
        folded = folded.replace(pair, letter)
    return folded.translate(_LETTERS)


@dataclass(frozen=True, slots=True)
class ModuleAddress:
    """`namespace/name/system`. `parse` checks the parts, the constructor does not."""

    namespace: str
    name: str
    system: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}/{self.system}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises Invalid. Accepts reserved words: they name nothing."""
        parts = text.split("/")
        if len(parts) != 3:  # noqa: PLR2004 - the three of the line below
            raise Invalid(f"module address {text!r} has {len(parts)} parts, expected namespace/name/system")
        _check("namespace", parts[0], "-_", LONGEST_NAME, capitals=True)
        _check("module name", parts[1], "-_", LONGEST_NAME, capitals=True)
        _check("system", parts[2], "", LONGEST_SYSTEM)
        return cls(*parts)

    @staticmethod
    def spelled(namespace: str) -> str:
        """The form in which namespaces are compared: clients distinguish `Azure` and `azure`."""
        return namespace

    @property
    def path_name(self) -> str:
        """`name/system`: the address inside its namespace."""
        return f"{self.name}/{self.system}"

    @property
    def repository(self) -> str:
        """The name of its OCI repository, which must be lower case."""
        return str(self).lower()


@dataclass(frozen=True, slots=True)
class ProviderAddress:
    """`namespace/type`. `parse` checks the parts, the constructor does not."""

    namespace: str
    type: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.type}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises Invalid. Accepts reserved words: they name nothing."""
        namespace, slash, kind = text.partition("/")
        if not slash or "/" in kind:
            raise Invalid(f"provider address {text!r} has {text.count('/') + 1} parts, expected namespace/type")
        _check("namespace", namespace, "-_", LONGEST_NAME, capitals=True)
        _check("provider type", kind, "-", LONGEST_TYPE)
        return cls(namespace, kind)

    @property
    def source(self) -> str:
        """The address in configurations, after the host: clients accept neither capitals nor `_` in it."""
        return f"{canonical(self.namespace)}/{self.type}"

    @staticmethod
    def spelled(namespace: str) -> str:
        """Spell the address as `ModuleAddress` does. Clients fold it, so requests say `my-team`, and pages
        `My_Team`.
        """
        return canonical(namespace)

    @property
    def path_name(self) -> str:
        """Its name inside its namespace."""
        return self.type


def parse(text: str) -> ModuleAddress | ProviderAddress:
    """Return the address of a module or a provider, by the number of its parts. Raises Invalid."""
    parts = text.count("/") + 1
    if parts not in (2, 3):
        raise Invalid(
            f"The address {text[:200]!a} has {parts} part{'' if parts == 1 else 's'}.",
            hint="Expected namespace/name/system of a module, or namespace/type of a provider.",
        )
    return ProviderAddress.parse(text) if parts == 2 else ModuleAddress.parse(text)  # noqa: PLR2004


def hosted_provider(source: str, hosts: Iterable[str]) -> ProviderAddress | None:
    """`<one of the hosts>/ns/type`, normalised as clients do; a source without a host means the public registry."""
    host, _, path = source.strip().lower().partition("/")
    if not hostnames.is_one_of(host, hosts):
        return None
    try:
        return ProviderAddress.parse(path)
    except Invalid:
        return None


class Segment:
    """Django path converter: anything but a slash. Views answer 404 in their own dialect."""

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


def _check(what: str, text: str, separators: str, longest: int, *, capitals: bool = False) -> None:
    if not text:
        raise Invalid(f"the {what} is empty", hint="Give it a name.")
    letters = "letters" if capitals else "lower-case letters"
    *words, last = [letters, "digits", *(repr(mark) for mark in separators)]
    allowed = f"{', '.join(words)} and {last}"
    for position, character in enumerate(text[:200], start=1):
        if character in separators or (
            character.isascii() and character.isalnum() and (capitals or not character.isupper())
        ):
            continue
        if character.isascii() and character.isupper():
            raise Invalid(
                f"{what} {text[:80]!r} has an upper-case {character!r} at position {position}, expected {allowed}",
                hint=_suggestion(what, text, separators, capitals=capitals),
            )
        name = {"_": "an underscore", "-": "a dash", " ": "a space", ".": "a dot"}.get(character, "the character")
        raise Invalid(
            f"{what} {text[:80]!r} has {name} {character!r} at position {position}, expected {allowed}",
            hint=_suggestion(what, text, separators, capitals=capitals),
        )
    if text[0] in separators or text[-1] in separators:
        end, mark = ("starts", text[0]) if text[0] in separators else ("ends", text[-1])
        raise Invalid(f"{what} {text!r} {end} with {mark!r}, expected a letter or a digit there")
    double = re.search("[-_]{2}", text)
    if double:
        raise Invalid(f"{what} {text!r} contains {double[0]!r}, expected single separators", hint="Use one of the two.")
    if len(text) > longest:
        raise Invalid(f"{what} {text[:80]!r} is {len(text)} characters long, expected at most {longest}")


def _suggestion(what: str, text: str, separators: str, *, capitals: bool) -> str:
    """A similar name that is allowed: `platform-team` for `Platform Team`."""
    name = text if capitals else text.lower()
    if "-" in separators:  # without separators there is no good guess
        name = re.sub("[-_]{2,}", "-", re.sub(f"[^0-9A-Za-z{re.escape(separators)}]+", "-", name)).strip("-_")
    if name == text:
        return ""
    try:
        _check(what, name, separators, LONGEST_TYPE, capitals=capitals)
    except Invalid:
        return ""
    return f"Use {name!r}."


def _check_reserved(what: str, text: str, ours: Mapping[str, str], reserved: frozenset[str]) -> None:
    name = canonical(text)
    why = ours.get(name) or ("the operator has reserved it" if name in map(canonical, reserved) else None)
    if why:
        raise Invalid(f"{what} {text!r} is reserved: {why}", hint="Choose another name.")
