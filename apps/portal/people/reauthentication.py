"""Changes to whom clients trust require a password entered recently, in this very session."""

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlencode

from allauth.account.authentication import get_authentication_records
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

MAX_AGE = timedelta(minutes=15)
_REMEMBERED = "kept-for-password"


def typed_recently(request: HttpRequest) -> bool:
    """At sign-in or later; allauth's own check ignores a sign-in of a minute ago."""
    records = get_authentication_records(request, request.user)
    at = max((record["at"] for record in records if record.get("method") == "password"), default=0)
    return timezone.now().timestamp() - at < MAX_AGE.total_seconds()


def ask(request: HttpRequest, *, fields: Mapping[str, str] | None = None) -> HttpResponseRedirect:
    """Redirect to the password page and back. `keep`: input for `remembered_form`; never a secret."""
    if fields is not None:
        request.session[_REMEMBERED] = {"path": request.path, "fields": dict(fields)}
    return HttpResponseRedirect(f"{reverse('account_reauthenticate')}?{urlencode({'next': request.path})}")


def remembered_form(request: HttpRequest) -> dict[str, str] | None:
    """The page's input from before the password was requested; once."""
    remembered = request.session.get(_REMEMBERED)
    if remembered is None or remembered["path"] != request.path:
        return None
    del request.session[_REMEMBERED]
    fields: dict[str, str] = remembered["fields"]
    return fields
