"""Show a new secret once, on its own page: the POST that creates it redirects there; a reload has only a sentence.

Until then the session's row has the secret encrypted, with the key in a cookie that the browser sends only to that
page. So neither database nor cookie reveals anything without the other, and no URL contains a secret. Showing the
secret deletes both.
"""

from http import HTTPStatus

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.debug import sensitive_variables

COOKIE_NAME = "larder-one-time"
SECONDS = 300
MAX_WAITING = 5  # secrets of one session that wait for their page
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
    """The secret that waits for this page; "" if it was shown, has lapsed, or belongs to another browser."""
    waiting = dict(request.session.get(_SESSION_KEY, {}))
    sealed, key = waiting.pop(request.path, ""), request.COOKIES.get(COOKIE_NAME, "")
    if not sealed or request.method != "GET":
        return ""
    if waiting:
        request.session[_SESSION_KEY] = waiting
    else:
        del request.session[_SESSION_KEY]
    request.session.save()  # first, so that no later failure shows it twice
    try:
        return Fernet(key).decrypt(sealed, ttl=SECONDS).decode()
    except (InvalidToken, ValueError):
        return ""


def clear(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Keep the page out of caches and delete the cookie."""
    response.headers["Cache-Control"] = "no-store"
    if request.method == "GET":
        response.delete_cookie(COOKIE_NAME, path=request.path, samesite="Strict")
    return response
