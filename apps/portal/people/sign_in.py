"""/account: signing in and the other pages of allauth that Larder uses. allauth.urls would add pages that send mail."""

from typing import Any

from allauth.account import forms, views
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import path

from apps.accounts.models import User


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


class PasswordChangeView(views.PasswordChangeView):  # type: ignore[misc]  # allauth ships no types
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # allauth would redirect to its page for a first password, which has no route.
        if isinstance(request.user, User) and not request.user.has_usable_password():
            raise PermissionDenied
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return response


# No application namespace: allauth reverses bare names.
urlpatterns = [
    path("login/", views.login, name="account_login"),
    path("logout/", views.logout, name="account_logout"),
    path("password/change/", PasswordChangeView.as_view(), name="account_change_password"),
    path("reauthenticate/", views.reauthenticate, name="account_reauthenticate"),
]
