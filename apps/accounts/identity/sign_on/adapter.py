"""allauth's adapter with the providers of the settings alone. `people.sign_on` has the one of SOCIALACCOUNT_ADAPTER.

The protocols' modules, which import requests, PyJWT, lxml and xmlsec, are loaded with the first sign-on.
"""

from typing import TYPE_CHECKING, Any

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from django.http import HttpRequest

from apps.accounts.identity.sign_on import providers
from apps.lib.errors import Invalid
from apps.lib.settings_values.saml import SamlProvider

if TYPE_CHECKING:
    from apps.accounts.identity.sign_on.fetching import Session
    from apps.accounts.identity.sign_on.openid import LarderProvider
    from apps.accounts.identity.sign_on.saml import LarderSamlProvider


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def get_provider(
        self,
        request: HttpRequest,
        provider: str,
        client_id: str | None = None,  # noqa: ARG002  # allauth names it
    ) -> "LarderProvider | LarderSamlProvider":
        ours = providers.provider_named(provider)
        if isinstance(ours, SamlProvider):
            from apps.accounts.identity.sign_on.saml import LarderSamlProvider

            app = SocialApp(provider="saml", provider_id=ours.id, name=ours.name, settings={"provider": ours})
            return LarderSamlProvider(request, app=app)
        from apps.accounts.identity.sign_on.openid import LarderProvider

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
        from apps.accounts.identity.sign_on.fetching import Session

        return Session()

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:  # noqa: ARG002  # allauth names them
        return False  # `people.sign_on.admit` makes accounts

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
            raise providers.not_begun_here()
        if error == AuthError.CANCELLED:
            raise providers.Cancelled
        raise Invalid(f"{provider.name} refused to sign you in.", hint="Ask an administrator there.")
