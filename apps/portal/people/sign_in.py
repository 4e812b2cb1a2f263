"""/account: signing in and the other pages of allauth that Larder uses. allauth.urls would add pages that send mail."""

from typing import Any

from allauth.account import forms, views
from allauth.core import context
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import path
from django.views.decorators.cache import never_cache

from apps.accounts.identity import passkeys, sign_ins
from apps.accounts.identity import second_factor as factors
from apps.accounts.models import User
from apps.lib.settings_values.identity_providers import IdentityProvider
from apps.portal.people import second_factor


class LoginForm(forms.LoginForm):  # type: ignore[misc]  # allauth ships no types
    """allauth's form with labels instead of placeholders, and no reset link if no mail is sent.

    The page says how to get a new password: from an operator.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].label = "User name"
        self.fields["password"].help_text = ""
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)


class PasswordChangeForm(forms.ChangePasswordForm):  # type: ignore[misc]  # allauth ships no types
    def clean_oldpassword(self) -> str:
        """Limit attempts like the sign-in page does, also for a stranger at the person's browser."""
        attempt = sign_ins.count_password(context.request, self.user.username)
        password = str(super().clean_oldpassword())
        attempt.give_back()
        return password


class LoginView(views.LoginView):  # type: ignore[misc]  # allauth ships no types
    def get_context_data(self, **more: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**more)
        return context | {"providers": settings.IDENTITY_PROVIDERS, "passwords": settings.LOCAL_SIGN_IN}


class ReauthenticateView(views.ReauthenticateView):  # type: ignore[misc]  # allauth ships no types
    """Asks for the password or a code, or for another sign-in at a provider: `by=factor` for ways that count as one."""

    def _check_reauthentication_method_available(self, request: HttpRequest) -> HttpResponseBase | None:
        user = request.user
        assert isinstance(user, User)  # noqa: S101  # allauth lets nobody else in
        # A password does not give a session the second factor that it lacks.
        self.only_factors = factors.is_on(user) and (
            request.GET.get("by") == "factor" or factors.is_missing(request, user)
        )
        self.by_password = sign_ins.has_password(user) and not self.only_factors
        self.providers = [one for one in providers_of(request) if one.second_factors or not self.only_factors]
        self.by_passkey = passkeys.of(user).exists()
        self.by_code = factors.has_app(user) or factors.codes_left(user) > 0
        sends_factor = (self.by_code and "code" in request.POST) or (self.by_passkey and "credential" in request.POST)
        if request.method == "POST" and not (self.by_password or sends_factor):
            raise PermissionDenied
        if not (self.by_password or self.by_code or self.by_passkey or self.providers):
            raise PermissionDenied
        self.form_class = forms.ReauthenticateForm
        if sends_factor:
            from apps.portal.people.passkey_forms import PasskeyForm

            self.form_class = second_factor.CodeForm if "code" in request.POST else PasskeyForm
        return None

    def get_reauthentication_alternatives(self) -> list[Any]:
        return []  # the page has them all; allauth's have no routes

    def form_valid(self, form: Any) -> HttpResponseBase:
        response: HttpResponseBase
        if not isinstance(form, forms.ReauthenticateForm):
            form.save()
            response = views.BaseReauthenticateView.form_valid(self, form)
        else:
            response = super().form_valid(form)
        return response

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**more)
        form, user = context["form"], self.request.user
        code_form = form if isinstance(form, second_factor.CodeForm) else second_factor.CodeForm(user=user)
        refused = form.errors.get("credential", []) if form.is_bound else []
        form = form if isinstance(form, forms.ReauthenticateForm) else forms.ReauthenticateForm(user=user)
        return context | {
            "providers": self.providers,
            "form": form if self.by_password else None,
            "code_form": code_form if self.by_code else None,
            "only_factors": self.only_factors,
            "by_passkey": self.by_passkey,
            "passkey_refused": refused,
        }


def providers_of(request: HttpRequest) -> list[IdentityProvider]:
    """Return the providers that the person's account is connected to."""
    if not settings.IDENTITY_PROVIDERS:
        return []
    issuers = set(SocialAccount.objects.filter(user=request.user.pk).values_list("provider", flat=True))
    return [provider for provider in settings.IDENTITY_PROVIDERS if provider.issuer in issuers]


def passkey_sign_in(request: HttpRequest) -> HttpResponseBase:
    """GET: the options for the browser, as JSON. POST: its answer, which signs in without a password."""
    from allauth.account.models import Login
    from allauth.account.utils import get_next_redirect_url
    from allauth.mfa.webauthn.internal import auth, flows
    from allauth.mfa.webauthn.views import LoginWebAuthnView

    class View(LoginWebAuthnView):  # type: ignore[misc]  # allauth ships no types
        def get(self, *_: Any, **__: Any) -> HttpResponseBase:
            return JsonResponse(dict(auth.begin_authentication(user=None)["publicKey"]))

        def form_valid(self, form: Any) -> HttpResponseBase:
            authenticator = form.cleaned_data["credential"]
            login = Login(user=authenticator.user, redirect_url=get_next_redirect_url(self.request))
            response: HttpResponseBase = flows.perform_passwordless_login(self.request, authenticator, login)
            return response

    if settings.LOCAL_SIGN_IN == "off":
        raise PermissionDenied
    response: HttpResponseBase = View.as_view()(request)
    return response


class PasswordChangeView(views.PasswordChangeView):  # type: ignore[misc]  # allauth ships no types
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # allauth would redirect to its page for a first password, which has no route.
        if isinstance(request.user, User) and not sign_ins.has_password(request.user):
            raise PermissionDenied
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return response


# No application namespace: allauth reverses bare names.
urlpatterns = [
    path("login/", LoginView.as_view(), name="account_login"),
    path("logout/", views.logout, name="account_logout"),
    path("password/change/", PasswordChangeView.as_view(), name="account_change_password"),
    path("login/passkey/", login_not_required(never_cache(passkey_sign_in)), name="mfa_login_webauthn"),
    path("verify/", second_factor.verify, name="mfa_authenticate"),
    path("reauthenticate/", ReauthenticateView.as_view(), name="account_reauthenticate"),
]
