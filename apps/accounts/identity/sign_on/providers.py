"""The identity providers of the settings, and what they say of a person, by whatever protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from allauth.socialaccount.models import SocialApp
from django.conf import settings
from django.http import HttpRequest

from apps.lib.errors import Invalid, NotFound
from apps.lib.settings_values.identity_providers import IdentityProvider

MAX_GROUPS = 5000
MAX_SUBJECT_LENGTH = 191  # the column of allauth's accounts

Kind = TypeVar("Kind", bound=IdentityProvider)


class TokenRefused(Exception):
    """The text is for logs and the audit: a code without values of the token or assertion."""


class Cancelled(Exception):
    """The person said no at the provider."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The checked claims of a provider about a person."""

    provider: IdentityProvider
    subject: str
    groups: frozenset[str]
    wished_name: str = ""
    full_name: str = ""


class OfSettings:
    """Differs from allauth's providers, of each kind: nothing is stored or found by an address."""

    app: SocialApp

    @classmethod
    def app_fields(cls, ours: IdentityProvider) -> dict[str, Any]:
        """Return what allauth reads of its table for others."""
        return {"settings": {"provider": ours}}

    def start_sign_on(self, request: HttpRequest, *, process: str, after: str) -> str:
        """Return the address of the provider's sign-in page, and remember the attempt in the session."""
        raise NotImplementedError

    @property
    def ours(self) -> Any:
        return self.app.settings["provider"]

    @property
    def sub_id(self) -> str:
        """The key of accounts and states in allauth."""
        return str(self.ours.issuer)

    def serialize(self) -> dict[str, Any]:
        return {"id": self.ours.issuer}

    def extract_uid(self, data: dict[str, Any]) -> str:
        return str(data["sub"])

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  # allauth names it
        return {}  # nothing is stored that nobody reads

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  # allauth names it
        return {}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[Any]:  # noqa: ARG002  # allauth names it
        return []  # no account is found by an address


def provider_named(name: str, kind: type[Kind]) -> Kind:
    """Raises NotFound."""
    for one in settings.IDENTITY_PROVIDERS:
        if isinstance(one, kind) and name in (one.id, one.issuer):
            return one
    raise NotFound("There is no such identity provider.", hint="The sign-in page lists the existing ones.")


def not_begun_here() -> Invalid:
    return Invalid(
        "This sign-in was started in another browser, was already used, or took longer than ten minutes.",
        hint="Start again on the sign-in page.",
    )


def identity_of(provider: IdentityProvider, claims: Mapping[str, Any]) -> Identity:
    """Read the claims of an id token, or what an assertion says under the same names.

    Raises Invalid if the groups are not all there or are no list.
    """
    claim, elsewhere = provider.groups_claim, claims.get("_claim_names")
    if isinstance(elsewhere, Mapping) and claim in elsewhere:
        # Entra ID, for people with more than 200 groups. Without the list their roles would end.
        raise Invalid(
            f"{provider.name} does not send all of your groups, because there are too many.",
            hint="An administrator there can limit the groups claim to the groups assigned to Larder.",
        )
    said = claims.get(claim) or []
    groups = [said] if isinstance(said, str) else said
    if not isinstance(groups, list) or len(groups) > MAX_GROUPS or not all(isinstance(one, str) for one in groups):
        raise Invalid(
            f"The claim {claim} of {provider.name} is not a list of groups.",
            hint=f"{provider.words[provider.groups_part]} in LARDER_SIGN_ON_FILE names it.",
        )
    names = [str(claims[name]) for name in ("preferred_username", "email", "nickname") if claims.get(name)]
    return Identity(
        provider=provider,
        subject=str(claims["sub"]),
        groups=frozenset(groups),
        wished_name=names[0] if names else "",
        full_name="".join(letter for letter in str(claims.get("name") or "") if letter.isprintable())[:150],
    )
