"""/account/sign-on/…: the way back from a provider that speaks OpenID Connect, and its message that a session ended."""

from http import HTTPStatus

import structlog
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.identity import sessions
from apps.accounts.identity.sign_on import providers
from apps.accounts.people import sign_on
from apps.contrib.openid.providers import OpenIdProvider
from apps.portal.people.sign_on import explained

log = structlog.get_logger("larder.accounts")


@login_not_required
@never_cache
@require_GET
def callback(request: HttpRequest, provider: str) -> HttpResponse:
    ours = providers.provider_named(provider, OpenIdProvider)
    from apps.contrib.openid.protocol import Adapter, Callback

    view = Callback.adapter_view(Adapter(request, ours.id))
    answer = explained(request, ours, lambda: view(request))
    assert isinstance(answer, HttpResponse)  # noqa: S101  # allauth's views return nothing else
    return answer


@csrf_exempt
@login_not_required
@never_cache
@require_POST
def provider_logout(request: HttpRequest, provider: str) -> HttpResponse:
    """OpenID Connect Back-Channel Logout: the provider says that its session has ended."""
    import requests

    from apps.contrib.openid import protocol

    ours = providers.provider_named(provider, OpenIdProvider)
    try:
        claims = protocol.logout_claims(ours, request.POST.get("logout_token"))
    except providers.TokenRefused as error:
        log.warning("logout_token_refused", provider=ours.id, reason=str(error))
        return JsonResponse({"error": "invalid_request"}, status=HTTPStatus.BAD_REQUEST)
    except requests.RequestException as error:
        log.warning("logout_token_not_checked", provider=ours.id, reason=type(error).__name__)
        return JsonResponse({"error": "temporarily_unavailable"}, status=HTTPStatus.SERVICE_UNAVAILABLE)
    sid = str(claims.get("sid") or "")
    if "sub" not in claims:
        count = sessions.end_by_sid(issuer=ours.issuer, sid=sid)
    else:
        user = sign_on.account_of(ours.issuer, claims["sub"])
        count = sessions.end_by_provider(user=user, issuer=ours.issuer, sid=sid) if user else 0
    log.info("provider_ended_sessions", provider=ours.id, sessions=count)
    return HttpResponse()


urlpatterns = [
    path("account/sign-on/<slug:provider>/callback", callback, name="sign-on-callback"),
    path("account/sign-on/<slug:provider>/logout", provider_logout, name="sign-on-logout"),
]
