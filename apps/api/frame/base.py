from dataclasses import replace
from http import HTTPStatus

from django.conf import settings
from django.urls import reverse

from apps.accounts.access import throttling
from apps.api.frame.operations import Operation
from apps.http.errors import Failure, api_dialect
from apps.http.views import MachineView, NothingHere
from apps.lib.errors import CredentialsRequired, RegistryError


class Unreadable(RegistryError):
    """The body has the wrong format for this endpoint."""

    code = "unreadable"


class ApiView(MachineView):
    http_method_names = ["get", "head", "put"]
    dialect = api_dialect

    def operation_of(self, method: str) -> Operation | None:
        """Tell what the endpoint takes and answers; None for a method that it does not have."""
        found: Operation | None = getattr(getattr(self, method.lower(), None), "operation", None)
        return found

    def require_token(self) -> None:
        """For writes: the same 401 for every address, before anything else is checked."""
        if not self.viewer.is_identified:
            raise CredentialsRequired("This needs an API token.")

    def count_upload(self) -> None:
        """Raises TooManyAttempts."""
        throttling.count(throttling.by_account("publish", self.viewer.user_id, ""))

    def failure_of(self, error: Exception) -> Failure:
        failure = super().failure_of(error)
        if failure.code == "unauthenticated":
            return replace(failure, hint=_how_to_make_a_token())
        if failure.code == "invalid":
            return replace(failure, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        return failure


class Unknown(NothingHere):
    dialect = api_dialect


def _how_to_make_a_token() -> str:
    page = f"{settings.PUBLIC_URL}{reverse('portal:tokens')}"
    return f"Make an API token at {page} and send it as `Authorization: Bearer <token>`."
