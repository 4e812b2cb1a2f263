"""POST /theme: store system, light or dark in a cookie. static/js/theme.js does the same without a round trip."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from apps.portal.frame.page_urls import local_path

THEMES = ("system", "light", "dark")
COOKIE = "larder-theme"
A_YEAR = 365 * 24 * 60 * 60


def theme_of(request: HttpRequest) -> str:
    theme = request.COOKIES.get(COOKIE, "")
    return theme if theme in THEMES else THEMES[0]


@login_not_required
@require_POST
def choose_theme(request: HttpRequest) -> HttpResponseRedirect:
    response = HttpResponseRedirect(local_path(request.POST.get("next", "")) or reverse("portal:home"))
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        # Readable by scripts on purpose: theme.js applies it before the first paint.
        response.set_cookie(COOKIE, theme, max_age=A_YEAR, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE)
    return response


urlpatterns = [
    path("theme", choose_theme, name="theme"),
]
