"""/account/second-factor and /account/passkeys: what is asked beside the password: set-up, recovery codes, and the
question at sign-in.

People with a factor must have shown one in the last ten minutes: each view asks for it, and so does each verb.
"""

from http import HTTPStatus
from typing import Any

from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa.base import forms as base_forms
from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.access import throttling
from apps.accounts.identity import passkeys, second_factor
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import User
from apps.lib.errors import Invalid, NotFound
from apps.portal.frame import one_time_secret, reauthentication
from apps.portal.frame.forms import form_page, posted, refusals_on
from apps.portal.frame.page_urls import local_path, see_other
from apps.portal.frame.reauthentication import person_of

# Longer than any code of an app is valid, both neighbours included.
REPLAY_SECONDS = 120
OTHERS_ENDED = "You are signed out in all other browsers."
_AFTER = "after-second-factor"
_CODE = {"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false"}


class SetUpForm(forms.Form):
    digits = forms.CharField(
        max_length=12, label="Code", help_text="Six digits, from the app.", widget=forms.TextInput(_CODE)
    )


class PasskeyForm(forms.Form):
    name = forms.CharField(max_length=passkeys.MAX_NAME_CHARACTERS, required=False)
    credential = forms.JSONField()


class CodeForm(base_forms.AuthenticateForm):  # type: ignore[misc]  # allauth ships no types
    """allauth's form, which asks both kinds of codes; a code of the app counts once, and tries are limited."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].widget.attrs = dict(_CODE)
        app = "From your authenticator app, or one" if second_factor.has_app(self.user) else "One"
        self.fields["code"].help_text = f"{app} of your recovery codes."

    def clean_code(self) -> str:
        attempt = throttling.count(throttling.by_account("second_factor", self.user.pk, ""))
        code = str(super().clean_code())
        if self.authenticator.type == Authenticator.Type.TOTP:
            key = f"larder-code-{self.user.pk}-{normalize_user_code(code)}"
            if not cache.add(key, value=1, timeout=REPLAY_SECONDS):
                raise forms.ValidationError("This code was already used. Wait for the next one.")
        attempt.give_back()
        return code


@login_not_required
def verify(request: HttpRequest) -> HttpResponse:
    """Ask for a code or a passkey between the password, or the sign-on, and the session."""
    from allauth.mfa.base.views import AuthenticateView  # with fido2, which no process needs before somebody signs in

    class View(AuthenticateView):  # type: ignore[misc]  # allauth ships no types
        template_name = "account/verify.html"

        def get_context_data(self, **more: Any) -> dict[str, Any]:
            context: dict[str, Any] = super().get_context_data(**more)
            return context | {"has_passkey": passkeys.of(self.stage.login.user).exists()}

    response: HttpResponse = View.as_view()(request)
    return response


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("codes", "secret")
def set_up(request: HttpRequest) -> HttpResponse:
    user = person_of(session_viewer(request))
    is_on = second_factor.is_on(user)
    if not reauthentication.confirmed_recently(request, by_factor=True):
        # A page that needs the second factor may have led here: who has one goes on there.
        after = local_path(request.GET.get("next", "")) if is_on else ""
        return reauthentication.ask(request, after=after, by_factor=True)
    if second_factor.has_app(user) or (is_on and "app" not in request.GET):
        shown = {
            "left": second_factor.codes_left(user),
            "has_app": second_factor.has_app(user),
            "passkeys": passkeys.of(user),
        }
        return render(request, "portal/account/second_factor.html", shown)
    form = SetUpForm(posted(request))
    if form.is_valid():
        with refusals_on(form, "digits"):
            codes = second_factor.add(request=request, user=user, digits=form.cleaned_data["digits"])
            done = "Authenticator app added." if is_on else f"Second factor turned on. {OTHERS_ENDED}"
            messages.success(request, done)
            return show_codes_once(request, codes) if codes else _after(after_set_up(request))
    secret = second_factor.start_app_setup(request)
    request.session[_AFTER] = local_path(request.GET.get("next", ""))
    context = {
        "is_required": second_factor.is_missing(request, user),
        "is_first": not is_on,
        **second_factor.describe(user, secret),
    }
    return form_page(request, "portal/account/second_factor_set_up.html", form, **context)


@require_POST
@sensitive_variables("codes")
def renew_codes(request: HttpRequest) -> HttpResponse:
    reauthentication.require(request, "Create new recovery codes", by_factor=True)
    user = person_of(session_viewer(request))
    return show_codes_once(request, second_factor.renew_codes(request=request, user=user))


@require_safe
@sensitive_variables("secret")
def codes(request: HttpRequest) -> HttpResponse:
    """Show new recovery codes once."""
    if second_factor.must_be_shown(request, person_of(session_viewer(request))):
        return reauthentication.ask(request, by_factor=True)
    secret = one_time_secret.reveal(request)
    context = {"codes": secret.split(), "after": after_set_up(request)}
    page = render(request, "portal/account/recovery_codes.html", context)
    return one_time_secret.clear(request, page)


@require_POST
def turn_off(request: HttpRequest) -> HttpResponse:
    reauthentication.require(request, "Remove the authenticator app", by_factor=True)
    second_factor.remove_app(request=request, user=person_of(session_viewer(request)))
    messages.success(request, "Authenticator app removed.")
    return see_other("account")


# --- Passkeys, which static/js asks the browser for ---


@never_cache
@require_safe
def passkey_registration(request: HttpRequest) -> HttpResponse:
    user = person_of(session_viewer(request))
    if not reauthentication.confirmed_recently(request, by_factor=True):
        page = reauthentication.ask(request, after=reverse("portal:second-factor"), by_factor=True)
        return JsonResponse({"confirm": page.url}, status=HTTPStatus.FORBIDDEN)
    return JsonResponse(passkeys.registration_options(user))


@login_not_required
@never_cache
@require_safe
def passkey_request(request: HttpRequest) -> HttpResponse:
    """For who is signed in, or has given the password."""
    from allauth.account.stages import LoginStageController
    from allauth.mfa.stages import AuthenticateStage

    user = request.user if isinstance(request.user, User) else None
    if user is None and (stage := LoginStageController.enter(request, AuthenticateStage.key)):
        user = stage.login.user
    if user is None or not passkeys.of(user).exists():
        raise NotFound("No passkeys are registered.", hint="Sign in with another method.")
    return JsonResponse(passkeys.request_options(user))


@require_POST
@sensitive_variables("codes")
def passkey_add(request: HttpRequest) -> HttpResponse:
    user = person_of(session_viewer(request))
    page = after_set_up(request)
    if not reauthentication.confirmed_recently(request, by_factor=True):
        return reauthentication.ask(request, after=reverse("portal:second-factor"), by_factor=True)
    form = PasskeyForm(request.POST)
    if not form.is_valid():
        raise Invalid("The form contains no passkey.", hint="Reload the page and try again.")
    is_first = not second_factor.is_on(user)
    codes = passkeys.add(request=request, user=user, **form.cleaned_data)
    messages.success(request, f"Passkey added. {OTHERS_ENDED}" if is_first else "Passkey added.")
    if codes:
        return show_codes_once(request, codes)
    return _after(page)


@require_POST
def passkey_remove(request: HttpRequest, passkey_id: int) -> HttpResponse:
    user = person_of(session_viewer(request))
    row = passkeys.of(user).filter(pk=passkey_id).first()
    reauthentication.require(request, f"Remove the passkey {row}" if row else "Remove a passkey", by_factor=True)
    passkeys.remove(request=request, user=user, passkey_id=passkey_id)
    messages.success(request, "Passkey removed.")
    return see_other("second-factor")


def after_set_up(request: HttpRequest) -> str:
    """The local page that needs a second factor, and led here; once. Empty if there is none."""
    return local_path(request.GET.get("next", "")) or str(request.session.pop(_AFTER, ""))


def _after(page: str) -> HttpResponseRedirect:
    return HttpResponseRedirect(page or reverse("portal:second-factor"), status=HTTPStatus.SEE_OTHER)


@sensitive_variables("codes")
def show_codes_once(request: HttpRequest, codes: list[str]) -> HttpResponse:
    return one_time_secret.redirect_to(request, reverse("portal:recovery-codes"), " ".join(codes))


urlpatterns = [
    path("account/second-factor", set_up, name="second-factor"),
    path("account/second-factor/codes", codes, name="recovery-codes"),
    path("account/second-factor/codes/renew", renew_codes, name="recovery-codes-renew"),
    path("account/second-factor/off", turn_off, name="second-factor-off"),
    path("account/passkeys", passkey_add, name="passkey-add"),
    path("account/passkeys/registration", passkey_registration, name="passkey-registration"),
    path("account/passkeys/request", passkey_request, name="passkey-request"),
    path("account/passkeys/<int:passkey_id>/remove", passkey_remove, name="passkey-remove"),
]
