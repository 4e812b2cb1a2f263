"""Identity providers as the settings describe them, whatever protocol they speak. `registry_site/env.py` reads them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, cast
from urllib.parse import urlsplit

from apps.lib.errors import Invalid

NewAccounts = Literal["groups", "everyone", "nobody"]

MAX_ISSUER_LENGTH = 200  # the column of allauth's accounts
_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?", re.ASCII)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_CHOICES = ("groups", "everyone", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityProvider:
    """`id` is part of URLs; the issuer is its identity, so that another issuer under the same id is another provider.

    `new_accounts`: who gets an account at the first sign-in. `second_factors`: what the provider says of a sign-in with
    a second factor.
    """

    # The variables `PREFIX_PROVIDERS` and `PREFIX_PART` for each part, and which of them have issuers and groups.
    prefix: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]
    issuers: ClassVar[tuple[str, str]]
    groups_part: ClassVar[str]
    # A subclass of allauth's provider and of `sign_on.providers.OfSettings`, by its dotted name: it imports what its
    # protocol needs, and is loaded with the first sign-on.
    flow: ClassVar[str]

    id: str
    issuer: str
    name: str
    groups_claim: str
    new_accounts: NewAccounts
    second_factors: frozenset[str] = frozenset()

    def saw_second_factor(self, claims: Mapping[str, object]) -> bool:
        """Return whether the provider asked for a second factor, by the claims of its answer."""
        raise NotImplementedError

    @classmethod
    def parse_all(cls, words: Iterable[str], more: Mapping[str, str]) -> tuple[Self, ...]:
        """Read `id=…` words, and what the other variables say of these ids. Raises Invalid."""
        said = Said(cls.prefix, words, more)
        found = tuple(cls.parse(id_, value, said) for id_, value in said.providers.items())
        if len({one.issuer for one in found}) != len(found):
            part, word = cls.issuers
            raise Invalid(f"{cls.prefix}_{part} has the same {word} twice.", hint=f"Name each {word} once.")
        return found

    @classmethod
    def parse(cls, id_: str, value: str, said: "Said") -> Self:
        raise NotImplementedError


class Said:
    """The values of the variables `PREFIX_PROVIDERS`, `PREFIX_NAMES` and so on, for each provider. Raises Invalid."""

    def __init__(self, prefix: str, words: Iterable[str], more: Mapping[str, str]) -> None:
        self.prefix = prefix
        self.providers = _pairs(f"{prefix}_PROVIDERS", words)
        self._said = {}
        for part, value in more.items():
            # Names for people and secrets contain spaces; the other values do not.
            between = {"NAMES": ",", "SECRETS_FILE": "\n"}.get(part)
            given = value.split(between) if between else value.replace(",", " ").split()
            self._said[part] = _pairs(f"{prefix}_{part}", filter(str.strip, given))
        for part, values in self._said.items():
            if unknown := sorted(values.keys() - self.providers.keys()):
                raise Invalid(
                    f"{prefix}_{part} names {unknown[0]}, which {prefix}_PROVIDERS does not.",
                    hint="Correct the name, or add the provider.",
                )
        for id_ in self.providers:
            if not _ID.fullmatch(id_):
                raise Invalid(f"{prefix}_PROVIDERS: {id_!r} is not a provider name: expected a to z, 0 to 9 and -.")

    def of(self, part: str, id_: str, default: str = "") -> str:
        return self._said.get(part, {}).get(id_, default)

    def new_accounts(self, id_: str) -> NewAccounts:
        found = self.of("NEW_ACCOUNTS", id_, "groups")
        if found not in _CHOICES:
            raise Invalid(f"{self.prefix}_NEW_ACCOUNTS: {id_}={found!r}: expected one of {', '.join(_CHOICES)}")
        return cast("NewAccounts", found)

    def second_factors(self, id_: str) -> frozenset[str]:
        return frozenset(filter(None, self.of("SECOND_FACTORS", id_).split("+")))


def _pairs(variable: str, words: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        id_, equals, value = (side.strip() for side in word.partition("="))
        if not (id_ and equals and value) or id_ in found:
            # Without the value: a line of the file may be a secret.
            raise Invalid(f"{variable}: expected one name=value for each provider, such as corp=….")
        found[id_] = value
    return found


def is_safe(url: str, *, loopback: bool) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    if not parts.hostname or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (loopback and parts.scheme == "http" and parts.hostname in _LOOPBACK)
