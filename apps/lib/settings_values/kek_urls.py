"""URLs of key-encryption keys: `file:`, and those of the key services that rooms speak with."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar, Self
from urllib.parse import urlsplit

from apps.lib.errors import Invalid

FILE = "file:"


@dataclass(frozen=True, slots=True)
class KeyAddress:
    """A key in a key service. `service` is the class that asks it, by its dotted name: it imports what it needs, and is
    loaded with the first question. `kind` and `example` are for people.
    """

    kind: ClassVar[str]
    schemes: ClassVar[tuple[str, ...]]
    example: ClassVar[str]
    service: ClassVar[str]

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises Invalid. Its text has no value of an option, because people write secrets there."""
        raise NotImplementedError

    @property
    def id(self) -> str:
        """Tell keys apart, and not the ways to them: rows name it."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        raise NotImplementedError

    @property
    def secret_file(self) -> str:
        """The file with the credential, which only signing workers may read; empty if there is none."""
        return ""


# None stands for the file of LARDER_SIGNING_KEK_FILE.
KekAddress = KeyAddress | None


def parse_all(words: Iterable[str], kinds: Collection[type[KeyAddress]]) -> tuple[KekAddress, ...]:
    """Read addresses: the first encrypts, each of them opens what it encrypted. Raises Invalid."""
    found: list[KekAddress] = []
    by_scheme = {scheme: kind for kind in kinds for scheme in kind.schemes}
    examples = " or ".join(", ".join([FILE, *(one.example for one in kinds)]).rsplit(", ", 1))
    for word in words:
        scheme = word.partition("://")[0]
        try:
            _ = urlsplit(word)
        except ValueError:
            raise Invalid(f"An address cannot be read: expected {examples}.") from None
        if word == FILE:
            found.append(None)
        elif scheme in by_scheme:
            found.append(by_scheme[scheme].parse(word))
        elif word.startswith(FILE):
            hint = "Write file: alone, and the path as LARDER_SIGNING_KEK_FILE."
            raise Invalid("Found file: with a path.", hint=hint)
        else:
            raise Invalid(f"Found an address that begins with {scheme[:20]!r}: expected {examples}.")
    if len(set(found)) != len(found):
        raise Invalid("The same key-encryption key is named twice.", hint="Name each key once, newest first.")
    return tuple(found)
