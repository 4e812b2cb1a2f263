"""Identity providers as the settings describe them, whatever protocol they speak.

`registry_site/identity_providers.py` reads them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, cast
from urllib.parse import urlsplit

from apps.lib.errors import Invalid

FILE = "LARDER_SIGN_ON_FILE"
PROVIDERS, SECRETS = "PROVIDERS", "SECRETS_FILE"
MANY = ("SCOPES", "SECOND_FACTORS")  # values of a provider
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

    # What each part is called in the file: that of PROVIDERS tells the kind. The old variables are `PREFIX_PART`.
    prefix: ClassVar[str]
    words: ClassVar[Mapping[str, str]]
    issuer_part: ClassVar[str]
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
    def parse_all(cls, values: Mapping[str, str]) -> tuple[Self, ...]:
        """Read the old variables of this kind, by their parts: of SECRETS the content of the file. Raises Invalid."""
        return cls.parse_said(Said.in_variables(cls.prefix, values))

    @classmethod
    def parse_said(cls, said: "Said") -> tuple[Self, ...]:
        """Raises Invalid."""
        found = tuple(cls.parse(id_, value, said) for id_, value in said.providers.items())
        if len({one.issuer for one in found}) != len(found):
            word = cls.words[cls.issuer_part].replace("_", " ")
            raise Invalid(f"{said.at(cls.issuer_part)} has the same {word} twice.", hint=f"Name each {word} once.")
        return found

    @classmethod
    def parse(cls, id_: str, value: str, said: "Said") -> Self:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Said:
    """The values for each provider, by parts such as NAMES. `at` says where those of a part are written."""

    values: Mapping[str, Mapping[str, tuple[str, ...]]]
    at: Callable[[str], str]

    def __post_init__(self) -> None:
        """Raises Invalid."""
        for part, values in self.values.items():
            if unknown := sorted(values.keys() - self.providers.keys()):
                raise Invalid(
                    f"{self.at(part)} names {unknown[0]}, which {self.at(PROVIDERS)} does not.",
                    hint="Correct the name, or add the provider.",
                )
        for id_ in self.providers:
            if not _ID.fullmatch(id_):
                raise Invalid(f"{self.at(PROVIDERS)}: {id_!r} is not a provider name: expected a to z, 0 to 9 and -.")

    @classmethod
    def in_variables(cls, prefix: str, values: Mapping[str, str]) -> Self:
        """Raises Invalid."""
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        for part, value in values.items():
            # Names for people and secrets contain spaces; the other values do not.
            between = {"NAMES": ",", SECRETS: "\n"}.get(part)
            given = value.split(between) if between else value.replace(",", " ").split()
            pairs = _pairs(f"{prefix}_{part}", filter(str.strip, given))
            found[part] = {id_: tuple(one.split("+") if part in MANY else [one]) for id_, one in pairs.items()}
        return cls(found, lambda part: f"{prefix}_{part}")

    @property
    def providers(self) -> dict[str, str]:
        return {id_: value for id_, (value,) in self.values.get(PROVIDERS, {}).items()}

    def all_of(self, part: str, id_: str, *default: str) -> tuple[str, ...]:
        return tuple(filter(None, self.values.get(part, {}).get(id_, default)))

    def of(self, part: str, id_: str, default: str = "") -> str:
        return next(iter(self.all_of(part, id_, default)), "")

    def new_accounts(self, id_: str) -> NewAccounts:
        found = self.of("NEW_ACCOUNTS", id_, "groups")
        if found not in _CHOICES:
            raise Invalid(f"{self.at('NEW_ACCOUNTS')}: {id_}={found!r}: expected one of {', '.join(_CHOICES)}")
        return cast("NewAccounts", found)

    def second_factors(self, id_: str) -> frozenset[str]:
        return frozenset(self.all_of("SECOND_FACTORS", id_))


@dataclass(frozen=True, slots=True)
class SignOnFile:
    """A file of identity providers:

    secrets_file: /run/secrets/larder_oidc
    providers:
      corp: {issuer: https://id.acme.example, client_id: larder, name: Acme ID}
    """

    secrets_file: str
    said: dict[type[IdentityProvider], Said]

    @classmethod
    def parse(cls, data: object, kinds: Iterable[type[IdentityProvider]]) -> Self:
        """Read what the YAML has. Raises Invalid."""
        file = _known(data, "The file", ("secrets_file", "providers"))
        kind_of = {kind.words[PROVIDERS]: kind for kind in kinds}
        values: dict[type[IdentityProvider], dict[str, dict[str, tuple[str, ...]]]] = {}
        for id_, fields in _known(file.get("providers", {}), "providers", ()).items():
            kind = next((kind_of[word] for word in kind_of if isinstance(fields, dict) and word in fields), None)
            if kind is None:
                hint = f"{id_}: a provider has {' or '.join(kind_of)}, which says what protocol it speaks."
                raise Invalid(f"The provider {id_!r} cannot be read.", hint=hint)
            parts = {word: part for part, word in kind.words.items() if part != SECRETS}
            for word, value in _known(fields, id_, tuple(parts)).items():
                many = parts[word] in MANY
                found = value if many and isinstance(value, list) else [value]
                if not all(isinstance(one, str) and one for one in found):
                    expected = "a list of texts" if many else "text"
                    raise Invalid(f"{id_}: {word}: expected {expected}.", hint="Quote numbers, and words such as on.")
                values.setdefault(kind, {}).setdefault(parts[word], {})[id_] = tuple(map(str, found))
        secrets = file.get("secrets_file", "")
        if not isinstance(secrets, str):
            raise Invalid("secrets_file: expected the path of a file.")
        return cls(secrets, {kind: Said(said, kind.words.__getitem__) for kind, said in values.items()})

    def leave_out(self, kind: type[IdentityProvider]) -> list[str]:
        """Drop the providers of this kind, and return their names."""
        said = self.said.pop(kind, None)
        return list(said.providers) if said else []

    def providers(self, secrets: str) -> tuple[IdentityProvider, ...]:
        """Return them, with the secrets that the other file has for some. Raises Invalid."""
        pairs = _pairs("secrets_file", filter(str.strip, secrets.split("\n")))
        found: list[IdentityProvider] = []
        for kind, said in self.said.items():
            own = {id_: (pairs.pop(id_),) for id_ in said.providers if id_ in pairs and SECRETS in kind.words}
            found += kind.parse_said(Said({**said.values, SECRETS: own}, said.at))
        if pairs:
            raise Invalid(f"secrets_file names {min(pairs)}, which has no client secret.", hint="Correct the name.")
        return tuple(found)


def _known(value: object, what: str, allowed: tuple[str, ...]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise Invalid(f"{what}: expected keys and values.")
    if allowed and (unknown := sorted(value.keys() - set(allowed))):
        raise Invalid(f"{what}: unknown key {unknown[0]!r}: expected some of {', '.join(allowed)}.")
    return value


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
