"""/account/sign-on/…: what an identity provider that speaks SAML posts and reads.

Its page posts its answer from another site, so that the browser sends no session cookie (SameSite=Lax). `acs` checks
the signature and keeps what was said for a minute; `finish`, to which it leads the browser, has the session, and so
knows whether this browser asked for it.
"""

from datetime import timedelta
from http import HTTPStatus

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.identity.hashed_sessions import SessionStore
from apps.accounts.identity.sign_on.providers import provider_named
from apps.accounts.people.sign_on import SignOnAdapter
from apps.contrib.saml.providers import SamlProvider
from apps.lib.errors import Invalid
from apps.portal.people.sign_on import explained

# Of a checked answer, until the browser asks for it.
CLAIMS_LIFETIME = timedelta(minutes=1)
_CLAIMS = "saml_claims"


@csrf_exempt
@login_not_required
@never_cache
@require_POST
def acs(request: HttpRequest, provider: str) -> HttpResponse:
    """Check the answer, which strangers may send as well; the library keeps nothing of a wrong one."""
    ours = provider_named(provider, SamlProvider)
    from apps.contrib.saml import protocol

    claims = explained(request, ours, lambda: protocol.claims_of(ours, request.POST.get("SAMLResponse", "")))
    if isinstance(claims, HttpResponse):
        return claims
    kept = SessionStore()
    kept[_CLAIMS] = {"provider": ours.issuer, "claims": claims}
    kept.set_expiry(CLAIMS_LIFETIME)
    kept.save()
    way = reverse("portal:saml-finish", args=[ours.id])
    return HttpResponseRedirect(f"{way}?answer={kept.session_key}", status=HTTPStatus.SEE_OTHER)


@login_not_required
@never_cache
@require_GET
def finish(request: HttpRequest, provider: str) -> HttpResponse:
    ours = provider_named(provider, SamlProvider)
    kept = SessionStore(request.GET.get("answer", ""))
    said = kept.get(_CLAIMS)

    def act() -> HttpResponse:
        if not said or said["provider"] != ours.issuer:
            raise Invalid("This sign-in was already used, or took too long.", hint="Start again on the sign-in page.")
        kept.delete()
        view: HttpResponse = SignOnAdapter(request).get_provider(request, ours.id).finish(request, said["claims"])
        return view

    return explained(request, ours, act)


@login_not_required
@require_GET
def metadata(_request: HttpRequest, provider: str) -> HttpResponse:
    """Say to an identity provider who Larder is and where answers go."""
    ours = provider_named(provider, SamlProvider)
    from apps.contrib.saml import protocol

    return HttpResponse(protocol.own_metadata(ours), content_type="application/samlmetadata+xml")


urlpatterns = [
    path("account/sign-on/<slug:provider>/acs", acs, name="saml-acs"),
    path("account/sign-on/<slug:provider>/finish", finish, name="saml-finish"),
    path("account/sign-on/<slug:provider>/metadata", metadata, name="saml-metadata"),
]
