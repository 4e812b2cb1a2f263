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

    `new_accounts`: who gets an account at the first sign-in.
    """

    id: str
    issuer: str
    client_id: str
    secret: str
    name: str
    scopes: tuple[str, ...]
    groups_claim: str
    new_accounts: NewAccounts

    def __repr__(self) -> str:
        return f"Provider({self.id}={self.issuer})"  # without the secret, wherever it is printed

    @property
    def discovery_url(self) -> str:
        return f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"

    def is_safe_endpoint(self, url: object) -> bool:
        """Tell whether requests may go there: HTTPS, or HTTP on this machine if the issuer is there too."""
        return isinstance(url, str) and _is_safe(url, loopback=not self.issuer.startswith("https:"))

    @classmethod
    def parse_all(cls, words: Iterable[str], more: Mapping[str, str], secrets: Iterable[str]) -> tuple[Self, ...]:
        """Read `id=issuer` words, what the other variables say of these ids, and lines `id=secret`. Raises Invalid."""
        issuers = _pairs("PROVIDERS", words)
        said = {part: _pairs(part, _split(part, value)) for part, value in more.items()}
        said["SECRETS_FILE"] = _pairs("SECRETS_FILE", secrets)
        for part, values in said.items():
            if unknown := sorted(values.keys() - issuers.keys()):
                raise Invalid(
                    f"LARDER_OIDC_{part} names {unknown[0]}, which LARDER_OIDC_PROVIDERS does not.",
                    hint="Correct the name, or add the provider.",
                )
        if len(set(issuers.values())) != len(issuers):
            raise Invalid("LARDER_OIDC_PROVIDERS has the same issuer twice.", hint="Name each issuer once.")
        return tuple(cls._parse(id_, issuer, said) for id_, issuer in issuers.items())

    @classmethod
    def _parse(cls, id_: str, issuer: str, said: Mapping[str, Mapping[str, str]]) -> Self:
        if not _ID.fullmatch(id_):
            raise Invalid(f"LARDER_OIDC_PROVIDERS: {id_!r} is no name of a provider: expected a to z, 0 to 9 and -.")
        if not _is_safe(issuer, loopback=True) or len(issuer) > MAX_ISSUER_LENGTH or urlsplit(issuer).query:
            raise Invalid(
                f"LARDER_OIDC_PROVIDERS: {id_}={issuer!r} is no issuer: expected an https: URL without a query, "
                f"of at most {MAX_ISSUER_LENGTH} characters (http: only on loopback addresses)."
            )
        if id_ not in said["CLIENT_IDS"]:
            raise Invalid(f"LARDER_OIDC_CLIENT_IDS says nothing of {id_}: expected {id_}=… with the client id.")
        new_accounts = said["NEW_ACCOUNTS"].get(id_, "groups")
        if new_accounts not in _CHOICES:
            raise Invalid(f"LARDER_OIDC_NEW_ACCOUNTS: {id_}={new_accounts!r}: expected one of {', '.join(_CHOICES)}")
        scopes = said["SCOPES"].get(id_, "openid+profile").split("+")
        return cls(
            id=id_,
            issuer=issuer,
            client_id=said["CLIENT_IDS"][id_],
            secret=said["SECRETS_FILE"].get(id_, ""),
            name=said["NAMES"].get(id_, urlsplit(issuer).hostname or id_),
            scopes=tuple(dict.fromkeys(["openid", *filter(None, scopes)])),
            groups_claim=said["GROUPS_CLAIMS"].get(id_, "groups"),
            new_accounts=cast("NewAccounts", new_accounts),
        )


def _split(part: str, value: str) -> list[str]:
    """Names for people contain spaces; the other values do not."""
    return [word.strip() for word in value.split(",") if word.strip()] if part == "NAMES" else _words(value)


def _words(value: str) -> list[str]:
    return value.replace(",", " ").split()


def _pairs(part: str, words: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        id_, equals, value = (side.strip() for side in word.partition("="))
        if not (id_ and equals and value) or id_ in found:
            # Without the value: a line of the file may be a secret.
            raise Invalid(f"LARDER_OIDC_{part}: expected one name=value for each provider, such as corp=….")
        found[id_] = value
    return found


def _is_safe(url: str, *, loopback: bool) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    if not parts.hostname or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (loopback and parts.scheme == "http" and parts.hostname in _LOOPBACK)
