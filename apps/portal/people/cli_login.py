"""/oauth/authorize: a person allows `tofu login` or `terraform login` on a computer (login.v1).

Nothing but an allowed login is redirected: clients hang on a redirect with `error=`.
"""

import secrets
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from apps.accounts.identity import cli_login
from apps.accounts.identity.cli_login import LoginRequest
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.sign_ins import address_of
from apps.lib.errors import Invalid
from apps.portal.frame.forms import sentence
from apps.portal.frame.security_policy import let_forms_lead_to
from apps.portal.people.account import system_name

COOKIE = "__Host-larder-computer" if settings.SESSION_COOKIE_SECURE else "larder-computer"
COOKIE_AGE = 365 * 24 * 60 * 60
PARAMETERS = (
    "client_id",
    "response_type",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "state",
)


class ComputerForm(forms.Form):
    machine = forms.CharField(
        max_length=cli_login.MAX_MACHINE_LENGTH,
        label="Name of this computer",
        help_text="Shown in your list of tokens.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def authorize(request: HttpRequest) -> HttpResponse:
    given = {name: value for name, value in (request.POST or request.GET).items() if isinstance(value, str)}
    wanted = cli_login.login_request(given)
    if request.method != "POST":
        called = cli_login.machine_of(request.COOKIES.get(COOKIE, ""), session_viewer(request))
        form = ComputerForm(initial={"machine": called or system_name(request.headers.get("User-Agent", ""))})
        return _page(request, form, given, wanted, status=200)
    if given.get("decision") != "allow":
        return render(request, "portal/cli_login/refused.html")
    form = ComputerForm(request.POST)
    if form.is_valid():
        # Without a confirmation: the token only reads, as this session does.
        try:
            return _allow(request, wanted, form.cleaned_data["machine"])
        except Invalid as refusal:
            form.add_error("machine", sentence(refusal))
    return _page(request, form, given, wanted, status=422)


@sensitive_variables("code", "browser")
def _allow(request: HttpRequest, wanted: LoginRequest, machine: str) -> HttpResponse:
    browser = request.COOKIES.get(COOKIE, "") or secrets.token_urlsafe(32)
    code = cli_login.allow(
        request=wanted,
        actor=session_viewer(request),
        machine=machine,
        browser=browser,
        address=address_of(request),
    )
    query = urlencode({"code": code, "state": wanted.state})
    response = HttpResponseRedirect(f"{wanted.redirect_uri}?{query}", status=HTTPStatus.SEE_OTHER)
    response.set_cookie(
        COOKIE,
        browser,
        max_age=COOKIE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def _page(
    request: HttpRequest, form: ComputerForm, given: dict[str, str], wanted: LoginRequest, *, status: int
) -> HttpResponse:
    context: dict[str, Any] = {
        "form": form,
        "parameters": {name: given[name] for name in PARAMETERS},
        "origin": wanted.origin,
        "days": settings.TOKEN_LIFETIME.days,
        "scope": cli_login.SCOPE,
    }
    response = render(request, "portal/cli_login/authorize.html", context, status=status)
    return let_forms_lead_to(response, wanted.origin)


urlpatterns = [path("oauth/authorize", authorize, name="login-authorize")]
