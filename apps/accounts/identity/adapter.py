"""Settings of django-allauth: no open sign-up, and sign-in does not reveal which names exist."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse

from apps.accounts.access import epoch
from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.recorder import record


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """Treat an inactive account like a wrong password; allauth would show a separate page."""
        user = super().authenticate(request, **credentials)
        return user if isinstance(user, User) and user.is_active else None

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address for rate limits, as `registry_site.server.forwarded` set it, or `unknown` for all."""
        return request.META.get("REMOTE_ADDR") or "unknown"

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:  # noqa: ARG002
        return reverse("portal:account")

    @transaction.atomic
    def set_password(self, user: User, password: str) -> None:
        super().set_password(user, password)
        epoch.advance()  # it ends the person's other sessions
        record(Kind.PASSWORD_CHANGED, actor_id=user.pk, subject=f"user/{user.pk}")
