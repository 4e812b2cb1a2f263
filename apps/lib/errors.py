"""The errors that verbs raise. Each carries a code of the domain; every edge maps codes to its own statuses."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar, Self


class RegistryError(Exception):
    """Something a user may be told. `str()` is the sentence, `hint` what to do about it (may be empty)."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class NotFound(RegistryError):
    code = "not_found"


class CredentialsRequired(RegistryError):
    code = "unauthenticated"


class UnknownOrPrivate(CredentialsRequired):
    """Nobody asks, and may have misspelled what anybody could read: the same for every name that is not public."""

    def __init__(self) -> None:
        super().__init__(
            "This is unknown or private: check the spelling, or log in.", hint="Clients log in with an API token."
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
    """Not now: the same again succeeds, or is refused for good, after `retry_after` seconds."""

    code = "unavailable"

    def __init__(self, message: str, *, hint: str = "", retry_after: int = 2) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why something was refused, kept as JSON beside it so that every reader sees the same words."""

    code: str
    found: str
    expected: str
    hint: str
    file: str = ""

    def as_dict(self) -> dict[str, str]:
        """The five fields by name, all text: ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, str]) -> Self:
        """Reads what `as_dict` wrote; unknown keys are ignored, so that an older release can read a newer row.

        Rows from before 0.1.0 call the hint `mend` and have hyphens in codes.
        """
        known = {"hint": fields.get("mend", "")} | dict(fields)
        known["code"] = str(known.get("code", "")).replace("-", "_")
        return cls(**{name: str(known.get(name, "")) for name in cls.__slots__})

    @property
    def sentence(self) -> str:
        """File, finding, expectation and hint in one line of text."""
        where = "" if self.found.startswith(self.file) else f"{self.file}: "  # "" begins every text
        hint = f" {self.hint.rstrip('.')}." if self.hint else ""
        return f"{where}found {self.found}, expected {self.expected}.{hint}"
