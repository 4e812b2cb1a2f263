"""SOCIALACCOUNT_ADAPTER: providers come from the settings alone, accounts from `people.sign_on`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from django.conf import settings
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from apps.accounts.identity import sessions
from apps.accounts.models import User
from apps.accounts.people import sign_on
from apps.lib.errors import Invalid, NotFound, RoleRequired
from apps.lib.settings_values.openid import Provider
from apps.lib.settings_values.saml import AnyProvider, SamlProvider

if TYPE_CHECKING:
    from apps.accounts.identity.openid.fetching import Session
    from apps.accounts.identity.openid.provider import LarderProvider
    from apps.accounts.identity.saml.provider import LarderSamlProvider

Kind = TypeVar("Kind", Provider, SamlProvider, AnyProvider)
# A sign-in at the provider that is older than this by its own clock does not confirm anything.
CONFIRMATION_LEEWAY_SECONDS = 60


def provider_named(name: str) -> AnyProvider:
    """Raises NotFound."""
    return _named(name, sign_on.providers())


def openid_named(name: str) -> Provider:
    """Raises NotFound."""
    return _named(name, settings.OIDC_PROVIDERS)


def saml_named(name: str) -> SamlProvider:
    """Raises NotFound."""
    return _named(name, settings.SAML_PROVIDERS)


def _named(name: str, among: Sequence[Kind]) -> Kind:
    found = next((one for one in among if name in (one.id, one.issuer)), None)
    if found is None:
        raise NotFound("There is no such identity provider.", hint="The sign-in page has those that there are.")
    return found


class Cancelled(Exception):
    """The person said no at the provider."""


class OfSettings:
    """What both kinds of allauth's providers do otherwise here: nothing is stored or found by an address."""

    app: SocialApp

    @property
    def ours(self) -> Any:
        return self.app.settings["provider"]

    @property
    def sub_id(self) -> str:
        """What allauth keys accounts and states by."""
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


class SignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def get_provider(
        self,
        request: HttpRequest,
        provider: str,
        client_id: str | None = None,  # noqa: ARG002  # allauth names it
    ) -> "LarderProvider | LarderSamlProvider":
        ours = provider_named(provider)
        if isinstance(ours, SamlProvider):
            from apps.accounts.identity.saml.provider import LarderSamlProvider

            app = SocialApp(provider="saml", provider_id=ours.id, name=ours.name, settings={"provider": ours})
            return LarderSamlProvider(request, app=app)
        from apps.accounts.identity.openid.provider import LarderProvider

        app = SocialApp(
            provider=LarderProvider.id,
            provider_id=ours.id,
            name=ours.name,
            client_id=ours.client_id,
            secret=ours.secret,
            settings={"provider": ours, "oauth_pkce_enabled": True, "server_url": ours.discovery_url},
        )
        return LarderProvider(request, app=app)

    def get_app(self, request: HttpRequest, provider: str, client_id: str | None = None) -> SocialApp:
        return self.get_provider(request, provider, client_id).app

    def list_apps(self, *_: Any, **__: Any) -> list[SocialApp]:
        return []  # what allauth lists is for its own pages and tables, of which none is used

    def get_requests_session(self) -> "Session":
        from apps.accounts.identity.openid.fetching import Session

        return Session()

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:  # noqa: ARG002  # allauth names them
        return False  # `sign_on.admit` makes accounts

    def send_notification_mail(self, *_: Any, **__: Any) -> None:
        """Nothing sends mail yet."""

    def on_authentication_error(
        self,
        request: HttpRequest,  # noqa: ARG002  # allauth names them
        provider: Any,
        error: str = "",
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        """Leave the words to the page's view; allauth would render a template of its own."""
        if exception is not None:
            raise exception
        if "state_id" in (extra_context or {}):
            raise Invalid(
                "This sign-in was not begun in this browser, was used already, or took longer than ten minutes.",
                hint="Start again on the sign-in page.",
            )
        if error == AuthError.CANCELLED:
            raise Cancelled
        raise Invalid(f"{provider.name} refused to sign you in.", hint="Ask an administrator there.")

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Decide whose account it is, before allauth signs anybody in."""
        identity, state = sociallogin.identity, sociallogin.state
        match state.get("process"):
            case "connect":
                user = _same_person(request, state)
                sign_on.connect(user=user, identity=identity)
                raise ImmediateHttpResponse(HttpResponseRedirect(reverse("portal:account")))
            case "confirm":
                user = _same_person(request, state)
                if sign_on.account_of(identity.provider.issuer, identity.subject) != user:
                    raise RoleRequired(
                        f"You signed in at {identity.provider.name} as somebody else.",
                        hint="Sign in there with the identity of this account.",
                    )
                at = _confirmed_at(sociallogin.claims, state)
                sessions.confirm(request, at=at)
                if identity.provider.saw_second_factor(sociallogin.claims):
                    sessions.remember_second_factor(request, at=at)
                raise ImmediateHttpResponse(HttpResponseRedirect(state.get("next") or reverse("portal:home")))
        user = sign_on.admit(identity)
        sociallogin.user = sociallogin.account.user = user
        at = sociallogin.claims.get("auth_time")
        state[sessions.SIGN_ON] = {
            "issuer": identity.provider.issuer,
            "sid": str(sociallogin.claims.get("sid") or ""),
            "at": min(float(at), timezone.now().timestamp()) if isinstance(at, int | float) else 0,
            "second_factor": identity.provider.saw_second_factor(sociallogin.claims),
        }


def _same_person(request: HttpRequest, state: dict[str, Any]) -> User:
    """The session may have changed hands while its person was at the provider."""
    if not isinstance(request.user, User) or request.user.pk != state.get("user"):
        raise Invalid("This sign-in was begun by somebody else.", hint="Sign in and start again.")
    return request.user


def _confirmed_at(claims: dict[str, Any], state: dict[str, Any]) -> float:
    """Return the time of the sign-in at the provider, which was asked for a new one. Raises RoleRequired."""
    now, said = timezone.now().timestamp(), claims.get("auth_time")
    if said is None:
        return now
    if not isinstance(said, int | float) or said < state["begun"] - CONFIRMATION_LEEWAY_SECONDS:
        raise RoleRequired("The provider did not ask you to sign in again.", hint="Sign out there, and try again.")
    return min(now, float(said))
