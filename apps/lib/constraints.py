"""Version constraints of module blocks, as clients read them: `>= 1.2.0, < 2.0.0`, `~> 1.4`, `1.2.3`.

https://opentofu.org/docs/language/expressions/version-constraints/
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from apps.lib import versions
from apps.lib.errors import Invalid
from apps.lib.versions import Version

_TERM = re.compile(
    r"\s*(=|!=|>=|<=|~>|>|<)?\s*v?(\d{1,18}(?:\.\d{1,18}){0,2})(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\s*", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Term:
    """One condition. `parts` is the number of parts written: `~> 1.4` has two."""

    operator: str
    version: Version
    parts: int

    def allows(self, key: bytes) -> bool:
        bound = self.version.sort_key
        if self.operator == "~>":
            return bound <= key and (self._ceiling is None or key < self._ceiling)
        return {
            "=": key == bound,
            "!=": key != bound,
            ">": key > bound,
            ">=": key >= bound,
            "<": key < bound,
            "<=": key <= bound,
        }[self.operator]

    @property
    def _ceiling(self) -> bytes | None:
        """The rightmost written number may grow, none to its left: `~> 1` has no upper limit."""
        if self.parts == 1:
            return None
        numbers = [int(number) for number in self.version.precedence.partition("-")[0].split(".")]
        numbers[self.parts - 2] += 1
        raised = [*numbers[: self.parts - 1], 0, 0, 0][:3]
        return versions.sort_key(".".join(map(str, raised)))


@dataclass(frozen=True, slots=True)
class Constraint:
    terms: tuple[Term, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises Invalid for text that clients refuse too. The empty constraint allows every stable version."""
        terms = []
        for part in text.split(",") if text.strip() else ():
            match = _TERM.fullmatch(part)
            if match is None:
                found = f"found version constraint {part.strip()[:100]!r}"
                raise Invalid(
                    f"{found}, expected an operator and a version, such as ~> 1.4",
                    hint="Operators are =, !=, >, >=, <, <= and ~>; separate conditions with commas.",
                )
            operator, numbers, prerelease = match.groups()
            written = numbers.split(".")
            # Like clients, accept leading zeros and take missing numbers as zero.
            core = ".".join(str(int(number)) for number in [*written, "0", "0"][:3])
            terms.append(Term(operator or "=", versions.parse(core + (prerelease or "")), len(written)))
        return cls(tuple(terms))

    def allows(self, version: Version) -> bool:
        """Allows a pre-release only if the constraint is that exact version; ignores build metadata."""
        if version.is_prerelease:
            alone = len(self.terms) == 1 and self.terms[0].operator == "="
            return alone and self.terms[0].version.sort_key == version.sort_key
        # `~>` with a pre-release matches only pre-releases, and those need an exact constraint.
        if any(term.operator == "~>" and term.version.is_prerelease for term in self.terms):
            return False
        return all(term.allows(version.sort_key) for term in self.terms)

    def covers(self, version: Version) -> bool:
        """Return whether the version is in the range as people mean it: 5.1.0-beta1 counts as 5.1.0, except for `=`,
        `!=` and terms with a pre-release.

        So no pre-release slips through a range that was written to refuse, or to allow, a whole series.
        """
        key = version.sort_key
        core = versions.sort_key(version.precedence.partition("-")[0]) if version.is_prerelease else key
        return all(
            term.allows(key if term.operator in ("=", "!=") or term.version.is_prerelease else core)
            for term in self.terms
        )

    def highest(self, offered: Iterable[str]) -> str | None:
        """The version that a client selects among `offered`; None if it fails."""
        allowed = [version for version in map(versions.parse, offered) if self.allows(version)]
        return max(allowed, key=lambda version: version.sort_key).text if allowed else None
