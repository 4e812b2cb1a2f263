"""allauth's adapter with the providers of the settings alone. `people.sign_on` has the one of SOCIALACCOUNT_ADAPTER.

The protocols' modules, which import requests, PyJWT or a reader of XML, are loaded with the first sign-on.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from django.http import HttpRequest

from apps.accounts.identity.sign_on import providers
from apps.lib.errors import Invalid
from apps.lib.settings_values.identity_providers import IdentityProvider

if TYPE_CHECKING:
    from apps.accounts.identity.sign_on.provider_requests import Session


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def get_provider(
        self,
        request: HttpRequest,
        provider: str,
        client_id: str | None = None,  # noqa: ARG002  # allauth names it
    ) -> Any:
        """Return a `providers.OfSettings`, which is a provider of allauth as well."""
        ours = providers.provider_named(provider, IdentityProvider)
        flow = resolve_name(ours.flow)
        app = SocialApp(provider=flow.id, provider_id=ours.id, name=ours.name, **flow.app_fields(ours))
        return flow(request, app=app)

    def get_app(self, request: HttpRequest, provider: str, client_id: str | None = None) -> SocialApp:
        app: SocialApp = self.get_provider(request, provider, client_id).app
        return app

    def list_apps(self, *_: Any, **__: Any) -> list[SocialApp]:
        return []  # what allauth lists is for its own pages and tables, of which none is used

    def get_requests_session(self) -> "Session":
        from apps.accounts.identity.sign_on.provider_requests import Session

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
