"""Identity providers that speak SAML 2.0."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from apps.lib.errors import Invalid
from apps.lib.settings_values.identity_providers import MAX_ISSUER_LENGTH, IdentityProvider, Said, is_safe

# It becomes part of an XPath expression of the library.
_ENTITY_ID = re.compile(rf"[^\s'\"<>]{{1,{MAX_ISSUER_LENGTH}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SamlProvider(IdentityProvider):
    """`source` is the path or the address of its metadata; `issuer` its entity id, to which accounts belong.

    `second_factors`: authentication context classes that tell of a second factor.
    """

    prefix = "LARDER_SAML"
    words = {
        "PROVIDERS": "metadata",
        "ENTITY_IDS": "entity_id",
        "NAMES": "name",
        "GROUPS_ATTRIBUTES": "groups_attribute",
        "NEW_ACCOUNTS": "new_accounts",
        "SECOND_FACTORS": "second_factors",
    }
    issuer_part = "ENTITY_IDS"
    groups_part = "GROUPS_ATTRIBUTES"
    flow = "apps.contrib.saml.protocol.LarderSamlProvider"

    source: str

    def saw_second_factor(self, claims: Mapping[str, object]) -> bool:
        return claims.get("acr") in self.second_factors

    @classmethod
    def parse(cls, id_: str, value: str, said: Said) -> Self:
        is_url = "://" in value
        if is_url and not is_safe(value, loopback=True):
            raise Invalid(
                f"{said.at('PROVIDERS')}: {id_}={value!r}: expected an https: URL (http: only on loopback addresses)."
            )
        if not is_url and not Path(value).is_file():
            raise Invalid(f"{said.at('PROVIDERS')}: {id_}={value!r}: there is no such file.")
        entity_id = said.of("ENTITY_IDS", id_)
        if not _ENTITY_ID.fullmatch(entity_id):
            raise Invalid(
                f"{said.at('ENTITY_IDS')} of {id_}: expected the entityID of the metadata, "
                f"of at most {MAX_ISSUER_LENGTH} characters."
            )
        if missing := [package for package in ("onelogin", "xmlsec", "lxml") if find_spec(package) is None]:
            raise Invalid(
                f"{said.at('PROVIDERS')} names {id_}, but a package that SAML needs is not installed: expected "
                f"python3-saml, xmlsec and lxml, found no {missing[0]}.",
                hint="Install them with: pip install --require-hashes -r requirements-extras.txt",
            )
        return cls(
            id=id_,
            issuer=entity_id,
            source=value,
            name=said.of("NAMES", id_, urlsplit(entity_id).hostname or id_),
            groups_claim=said.of("GROUPS_ATTRIBUTES", id_, "groups"),
            new_accounts=said.new_accounts(id_),
            second_factors=said.second_factors(id_),
        )
