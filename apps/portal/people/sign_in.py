"""/account: signing in and the other pages of allauth that Larder uses. allauth.urls would add pages that send mail."""

from typing import Any

from allauth.account import forms, views
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import path

from apps.accounts.identity import passwords
from apps.accounts.models import User
from apps.lib.openid import Provider
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


class LoginView(views.LoginView):  # type: ignore[misc]  # allauth ships no types
    def get_context_data(self, **more: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**more)
        return context | {"providers": settings.OIDC_PROVIDERS, "passwords": settings.LOCAL_SIGN_IN}


class ReauthenticateView(views.ReauthenticateView):  # type: ignore[misc]  # allauth ships no types
    """Asks for the password, or for another sign-in at a provider."""

    def _check_reauthentication_method_available(self, request: HttpRequest) -> HttpResponseBase | None:
        self.providers = providers_of(request)
        self.by_password = isinstance(request.user, User) and passwords.has_one(request.user)
        if not self.by_password and (request.method == "POST" or not self.providers):
            raise PermissionDenied
        return None

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**more)
        return context | {"providers": self.providers, "form": context["form"] if self.by_password else None}


def providers_of(request: HttpRequest) -> list[Provider]:
    """Return the providers that the person's account is connected to."""
    if not settings.OIDC_PROVIDERS:
        return []
    issuers = set(SocialAccount.objects.filter(user=request.user.pk).values_list("provider", flat=True))
    return [provider for provider in settings.OIDC_PROVIDERS if provider.issuer in issuers]


class PasswordChangeView(views.PasswordChangeView):  # type: ignore[misc]  # allauth ships no types
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # allauth would redirect to its page for a first password, which has no route.
        if isinstance(request.user, User) and not passwords.has_one(request.user):
            raise PermissionDenied
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return response


# No application namespace: allauth reverses bare names.
urlpatterns = [
    path("login/", LoginView.as_view(), name="account_login"),
    path("logout/", views.logout, name="account_logout"),
    path("password/change/", PasswordChangeView.as_view(), name="account_change_password"),
    path("verify/", second_factor.verify, name="mfa_authenticate"),
    path("reauthenticate/", ReauthenticateView.as_view(), name="account_reauthenticate"),
]
