"""Context of the frame around every page: templates/base.html and its partials; and its switch POST /theme.

It stores system, light or dark in a cookie. static/js/theme.js does the same without a round trip.
"""

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.lib.net.hostnames import as_written
from apps.notify.attention.number import Attention, attention_for
from apps.portal.frame import menu
from apps.portal.frame.errors import LACKS_SECOND_FACTOR
from apps.portal.frame.page_urls import local_path
from apps.room import MenuEntry, all_of


@dataclass(frozen=True)
class Frame:
    request: HttpRequest
    known: Attention | None = None  # by a view that has read it

    @property
    def version(self) -> str:
        return settings.VERSION

    @property
    def public_host(self) -> str:
        return as_written(settings.PUBLIC_HOST)

    @property
    def theme(self) -> str:
        return theme_of(self.request)

    @cached_property
    def viewer(self) -> Viewer:
        """Loaded on first use: pages without a user menu need no query."""
        return session_viewer(self.request) if hasattr(self.request, "user") else NOBODY

    @property
    def lacks_second_factor(self) -> bool:
        return not self.viewer.is_identified and LACKS_SECOND_FACTOR in self.request.META

    @cached_property
    def attention(self) -> Attention:
        """The badges of the user menu."""
        return attention_for(self.viewer) if self.known is None else self.known

    @property
    def held_count(self) -> int:
        return self.attention.waiting.held

    @property
    def approval_count(self) -> int:
        return len(self.attention.waiting.approvals)

    @property
    def waiting_count(self) -> int:
        """All that the person can do something about, as home lists it."""
        return self.attention.number

    @property
    def main_menu(self) -> list[tuple[MenuEntry, bool]]:
        """Each entry, and whether the page belongs to it."""
        match = self.request.resolver_match
        here = match.view_name if match else ""
        return [(entry, here in (entry.route, *entry.key.split())) for entry in menu.main(self.viewer)]

    @property
    def own_menu(self) -> list[tuple[MenuEntry, int]]:
        """Each entry with the number of releases that need the viewer there; approvals only while there are some."""
        counts = {menu.RELEASES: self.held_count, menu.APPROVALS: self.approval_count}
        shown = [entry for entry in menu.YOU if entry is not menu.APPROVALS or self.approval_count]
        return [(entry, counts.get(entry, 0)) for entry in shown]

    @property
    def readers_menu(self) -> list[MenuEntry]:
        return menu.for_readers()

    @cached_property
    def operate_menu(self) -> list[MenuEntry]:
        return menu.operate(self.viewer)

    @property
    def notices(self) -> list[str]:
        """Return the sentences of rooms above every page."""
        return [sentence for notice in all_of("notices") if (sentence := notice())]

    @property
    def sign_in_url(self) -> str:
        """The sign-in page, which returns to this one."""
        path = self.request.get_full_path()
        login = reverse("portal:second-factor" if self.lacks_second_factor else settings.LOGIN_URL)
        if self.request.method != "GET" or self.request.path in ("/", login):
            return login
        return f"{login}?{urlencode({'next': path})}"


def frame(request: HttpRequest) -> dict[str, Frame]:
    return {"frame": Frame(request)}


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
