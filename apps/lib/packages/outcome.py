"""The outcome of the check of a provider package, also as JSON."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from apps.lib.archives.rules.outcome import Entry, raise_refusal


@dataclass(frozen=True, slots=True)
class PackageListing:
    """A provider zip that breaks no rule.

    `digest` and `size` are of the whole zip, as it was read here; `h1` is the hash of the unpacked tree that lock files
    hold. `executable` is the program's name (empty for a foreign package); `is_runnable` whether its mode says so (not
    in a zip packed on Windows).
    `protocols` come from a manifest inside (empty: there is none). `entries` as in a module's listing. `pid` is the
    process that read it.
    """

    digest: str
    size: int
    h1: str
    executable: str
    is_runnable: bool
    protocols: list[str]
    entries: tuple[Entry, ...]
    pid: int

    def as_fields(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Raises the Refusal if the fields are those of one; KeyError or TypeError if they are of neither."""
        raise_refusal(fields)
        return cls(**{**fields, "entries": tuple(Entry(**entry) for entry in fields["entries"])})
