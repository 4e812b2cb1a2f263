"""allauth's SAML provider, with Larder's settings and one identity: the persistent NameID."""

from typing import Any

from allauth.socialaccount.helpers import complete_social_login
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from onelogin.saml2.auth import OneLogin_Saml2_Auth

from apps.accounts.identity.sign_on import providers, saml_metadata, saml_responses


class LarderSamlProvider(providers.OfSettings, SAMLProvider):  # type: ignore[misc]  # allauth ships no types
    def start_sign_on(self, request: HttpRequest, *, process: str, after: str) -> str:
        """Return the address of the provider's sign-in page, and remember the attempt in the session."""
        auth = OneLogin_Saml2_Auth(saml_responses.request_data(self.ours), saml_metadata.settings_for(self.ours))
        url = auth.login(return_to="", force_authn=process != "login")
        self.stash_redirect_state(
            request,
            process=process,
            next_url=after,
            state_id=auth.get_last_request_id(),
            user=request.user.pk,
            begun=timezone.now().timestamp(),
        )
        return str(url)

    def finish(self, request: HttpRequest, claims: dict[str, Any]) -> HttpResponse:
        """Sign in who began this in the same browser. Each request is answered once."""
        try:
            state = self.unstash_redirect_state(request, claims["asked"])
        except PermissionDenied:
            raise providers.not_begun_here() from None
        login = self.sociallogin_from_response(request, claims)
        login.state = state
        login.identity = providers.identity_of(self.ours, claims)
        login.claims = claims
        response: HttpResponse = complete_social_login(request, login)
        return response
