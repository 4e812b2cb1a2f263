"""Identity providers that speak SAML, as the settings describe them: LARDER_SAML_*, read by registry_site/env.py."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from apps.lib.errors import Invalid
from apps.lib.settings_values.openid import MAX_ISSUER_LENGTH, NewAccounts, Provider, Said, is_safe

# It becomes part of an XPath expression of the library.
_ENTITY_ID = re.compile(rf"[^\s'\"<>]{{1,{MAX_ISSUER_LENGTH}}}")


@dataclass(frozen=True, slots=True)
class SamlProvider:
    """`source` is the path or the address of its metadata; `issuer` its entity id, to which accounts belong.

    `second_factors`: authentication context classes that tell of a second factor.
    """

    id: str
    issuer: str
    source: str
    name: str
    groups_claim: str
    new_accounts: NewAccounts
    second_factors: frozenset[str] = frozenset()

    def saw_second_factor(self, claims: Mapping[str, object]) -> bool:
        return claims.get("acr") in self.second_factors

    @classmethod
    def parse_all(cls, words: Iterable[str], more: Mapping[str, str]) -> tuple[Self, ...]:
        """Read `id=path or URL` words, and what the other variables say of these ids. Raises Invalid."""
        said = Said("LARDER_SAML", words, more)
        found = tuple(cls._parse(id_, source, said) for id_, source in said.providers.items())
        if len({one.issuer for one in found}) != len(found):
            raise Invalid("LARDER_SAML_ENTITY_IDS has the same entity id twice.", hint="Name each once.")
        return found

    @classmethod
    def _parse(cls, id_: str, source: str, said: Said) -> Self:
        is_url = "://" in source
        if is_url and not is_safe(source, loopback=True):
            raise Invalid(
                f"LARDER_SAML_PROVIDERS: {id_}={source!r}: expected an https: URL (http: only on loopback addresses)."
            )
        if not is_url and not Path(source).is_file():
            raise Invalid(f"LARDER_SAML_PROVIDERS: {id_}={source!r}: there is no such file.")
        entity_id = said.of("ENTITY_IDS", id_)
        if not _ENTITY_ID.fullmatch(entity_id):
            raise Invalid(
                f"LARDER_SAML_ENTITY_IDS: expected {id_}=… with the entityID of the metadata, "
                f"of at most {MAX_ISSUER_LENGTH} characters."
            )
        return cls(
            id=id_,
            issuer=entity_id,
            source=source,
            name=said.of("NAMES", id_, urlsplit(entity_id).hostname or id_),
            groups_claim=said.of("GROUPS_ATTRIBUTES", id_, "groups"),
            new_accounts=said.new_accounts(id_),
            second_factors=said.second_factors(id_),
        )


AnyProvider = Provider | SamlProvider
