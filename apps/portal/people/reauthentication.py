"""Changes to whom clients trust require a recent proof of who asks, in this very session: a password or a sign-on."""

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlencode

from allauth.account.authentication import get_authentication_records
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from apps.accounts.identity import sessions

MAX_AGE = timedelta(minutes=10)
_REMEMBERED = "kept-for-password"


def confirmed_recently(request: HttpRequest) -> bool:
    """At sign-in or later; allauth's own check ignores a sign-in of a minute ago."""
    records = get_authentication_records(request, request.user)
    typed = [record["at"] for record in records if record.get("method") == "password"]
    age: float = timezone.now().timestamp() - max([sessions.confirmed_at(request), *typed])
    return age < MAX_AGE.total_seconds()


def ask(request: HttpRequest, *, fields: Mapping[str, str] | None = None, after: str = "") -> HttpResponseRedirect:
    """Redirect to the page that confirms, and back, or to `after`. `fields`: for `remembered_form`; never a secret."""
    if fields is not None:
        request.session[_REMEMBERED] = {"path": request.path, "fields": dict(fields)}
    return HttpResponseRedirect(f"{reverse('account_reauthenticate')}?{urlencode({'next': after or request.path})}")


def remembered_form(request: HttpRequest) -> dict[str, str] | None:
    """The page's input from before the password was requested; once."""
    remembered = request.session.get(_REMEMBERED)
    if remembered is None or remembered["path"] != request.path:
        return None
    del request.session[_REMEMBERED]
    fields: dict[str, str] = remembered["fields"]
    return fields
