"""Errors that verbs raise. Each has a domain code; every edge maps codes to its own statuses."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar, Self, TypeVar

T = TypeVar("T")


class RegistryError(Exception):
    """An error for users. `str()` is the sentence, `hint` how to fix it (may be empty)."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class NotFound(RegistryError):
    code = "not_found"


def existing(row: T | None, text: str, *, hint: str = "") -> T:
    """Return the row. Raises NotFound if there is none."""
    if row is None:
        raise NotFound(text, hint=hint)
    return row


class Misspelled(NotFound):
    """Its hint is the nearest name and nothing else: pages link to that instead."""


class CredentialsRequired(RegistryError):
    code = "unauthenticated"


class UnknownOrPrivate(CredentialsRequired):
    """For anonymous requests: one answer for every name that is not public, misspelled ones included."""

    def __init__(self) -> None:
        super().__init__(
            "This is unknown or private: check the spelling, or log in.",
            hint="Clients log in with an API token.",
        )


class RoleRequired(RegistryError):
    code = "forbidden"


class Conflict(RegistryError):
    code = "conflict"


class Invalid(RegistryError):
    code = "invalid"


class TooLarge(RegistryError):
    code = "too_large"


class Unavailable(RegistryError):
    """A temporary failure: retry after `retry_after` seconds."""

    code = "unavailable"

    def __init__(self, message: str, *, hint: str = "", retry_after: int = 2) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class TooManyAttempts(RegistryError):
    """A rate limit: it ends in `wait` seconds. Clients stop for as long as Retry-After says, so that is short."""

    code = "too_many_attempts"
    max_retry_after = 5

    def __init__(self, message: str, *, hint: str = "", wait: float = 1) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = min(self.max_retry_after, max(1, -int(-wait // 1)))


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for a refusal, stored as JSON so that every reader sees the same words."""

    code: str
    found: str
    expected: str
    hint: str
    file: str = ""

    def as_dict(self) -> dict[str, str]:
        """The five fields, all text."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, str]) -> Self:
        """Read what `as_dict` wrote. Ignores unknown keys, so that an older Larder can read a newer row.

        Rows from before 0.1.0 call the hint `mend` and have hyphens in codes.
        """
        known = {"hint": fields.get("mend", "")} | dict(fields)
        known["code"] = str(known.get("code", "")).replace("-", "_")
        return cls(**{name: str(known.get(name, "")) for name in cls.__slots__})

    @property
    def sentence(self) -> str:
        """File, finding, expectation and hint in one line of text."""
        # "" begins every text
        begin = "Found" if self.found.startswith(self.file) else f"In {self.file}: found"
        hint = f" {self.hint.rstrip('.')}." if self.hint else ""
        return f"{begin} {self.found}, expected {self.expected}.{hint}"
