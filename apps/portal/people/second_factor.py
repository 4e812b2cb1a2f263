"""/account/second-factor: codes of an app beside the password: set-up, recovery codes, and the question at sign-in."""

from http import HTTPStatus
from typing import Any

from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa.base import forms as base_forms
from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.identity import second_factor
from apps.accounts.identity.authentication import session_viewer
from apps.lib.errors import Invalid
from apps.portal.frame import one_time_secret
from apps.portal.people import reauthentication
from apps.portal.people.account import person_of
from apps.portal.publish.form import sentence

# Longer than any code of an app is valid, both neighbours included.
REPLAY_SECONDS = 120
_CODE = {"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false"}


class SetUpForm(forms.Form):
    digits = forms.CharField(
        max_length=12, label="Code", help_text="Six digits, from the app.", widget=forms.TextInput(_CODE)
    )


class CodeForm(base_forms.AuthenticateForm):  # type: ignore[misc]  # allauth ships no types
    """allauth's form, which counts tries and asks both kinds of codes; a code of the app counts once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].widget.attrs = dict(_CODE)
        self.fields["code"].help_text = "From your authenticator app, or one of your recovery codes."

    def clean_code(self) -> str:
        code = str(super().clean_code())
        if self.authenticator.type == Authenticator.Type.TOTP:
            key = f"larder-code-{self.user.pk}-{normalize_user_code(code)}"
            if not cache.add(key, value=1, timeout=REPLAY_SECONDS):
                raise forms.ValidationError("This code was used. Wait for the next one.")
        return code


@login_not_required
def verify(request: HttpRequest) -> HttpResponse:
    """Ask for the code between the password, or the sign-on, and the session."""
    from allauth.mfa.base.views import AuthenticateView  # with fido2, which no process needs before somebody signs in

    response: HttpResponse = AuthenticateView.as_view(template_name="account/verify.html")(request)
    return response


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("codes", "secret")
def set_up(request: HttpRequest) -> HttpResponse:
    user = person_of(session_viewer(request))
    if second_factor.is_on(user):
        return _manage_page(request, CodeForm(user=user), status=HTTPStatus.OK)
    if not reauthentication.confirmed_recently(request):
        return reauthentication.ask(request)
    form = SetUpForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            codes = second_factor.add(request=request, user=user, digits=form.cleaned_data["digits"])
        except Invalid as refusal:
            form.add_error("digits", sentence(refusal))
        else:
            messages.success(request, "Second factor turned on.")
            return _show_once(request, codes)
    secret = second_factor.begin(request)
    context = {"form": form, **second_factor.describe(user, secret)}
    return render(request, "portal/account/second_factor_set_up.html", context, status=422 if form.is_bound else 200)


@require_POST
@sensitive_variables("codes")
def renew_codes(request: HttpRequest) -> HttpResponse:
    user = person_of(session_viewer(request))
    if not reauthentication.confirmed_recently(request):
        return reauthentication.ask(request, after=reverse("portal:second-factor"))
    return _show_once(request, second_factor.renew_codes(user=user))


@require_safe
@sensitive_variables("secret")
def codes(request: HttpRequest) -> HttpResponse:
    """Show new recovery codes once."""
    secret = one_time_secret.reveal(request)
    page = render(request, "portal/account/recovery_codes.html", {"codes": secret.split()})
    return one_time_secret.clear(request, page)


@require_POST
def turn_off(request: HttpRequest) -> HttpResponse:
    """Ask for a code: a password and somebody's open browser are not enough."""
    viewer = session_viewer(request)
    user = person_of(viewer)
    form = CodeForm(request.POST, user=user)
    if second_factor.is_on(user) and not form.is_valid():
        return _manage_page(request, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    second_factor.remove(user=user, actor=viewer)
    messages.success(request, "Second factor turned off.")
    return HttpResponseRedirect(reverse("portal:account"), status=HTTPStatus.SEE_OTHER)


def _manage_page(request: HttpRequest, form: CodeForm, *, status: HTTPStatus) -> HttpResponse:
    left = second_factor.codes_left(person_of(session_viewer(request)))
    return render(request, "portal/account/second_factor.html", {"form": form, "left": left}, status=status)


@sensitive_variables("codes")
def _show_once(request: HttpRequest, codes: list[str]) -> HttpResponse:
    return one_time_secret.redirect_to(request, reverse("portal:recovery-codes"), " ".join(codes))


urlpatterns = [
    path("account/second-factor", set_up, name="second-factor"),
    path("account/second-factor/codes", codes, name="recovery-codes"),
    path("account/second-factor/codes/renew", renew_codes, name="recovery-codes-renew"),
    path("account/second-factor/off", turn_off, name="second-factor-off"),
]
