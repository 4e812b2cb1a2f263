"""Identity providers as the settings describe them: LARDER_OIDC_*, read by registry_site/env.py."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Self, cast
from urllib.parse import urlsplit

from apps.lib.errors import Invalid

NewAccounts = Literal["groups", "everyone", "nobody"]

MAX_ISSUER_LENGTH = 200  # the column of allauth's accounts
_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?", re.ASCII)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_CHOICES = ("groups", "everyone", "nobody")


@dataclass(frozen=True, slots=True)
class Provider:
    """`id` is part of URLs; the issuer is its identity, so that another issuer under the same id is another provider.

    `new_accounts`: who gets an account at the first sign-in. `second_factors`: values of the claims `amr` and `acr`
    that tell of a second factor.
    """

    id: str
    issuer: str
    client_id: str
    secret: str
    name: str
    scopes: tuple[str, ...]
    groups_claim: str
    new_accounts: NewAccounts
    second_factors: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Provider({self.id}={self.issuer})"  # without the secret, wherever it is printed

    @property
    def discovery_url(self) -> str:
        return f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"

    def saw_second_factor(self, claims: Mapping[str, object]) -> bool:
        """Tell whether the provider asked for a second factor, by the claims of its id token."""
        methods = claims.get("amr")
        said = [*(methods if isinstance(methods, list) else []), claims.get("acr")]
        return not self.second_factors.isdisjoint(one for one in said if isinstance(one, str))

    def is_safe_endpoint(self, url: object) -> bool:
        """Tell whether requests may go there: HTTPS, or HTTP on this machine if the issuer is there too."""
        return isinstance(url, str) and is_safe(url, loopback=not self.issuer.startswith("https:"))

    @classmethod
    def parse_all(cls, words: Iterable[str], more: Mapping[str, str], secrets: Iterable[str]) -> tuple[Self, ...]:
        """Read `id=issuer` words, what the other variables say of these ids, and lines `id=secret`. Raises Invalid."""
        said = Said("LARDER_OIDC", words, more, secrets)
        issuers = said.providers
        if len(set(issuers.values())) != len(issuers):
            raise Invalid("LARDER_OIDC_PROVIDERS has the same issuer twice.", hint="Name each issuer once.")
        return tuple(cls._parse(id_, issuer, said) for id_, issuer in issuers.items())

    @classmethod
    def _parse(cls, id_: str, issuer: str, said: "Said") -> Self:
        if not is_safe(issuer, loopback=True) or len(issuer) > MAX_ISSUER_LENGTH or urlsplit(issuer).query:
            raise Invalid(
                f"LARDER_OIDC_PROVIDERS: {id_}={issuer!r} is not an issuer: expected an https: URL without a query, "
                f"of at most {MAX_ISSUER_LENGTH} characters (http: only on loopback addresses)."
            )
        if not said.of("CLIENT_IDS", id_):
            raise Invalid(f"LARDER_OIDC_CLIENT_IDS has no entry for {id_}: expected {id_}=… with the client id.")
        scopes = said.of("SCOPES", id_, "openid+profile").split("+")
        return cls(
            id=id_,
            issuer=issuer,
            client_id=said.of("CLIENT_IDS", id_),
            secret=said.of("SECRETS_FILE", id_),
            name=said.of("NAMES", id_, urlsplit(issuer).hostname or id_),
            scopes=tuple(dict.fromkeys(["openid", *filter(None, scopes)])),
            groups_claim=said.of("GROUPS_CLAIMS", id_, "groups"),
            new_accounts=said.new_accounts(id_),
            second_factors=said.second_factors(id_),
        )


class Said:
    """What the variables `PREFIX_PROVIDERS`, `PREFIX_NAMES` and so on say of each provider. Raises Invalid."""

    def __init__(self, prefix: str, words: Iterable[str], more: Mapping[str, str], secrets: Iterable[str] = ()) -> None:
        self.prefix = prefix
        self.providers = _pairs(f"{prefix}_PROVIDERS", words)
        self._said = {}
        for part, value in more.items():
            # Names for people contain spaces; the other values do not.
            given = value.split(",") if part == "NAMES" else value.replace(",", " ").split()
            self._said[part] = _pairs(f"{prefix}_{part}", filter(str.strip, given))
        self._said["SECRETS_FILE"] = _pairs(f"{prefix}_SECRETS_FILE", secrets)
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
