"""Version constraints of providers, as OpenTofu and Terraform read them and write them into lock files.

Clients read those of modules (`constraints.py`) otherwise: there `~> 2` has no upper limit, here it means `~> 2.0`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Final, Self

from apps.lib import versions
from apps.lib.errors import Invalid
from apps.lib.versions import MAX_DIGITS, Version

MAX_TERMS = 100
# In the order in which lock files list equal versions: `~> 1.2.0` before `~> 1.2`.
_PATCH, _MINOR = "~> patch", "~> minor"
_OPERATORS: Final = (">", ">=", "=", _PATCH, _MINOR, "<=", "<", "!=")
# At most one space after the operator: clients refuse more.
_TERM = re.compile(
    r"(=|!=|>=|<=|~>|>|<)?((?<=[=><]) )?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Term:
    operator: str  # one of _OPERATORS
    numbers: tuple[int, int, int]
    prerelease: str
    metadata: str

    def __str__(self) -> str:
        parts = self.numbers[:2] if self.operator == _MINOR else self.numbers
        operator = self.operator.partition(" ")[0]
        text = ".".join(map(str, parts)) if operator == "=" else f"{operator} {'.'.join(map(str, parts))}"
        return (
            text + (f"-{self.prerelease}" if self.prerelease else "") + (f"+{self.metadata}" if self.metadata else "")
        )

    @property
    def version(self) -> str:
        text = ".".join(map(str, self.numbers))
        return text + (f"-{self.prerelease}" if self.prerelease else "")

    def allows(self, version: Version) -> bool:
        if self.operator in ("=", "!="):
            # For these, build metadata counts.
            exact = f"{self.version}+{self.metadata}" if self.metadata else self.version
            return (version.text == exact) is (self.operator == "=")
        key, bound = version.sort_key, versions.sort_key(self.version)
        if self.operator in (_PATCH, _MINOR):
            major, minor, _ = self.numbers
            ceiling = f"{major}.{minor + 1}.0" if self.operator == _PATCH else f"{major + 1}.0.0"
            return bound <= key < versions.sort_key(ceiling)
        return {">": key > bound, ">=": key >= bound, "<": key < bound, "<=": key <= bound}[self.operator]


@dataclass(frozen=True, slots=True)
class Constraints:
    terms: tuple[Term, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises Invalid for text that clients refuse. An empty text allows every release."""
        parts = text.split(",") if text.strip() else []
        if len(parts) > MAX_TERMS:
            raise Invalid(f"A version constraint has {len(parts)} conditions, expected at most {MAX_TERMS}.")
        return cls(tuple(_term(part) for part in parts))

    def __str__(self) -> str:
        """The form of lock files: without duplicates, sorted, each number written out."""
        ordered = sorted(dict.fromkeys(self.terms), key=cmp_to_key(_order))
        return ", ".join(map(str, ordered))

    def and_(self, other: Self) -> Self:
        return type(self)(self.terms + other.terms)

    def allows(self, version: Version) -> bool:
        """A pre-release must be named exactly."""
        if version.is_prerelease and not any(term.operator == "=" and term.allows(version) for term in self.terms):
            return False
        return all(term.allows(version) for term in self.terms)

    def highest(self, offered: Iterable[str]) -> str | None:
        """The version that a client selects."""
        allowed = [version for version in map(versions.parse, offered) if self.allows(version)]
        return max(allowed, key=lambda version: version.sort_key).text if allowed else None


def _term(part: str) -> Term:
    match = _TERM.fullmatch(part.strip())
    if match is None:
        raise Invalid(
            f"Found the version constraint {part.strip()[:80]!r}, expected an operator and a version, such as ~> 1.4.",
            hint="Operators are =, !=, >, >=, <, <= and ~>; separate conditions with commas.",
        )
    operator, _, *written, prerelease, metadata = match.groups()
    if any(len(number) >= MAX_DIGITS for number in written if number):
        raise Invalid(f"The version constraint {part.strip()[:80]!r} has too large a number.")
    if operator == "~>":
        operator = _PATCH if written[2] is not None else _MINOR
    major, minor, patch = (int(number or 0) for number in written)
    found = Term(operator or "=", (major, minor, patch), prerelease or "", metadata or "")
    if found.prerelease:
        versions.parse(found.version)  # refuses what no version is
    return found


def _order(one: Term, other: Term) -> int:
    if (one.numbers, one.prerelease, one.metadata) == (other.numbers, other.prerelease, other.metadata):
        return _OPERATORS.index(one.operator) - _OPERATORS.index(other.operator)
    if (one.numbers, one.prerelease) == (other.numbers, other.prerelease):
        return -1 if _is_less(one.metadata, other.metadata) else 1
    if one.numbers != other.numbers:
        return -1 if one.numbers < other.numbers else 1
    # A release is above its pre-releases.
    if not (one.prerelease and other.prerelease):
        return -1 if one.prerelease else 1
    return -1 if _is_less(one.prerelease, other.prerelease) else 1


def _is_less(one: str, other: str) -> bool:
    """Compare texts after `-` and `+` like the clients' library, which differs from SemVer."""
    mine, theirs = one.split("."), other.split(".")
    for at, (left, right) in enumerate(zip(mine, theirs, strict=False)):
        last = (at == len(mine) - 1, at == len(theirs) - 1)
        if last[0] != last[1]:
            return last[0]
        if left != right or all(last):
            return _is_part_less(left, right)
    return False


def _is_part_less(left: str, right: str) -> bool:
    numeric: Callable[[str], bool] = lambda text: all("0" <= character <= "9" for character in text)  # noqa: E731
    if numeric(left) != numeric(right):
        return numeric(left)
    return (len(left), left) < (len(right), right) if numeric(left) else left < right
