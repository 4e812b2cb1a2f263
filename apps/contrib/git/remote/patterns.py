"""Patterns of tags, such as `v{version}`, `vpc/v{version}` and `{name}-{version}`: which tag is which version of what.

`{version}` is a strict SemVer 2.0 version, as Larder publishes it. `{name}` is a part of the module's address or of the
folder, without a slash.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from apps.lib import versions
from apps.lib.errors import Invalid, RegistryError
from apps.lib.versions import Version

MAX_PATTERN_CHARACTERS = 200
MAX_NAMED = 5
_PLACES = {"version": r"(?P<version>[0-9][0-9A-Za-z.+-]*)", "name": r"(?P<name>[0-9A-Za-z][0-9A-Za-z_-]*)"}
_PART = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Match:
    """`name` is empty where the pattern has no `{name}`."""

    version: Version
    name: str = ""


def check(pattern: str) -> str:
    """Return it. Raises Invalid."""
    hint = "Use a pattern such as v{version}, vpc/v{version} or {name}-{version}."
    if not 0 < len(pattern) <= MAX_PATTERN_CHARACTERS or not pattern.isprintable() or " " in pattern:
        raise Invalid(f"A tag pattern has 1 to {MAX_PATTERN_CHARACTERS} characters and no blanks.", hint=hint)
    names = _PART.findall(pattern)
    unknown = next((name for name in names if name not in _PLACES), None)
    if unknown is not None or "{" in _PART.sub("", pattern) or "}" in _PART.sub("", pattern):
        raise Invalid(f"The tag pattern is {pattern!r}, expected only {{version}} and {{name}} in braces.", hint=hint)
    if names.count("version") != 1 or names.count("name") > 1:
        raise Invalid(
            f"The tag pattern is {pattern!r}, expected {{version}} once and {{name}} at most once.", hint=hint
        )
    return pattern


def match(pattern: str, tag: str) -> Match | None:
    """Return what the tag says by this pattern; None if it does not fit, or its version is not strict SemVer."""
    found = _compiled(pattern).fullmatch(tag)
    if found is None:
        return None
    try:
        version = versions.parse(found["version"])
    except RegistryError:
        return None
    return Match(version, found.groupdict().get("name") or "")


def why_not(rules: Iterable[str], tag: str) -> str:
    """Say in a sentence or two why a tag fits none of the patterns, and what would."""
    tried = list(dict.fromkeys(rules))
    for pattern in tried:
        found = _compiled(pattern, loose=True).fullmatch(tag)
        if found is not None:
            try:
                versions.parse(found["version"])
            except RegistryError as error:
                version = found["version"]
                fix = error.hint.removeprefix("Use ").removesuffix(".")
                better = pattern.replace("{version}", fix).replace("{name}", found.groupdict().get("name") or "")
                hint = f" Tag it {better}." if fix[:1].isdigit() else " Use three numbers, such as 1.2.0."
                return f"It matches {pattern}, but {version[:100]!r} is not a SemVer version.{hint}"
    if not tried:
        return "The repository has no rules."
    named = ", ".join(tried[:MAX_NAMED]) + (f" and {len(tried) - MAX_NAMED} more" if len(tried) > MAX_NAMED else "")
    return f"It does not match {named}."


def filled(text: str, name: str) -> str:
    """Put the name into a folder or an address that has `{name}`."""
    return text.replace("{name}", name)


@lru_cache(maxsize=1024)
def _compiled(pattern: str, *, loose: bool = False) -> re.Pattern[str]:
    """`loose` takes versions that are none, such as 1.2, to say so."""
    places = _PLACES | ({"version": r"(?P<version>[0-9][^/]*)"} if loose else {})
    written = "".join(
        places[part] if number % 2 else re.escape(part) for number, part in enumerate(_PART.split(pattern))
    )
    return re.compile(written, re.ASCII)
