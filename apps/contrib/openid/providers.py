"""Identity providers that speak OpenID Connect."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from apps.lib.errors import Invalid
from apps.lib.settings_values.identity_providers import MAX_ISSUER_LENGTH, IdentityProvider, Said, is_safe


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenIdProvider(IdentityProvider):
    """`second_factors`: values of the claims `amr` and `acr`."""

    prefix = "LARDER_OIDC"
    words = {
        "PROVIDERS": "issuer",
        "CLIENT_IDS": "client_id",
        "NAMES": "name",
        "SCOPES": "scopes",
        "GROUPS_CLAIMS": "groups_claim",
        "NEW_ACCOUNTS": "new_accounts",
        "SECOND_FACTORS": "second_factors",
        "SECRETS_FILE": "secrets_file",
    }
    issuer_part = "PROVIDERS"
    groups_part = "GROUPS_CLAIMS"
    flow = "apps.contrib.openid.protocol.LarderOpenIdProvider"

    client_id: str
    secret: str
    scopes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"OpenIdProvider({self.id}={self.issuer})"  # without the secret, wherever it is printed

    @property
    def discovery_url(self) -> str:
        return f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"

    def saw_second_factor(self, claims: Mapping[str, object]) -> bool:
        methods = claims.get("amr")
        said = [*(methods if isinstance(methods, list) else []), claims.get("acr")]
        return not self.second_factors.isdisjoint(one for one in said if isinstance(one, str))

    def is_safe_endpoint(self, url: object) -> bool:
        """Return whether requests may go there: HTTPS, or HTTP on this machine if the issuer is there too."""
        return isinstance(url, str) and is_safe(url, loopback=not self.issuer.startswith("https:"))

    @classmethod
    def parse(cls, id_: str, value: str, said: Said) -> Self:
        if not is_safe(value, loopback=True) or len(value) > MAX_ISSUER_LENGTH or urlsplit(value).query:
            raise Invalid(
                f"{said.at('PROVIDERS')}: {id_}={value!r} is not an issuer: expected an https: URL without a query, "
                f"of at most {MAX_ISSUER_LENGTH} characters (http: only on loopback addresses)."
            )
        if not said.of("CLIENT_IDS", id_):
            raise Invalid(f"{said.at('CLIENT_IDS')} has no entry for {id_}: expected its client id.")
        scopes = said.all_of("SCOPES", id_, "openid", "profile")
        return cls(
            id=id_,
            issuer=value,
            client_id=said.of("CLIENT_IDS", id_),
            secret=said.of("SECRETS_FILE", id_),
            name=said.of("NAMES", id_, urlsplit(value).hostname or id_),
            scopes=tuple(dict.fromkeys(["openid", *scopes])),
            groups_claim=said.of("GROUPS_CLAIMS", id_, "groups"),
            new_accounts=said.new_accounts(id_),
            second_factors=said.second_factors(id_),
        )
