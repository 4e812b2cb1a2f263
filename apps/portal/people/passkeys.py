"""/account/passkeys: a person's passkeys, and the options with which a browser asks for one."""

from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.identity import passkeys, second_factor
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import User
from apps.lib.errors import Invalid, NotFound
from apps.portal.frame import reauthentication
from apps.portal.frame.reauthentication import person_of
from apps.portal.people.second_factor import OTHERS_ENDED, after_set_up, show_codes_once


class PasskeyForm(forms.Form):
    name = forms.CharField(max_length=passkeys.MAX_NAME_CHARACTERS, required=False)
    credential = forms.JSONField()


@never_cache
@require_safe
def registration(request: HttpRequest) -> HttpResponse:
    user = person_of(session_viewer(request))
    if not reauthentication.confirmed_recently(request, by_factor=True):
        page = reauthentication.ask(request, after=reverse("portal:second-factor"), by_factor=True)
        return JsonResponse({"confirm": page.url}, status=HTTPStatus.FORBIDDEN)
    return JsonResponse(passkeys.registration_options(user))


@login_not_required
@never_cache
@require_safe
def request_options(request: HttpRequest) -> HttpResponse:
    """For who is signed in, or has given the password."""
    user = request.user if isinstance(request.user, User) else _who_gave_the_password(request)
    if user is None or not passkeys.of(user).exists():
        raise NotFound("Nobody here has a passkey.", hint="Sign in another way.")
    return JsonResponse(passkeys.request_options(user))


@require_POST
@sensitive_variables("codes")
def add(request: HttpRequest) -> HttpResponse:
    user = person_of(session_viewer(request))
    page = after_set_up(request) or reverse("portal:second-factor")
    if not reauthentication.confirmed_recently(request, by_factor=True):
        return reauthentication.ask(request, after=reverse("portal:second-factor"), by_factor=True)
    form = PasskeyForm(request.POST)
    if not form.is_valid():
        raise Invalid("This form has no passkey.", hint="Reload the page and try again.")
    is_first = not second_factor.is_on(user)
    codes = passkeys.add(request=request, user=user, **form.cleaned_data)
    messages.success(request, f"Passkey added. {OTHERS_ENDED}" if is_first else "Passkey added.")
    if codes:
        return show_codes_once(request, codes)
    return HttpResponseRedirect(page, status=HTTPStatus.SEE_OTHER)


@require_POST
def remove(request: HttpRequest, passkey_id: int) -> HttpResponse:
    user = person_of(session_viewer(request))
    row = passkeys.of(user).filter(pk=passkey_id).first()
    reauthentication.require(request, f"Remove the passkey {row}" if row else "Remove a passkey", by_factor=True)
    passkeys.remove(request=request, user=user, passkey_id=passkey_id)
    messages.success(request, "Passkey removed.")
    return HttpResponseRedirect(reverse("portal:second-factor"), status=HTTPStatus.SEE_OTHER)


def _who_gave_the_password(request: HttpRequest) -> User | None:
    from allauth.account.stages import LoginStageController
    from allauth.mfa.stages import AuthenticateStage

    stage = LoginStageController.enter(request, AuthenticateStage.key)
    return stage.login.user if stage else None


urlpatterns = [
    path("account/passkeys", add, name="passkey-add"),
    path("account/passkeys/registration", registration, name="passkey-registration"),
    path("account/passkeys/request", request_options, name="passkey-request"),
    path("account/passkeys/<int:passkey_id>/remove", remove, name="passkey-remove"),
]
