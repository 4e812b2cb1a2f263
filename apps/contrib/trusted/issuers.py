"""The issuers that count, and the addresses to which requests for their keys may go."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings

from apps.accounts.identity.trusted.declarations import Vendor
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.lib.errors import Invalid
from apps.lib.net.addresses import ANYWHERE, MAX_URL_CHARACTERS, Networks
from apps.lib.settings_values.identity_providers import is_safe


@dataclass(frozen=True, slots=True)
class Issuer:
    url: str

    @property
    def is_listed(self) -> bool:
        """Staff listed it. It may be in a private network, or on this machine."""
        return self.url in settings.TRUSTED_ISSUERS

    @property
    def allowed(self) -> Networks:
        return ANYWHERE if self.is_listed else ()

    @property
    def discovery_url(self) -> str:
        return f"{self.url.rstrip('/')}/.well-known/openid-configuration"

    def may_ask(self, url: object) -> bool:
        """Return whether keys may be read there: by HTTPS, or on this machine if the issuer is here as well."""
        if not isinstance(url, str) or len(url) > MAX_URL_CHARACTERS:
            return False
        if not url.isascii() or not url.isprintable() or " " in url:
            return False
        return is_safe(url, loopback=self.is_listed and self.url.startswith("http:"))


def issuer_of(vendor: Vendor, given: str, fields: Mapping[str, str]) -> str:
    """Return the issuer of a new rule. Raises Invalid."""
    usual = vendor.issuer.format(**fields) if vendor.issuer else ""
    if given in ("", usual) and usual:
        return usual
    if not given:
        raise Invalid("The rule names no issuer.", hint=f"Name one of LARDER_TRUSTED_ISSUERS: {_listed()}.")
    if given not in settings.TRUSTED_ISSUERS:
        raise Invalid(
            f"The issuer {given[:200]} is not allowed here; allowed are {', '.join(filter(None, [usual, _listed()]))}.",
            hint="Ask an operator to list it in LARDER_TRUSTED_ISSUERS.",
        )
    if not vendor.issuer and (known := next((one for one in VENDORS.values() if one.issuer == given), None)):
        # Its pull requests and ids are known, and exact claims would miss them.
        raise Invalid(f"{given} is the issuer of {known.label}.", hint=f"Use the kind {known.kind}.")
    return given


def is_allowed(vendor: Vendor, issuer: str, fields: Mapping[str, str]) -> bool:
    """Return whether a rule's issuer is still allowed: operators may have taken it off the list."""
    return issuer in settings.TRUSTED_ISSUERS or bool(vendor.issuer and issuer == vendor.issuer.format(**fields))


def _listed() -> str:
    return ", ".join(settings.TRUSTED_ISSUERS) or "(none listed)"
