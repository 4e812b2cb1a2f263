"""/account/sign-on/…: sign-in at identity providers, and links that work without them."""

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

import structlog
from allauth.account.internal.flows.login import perform_login
from allauth.account.models import Login
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.identity import break_glass, sessions, sign_ins
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.sign_on import providers
from apps.accounts.people import sign_on
from apps.lib.errors import Conflict, Invalid, RegistryError, RoleRequired, Unavailable
from apps.lib.settings_values.identity_providers import IdentityProvider
from apps.portal.frame import reauthentication
from apps.portal.frame.errors import refused
from apps.portal.frame.page_urls import local_path, see_other
from apps.portal.frame.reauthentication import person_of

PROCESSES = ("login", "connect", "confirm")
Result = TypeVar("Result")
log = structlog.get_logger("larder.accounts")


@login_not_required
@never_cache
@require_POST
def start(request: HttpRequest, provider: str) -> HttpResponse:
    """Answer with a page that leads to the provider: with a redirect, Chromium would hold the provider, and each host
    that it redirects to, against `form-action` of the Content-Security-Policy.
    """
    ours = providers.provider_named(provider, IdentityProvider)
    process = request.POST.get("process", "login")
    if process not in PROCESSES:
        raise Invalid("This form was not created by Larder.", hint="Start again on the sign-in page.")
    if request.get_host() != settings.PUBLIC_HOST:
        # The provider leads back there, where this browser has no session.
        return HttpResponseRedirect(settings.PUBLIC_URL + reverse("account_login"), status=HTTPStatus.SEE_OTHER)
    if process != "login" and not request.user.is_authenticated:
        return HttpResponseRedirect(reverse("account_login"), status=HTTPStatus.SEE_OTHER)
    # A sign-on may count as a second factor: what a new one may do, only a factor that is there already may give.
    if process == "connect" and not reauthentication.confirmed_recently(request, by_factor=True):
        return reauthentication.ask(request, after=reverse("portal:account"), by_factor=True)
    sign_ins.count_sign_on(request)
    after = local_path(request.POST.get("next", ""))
    at_theirs = sign_on.SignOnAdapter(request).get_provider(request, ours.id)
    url = explained(request, ours, lambda: at_theirs.start_sign_on(request, process=process, after=after))
    if isinstance(url, HttpResponse):
        return url
    return render(request, "portal/account/continue.html", {"url": url, "provider": ours})


def explained(request: HttpRequest, ours: IdentityProvider, act: Callable[[], Result]) -> Result | HttpResponse:
    """Turn what goes wrong at a provider into a page, an audit row and a log line without values of its answers."""
    import requests
    from allauth.socialaccount.providers.oauth2.client import OAuth2Error

    refusal: RegistryError
    try:
        return act()
    except providers.Cancelled:
        messages.info(request, f"Sign-in at {ours.name} cancelled.")
        return HttpResponseRedirect(reverse("account_login"))
    except requests.RequestException as error:
        reason = f"provider_{type(error).__name__.lower()}"
        refusal = Unavailable(f"{ours.name} returned an unexpected answer.", hint="Try again in a few minutes.")
    except OAuth2Error:
        reason, refusal = "token_endpoint", _not_accepted(ours)
    except providers.TokenRefused as error:
        reason, refusal = str(error), _not_accepted(ours)
    except (RoleRequired, Invalid, Conflict) as error:
        reason, refusal = error.code, error
    sign_ins.count_refused_sign_on(request)
    log.warning("sign_on_failed", provider=ours.id, reason=reason)
    sign_ins.record_failed_sign_on(issuer=ours.issuer, reason=reason)
    return refused(request, refusal)


def _not_accepted(ours: IdentityProvider) -> RegistryError:
    return RoleRequired(
        f"Larder rejected the sign-in from {ours.name}.",
        hint="Sign in again. If it fails again, ask an operator to check the log.",
    )


@require_POST
def disconnect(request: HttpRequest, account_id: int) -> HttpResponse:
    viewer = session_viewer(request)
    if not reauthentication.confirmed_recently(request, by_factor=True):
        return reauthentication.ask(request, after=reverse("portal:account"), by_factor=True)
    sign_on.disconnect(user=person_of(viewer), account_id=account_id, actor=viewer)
    messages.success(request, "Disconnected.")
    return see_other("account")


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def break_glass_link(request: HttpRequest, link: str) -> HttpResponse:
    """Ask before signing in: programs that look at links in messages must not use them up."""
    user = break_glass.user_of(link)
    if request.method != "POST":
        return render(request, "portal/account/break_glass.html", {"person": user})
    # As after a password: who has a second factor is asked for it.
    response: HttpResponse = perform_login(
        request, Login(user=break_glass.use(link), redirect_url=reverse("portal:account"))
    )
    if request.user.is_authenticated:
        sessions.confirm(request, at=time.time())
    return response


urlpatterns = [
    path("account/sign-on/<slug:provider>/", start, name="sign-on"),
    path("account/identities/<int:account_id>/disconnect", disconnect, name="identity-disconnect"),
    path("account/break-glass/<str:link>", break_glass_link, name="break-glass"),
]
