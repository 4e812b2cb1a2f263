"""Acts that matter require a confirmation in this very session: a password, a second factor, a sign-on.

It lasts for confirmation_minutes of LARDER_LIFETIMES, and each act that needs one extends it. Keys, purges and roles
need a fresh one. People with a second factor confirm changes to it with a factor: a password does not count, and a
sign-on only if the provider said that it asked for one (`by_factor`, D25).

A form that is sent without one waits in the session. The person confirms who they are, sees what waits, and presses the
button: nothing that was typed is lost, and nothing is repeated by itself.
"""

import secrets
from typing import Any, Final
from urllib.parse import urlencode

from allauth.account.authentication import get_authentication_records
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import second_factor, sessions
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import User
from apps.lib.errors import NotFound

MAX_WAITING = 3  # forms of one session that wait for their person
MAX_CHARACTERS = 100_000
_WAITING: Final = "forms-to-confirm"
_USED: Final = "confirmation-used-at"
_USED_AGAIN = 60  # seconds: acts in a row write the session once
_METHODS = ("password", "mfa")


def person_of(viewer: Viewer) -> User:
    assert viewer.user is not None  # noqa: S101  # LoginRequiredMiddleware lets nobody else in
    return viewer.user


def confirmed_recently(request: HttpRequest, *, by_factor: bool = False, fresh: bool = True) -> bool:
    """At sign-in or later; allauth's own check ignores a sign-in of a minute ago.

    `by_factor`: by a second factor, if the person has one. Not `fresh`: it may be older, and extended since.
    """
    if by_factor and second_factor.must_be_shown(request, person_of(session_viewer(request))):
        return False
    records = get_authentication_records(request, request.user)
    given = [record["at"] for record in records if record.get("method") in _METHODS]
    at, lifetime = max([sessions.confirmed_at(request), *given]), sessions.PROOF_LIFETIME
    if not fresh and at:
        at, lifetime = max(at, request.session.get(_USED, 0)), max(lifetime, settings.CONFIRMATION_LIFETIME)
    age: float = timezone.now().timestamp() - at
    return age < lifetime.total_seconds()


def ask(request: HttpRequest, *, after: str = "", by_factor: bool = False) -> HttpResponseRedirect:
    """Redirect to the page that confirms, and back to this address with its query, or to `after`.

    `by_factor` only says which ways the page offers; the caller checks the proof.
    """
    query = {"next": after or request.get_full_path(), **({"by": "factor"} if by_factor else {})}
    return HttpResponseRedirect(f"{reverse('account_reauthenticate')}?{urlencode(query)}")


def require(request: HttpRequest, act: str, *, by_factor: bool = False, fresh: bool = False) -> None:
    """Let a POST continue only with a confirmation. Otherwise its form waits, and the person is asked.

    Call it when the gate has let the person in and the form is valid. `act` is the imperative sentence on the button.
    Raises ImmediateHttpResponse.
    """
    if confirmed_recently(request, by_factor=by_factor, fresh=fresh):
        now = timezone.now().timestamp()
        if not fresh and now - request.session.get(_USED, 0) > _USED_AGAIN:
            request.session[_USED] = now
        _drop(request)
        return
    # The database must not have a password in clear, even for a moment.
    fields = [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name != "csrfmiddlewaretoken" and "password" not in name
    ]
    if request.FILES or sum(len(name) + len(str(value)) for name, value in fields) > MAX_CHARACTERS:
        raise ImmediateHttpResponse(ask(request, by_factor=by_factor))
    key = secrets.token_urlsafe(12)
    # The page that has the form: not every address of a form answers a GET.
    page = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    form = {
        "path": request.get_full_path(),
        "fields": fields,
        "act": act,
        "by_factor": by_factor,
        "fresh": fresh,
        "back": page if is_ours else reverse("portal:home"),
    }
    waiting = {**request.session.get(_WAITING, {}), key: form}
    request.session[_WAITING] = dict(list(waiting.items())[-MAX_WAITING:])
    raise ImmediateHttpResponse(ask(request, after=reverse("portal:resume", args=[key]), by_factor=by_factor))


@never_cache
@require_safe
def resume(request: HttpRequest, key: str) -> HttpResponse:
    """Show what the person was about to do, with a button that sends the form again."""
    form: dict[str, Any] | None = request.session.get(_WAITING, {}).get(key)
    if form is None:
        raise NotFound("There is nothing to confirm.", hint="It may already be done. If not, send the form again.")
    by_factor = form.get("by_factor", False)  # forms that wait since an older release do not say
    if not confirmed_recently(request, by_factor=by_factor, fresh=form.get("fresh", True)):
        return ask(request, by_factor=by_factor)
    return render(request, "portal/account/resume.html", {"waiting": form})


def _drop(request: HttpRequest) -> None:
    """Forget forms of this address: this is one of them, or has taken its place."""
    waiting = request.session.get(_WAITING, {})
    left = {key: form for key, form in waiting.items() if form["path"] != request.get_full_path()}
    if len(left) != len(waiting):
        request.session[_WAITING] = left


urlpatterns = [path("account/resume/<str:key>", resume, name="resume")]
