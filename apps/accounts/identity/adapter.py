"""Settings of django-allauth: no open sign-up, and sign-in does not reveal which names exist."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from apps.accounts.access import epoch
from apps.accounts.identity import sessions, sign_ins
from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.recorder import record


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """Treat an inactive account, or one whose password does not count, like a wrong password.

        allauth would show a separate page.
        """
        attempt = sign_ins.count_password(request, str(credentials.get("username", "")))
        user = super().authenticate(request, **credentials)
        if not (isinstance(user, User) and user.is_active and sign_ins.password_counts(user)):
            return None
        attempt.give_back()
        return user

    def reauthenticate(self, user: User, password: str) -> bool:
        return sign_ins.password_counts(user) and bool(super().reauthenticate(user, password))

    def post_login(
        self, request: HttpRequest, user: User, *, signal_kwargs: dict[str, Any] | None, **more: Any
    ) -> HttpResponse:
        sign_on = (signal_kwargs or {}).get("sociallogin")
        if sign_on is not None:
            sessions.remember_sign_on(request, sign_on.state[sessions.SIGN_ON])
        response: HttpResponse = super().post_login(request, user, signal_kwargs=signal_kwargs, **more)
        return response

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:  # noqa: ARG002
        return reverse("portal:account")

    @transaction.atomic
    def set_password(self, user: User, password: str) -> None:
        super().set_password(user, password)
        epoch.advance()  # it ends the person's other sessions
        record(Kind.PASSWORD_CHANGED, actor_id=user.pk, subject=f"user/{user.pk}")
