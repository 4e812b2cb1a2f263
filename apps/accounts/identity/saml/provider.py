"""allauth's SAML provider, with Larder's settings and one identity: the persistent NameID.

Loaded with the first sign-on: it imports lxml and xmlsec.
"""

from typing import Any

from allauth.socialaccount.helpers import complete_social_login
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from onelogin.saml2.auth import OneLogin_Saml2_Auth

from apps.accounts.identity.openid.adapter import OfSettings
from apps.accounts.identity.saml import metadata, responses
from apps.accounts.people import sign_on
from apps.lib.errors import Invalid


class LarderSamlProvider(OfSettings, SAMLProvider):  # type: ignore[misc]  # allauth ships no types
    def begin(self, request: HttpRequest, *, process: str, after: str) -> str:
        """Return the address of the provider's sign-in page, and remember the attempt in the session."""
        auth = OneLogin_Saml2_Auth(responses.request_data(self.ours), metadata.settings_for(self.ours))
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
            raise Invalid(
                "This sign-in was not begun in this browser, was used already, or took longer than ten minutes.",
                hint="Start again on the sign-in page.",
            ) from None
        login = self.sociallogin_from_response(request, claims)
        login.state = state
        login.identity = sign_on.identity_of(self.ours, claims)
        login.claims = claims
        response: HttpResponse = complete_social_login(request, login)
        return response
