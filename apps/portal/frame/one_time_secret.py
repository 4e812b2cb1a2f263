"""A new secret on a page of its own, shown once: the POST that made it redirects there, and a reload shows a sentence.

Until that page is fetched the session's row holds the secret encrypted. The key is in a cookie that the browser sends
to that page alone. So neither the database nor the cookie opens anything without the other, and no URL holds a secret.
Showing deletes both.
"""

from http import HTTPStatus

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.debug import sensitive_variables

COOKIE_NAME = "larder-one-time"
SECONDS = 300
MAX_WAITING = 5  # pages of one session that wait to be fetched
_SESSION_KEY = "one-time"


@sensitive_variables("secret", "key")
def redirect_to(request: HttpRequest, page: str, secret: str) -> HttpResponseRedirect:
    key = Fernet.generate_key()
    waiting = {**request.session.get(_SESSION_KEY, {}), page: Fernet(key).encrypt(secret.encode()).decode()}
    request.session[_SESSION_KEY] = dict(list(waiting.items())[-MAX_WAITING:])
    response = HttpResponseRedirect(page, status=HTTPStatus.SEE_OTHER)
    response.set_cookie(
        COOKIE_NAME,
        key.decode(),
        max_age=SECONDS,
        path=page,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response


@sensitive_variables("key", "sealed")
def reveal(request: HttpRequest) -> str:
    """The secret that waits for this page, or the empty string: it was shown, has lapsed, or is another browser's."""
    waiting = dict(request.session.get(_SESSION_KEY, {}))
    sealed, key = waiting.pop(request.path, ""), request.COOKIES.get(COOKIE_NAME, "")
    if not sealed or request.method != "GET":
        return ""
    if waiting:
        request.session[_SESSION_KEY] = waiting
    else:
        del request.session[_SESSION_KEY]
    request.session.save()  # before it is shown, so that no later failure shows it twice
    try:
        return Fernet(key).decrypt(sealed, ttl=SECONDS).decode()
    except (InvalidToken, ValueError):
        return ""


def clear(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Keep the page out of caches, and the cookie out of the browser."""
    response.headers["Cache-Control"] = "no-store"
    if request.method == "GET":
        response.delete_cookie(COOKIE_NAME, path=request.path, samesite="Strict")
    return response
