"""SOCIALACCOUNT_ADAPTER: providers come from the settings alone, accounts from `people.sign_on`."""

from typing import TYPE_CHECKING, Any

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
from apps.lib.openid import Provider

if TYPE_CHECKING:
    from apps.accounts.identity.openid.fetching import Session
    from apps.accounts.identity.openid.provider import LarderProvider

# A sign-in at the provider that is older than this by its own clock does not confirm anything.
CONFIRMATION_LEEWAY_SECONDS = 60


def provider_named(name: str) -> Provider:
    """Raises NotFound."""
    found = next((one for one in settings.OIDC_PROVIDERS if name in (one.id, one.issuer)), None)
    if found is None:
        raise NotFound("There is no such identity provider.", hint="The sign-in page has those that there are.")
    return found


class Cancelled(Exception):
    """The person said no at the provider."""


class SignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> "LarderProvider":  # noqa: ARG002  # allauth names them
        from apps.accounts.identity.openid.provider import LarderProvider

        ours = provider_named(provider)
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
                sessions.confirm(request, at=_confirmed_at(sociallogin.claims, state))
                raise ImmediateHttpResponse(HttpResponseRedirect(state.get("next") or reverse("portal:home")))
        user = sign_on.admit(identity)
        sociallogin.user = sociallogin.account.user = user
        at = sociallogin.claims.get("auth_time")
        state[sessions.SIGN_ON] = {
            "issuer": identity.provider.issuer,
            "sid": str(sociallogin.claims.get("sid") or ""),
            "at": min(float(at), timezone.now().timestamp()) if isinstance(at, int | float) else 0,
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
