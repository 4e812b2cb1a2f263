"""/account/: a person's own name, a link to their password, and the browsers in which they are signed in."""

import re
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.identity import second_factor, sessions, sign_ins
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import User
from apps.accounts.people import accounts
from apps.portal.frame.forms import form_page, posted
from apps.portal.frame.page_urls import see_other
from apps.portal.frame.reauthentication import person_of

OTHERS = "others"
# The first match: Edge and Opera also claim to be Chrome, Chrome claims to be Safari.
BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari", "curl": "curl"}
SYSTEMS = {
    "Windows": "Windows",
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Mac OS X": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


class NameForm(forms.Form):
    full_name = forms.CharField(
        max_length=150,
        required=False,
        label="Your name",
        help_text="Larder greets you with this name. Other people see your user name.",
        widget=forms.TextInput({"autocomplete": "name"}),
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    user = person_of(viewer)
    form = NameForm(posted(request), initial={"full_name": user.get_full_name()})
    if form.is_valid():
        accounts.rename(user=user, actor=viewer, full_name=form.cleaned_data["full_name"])
        messages.success(request, "Name saved.")
        return see_other("account")
    here = sessions.digest_of_request(request)
    rows = [(one, browser_name(one.agent), one.digest == here) for one in sessions.sessions_of(user)]
    context = {
        "sessions": sorted(rows, key=lambda row: not row[2]),  # this browser first
        "has_others": any(not is_here for *_, is_here in rows),
        "has_password": sign_ins.has_password(user),
        "has_second_factor": second_factor.is_on(user),
        **identities_of(user),
    }
    return form_page(request, "portal/account/page.html", form, **context)


def identities_of(user: User) -> dict[str, Any]:
    """The identities with which the person signs in, and the providers to which the account could be connected."""
    names = {provider.issuer: provider.name for provider in settings.IDENTITY_PROVIDERS}
    if not names:
        return {}
    rows = SocialAccount.objects.filter(user=user).order_by("pk")
    identities = [(row, names.get(row.provider, row.provider)) for row in rows]
    connected = {row.provider for row, _ in identities}
    others = [provider for provider in settings.IDENTITY_PROVIDERS if provider.issuer not in connected]
    return {"identities": identities, "other_providers": others, "has_providers": True}


@require_POST
def sessions_end(request: HttpRequest) -> HttpResponse:
    """End one of the person's sessions, or all others. The current one ends by signing out."""
    viewer = session_viewer(request)
    user = person_of(viewer)
    asked, here = request.POST.get("session", ""), sessions.digest_of_request(request)
    count = sessions.end_for(user=user, actor=viewer, digest=None if asked == OTHERS else asked, besides=here)
    if count:
        messages.success(request, f"Signed out in {count} other browser{'' if count == 1 else 's'}.")
    else:
        messages.info(request, "That session had already ended.")
    return see_other("account")


def browser_name(agent: str) -> str:
    """Firefox on Linux, from a user agent."""
    browser = next((name for mark, name in BROWSERS.items() if re.search(rf"\b{mark}\w*/", agent)), "")
    system = system_name(agent)
    return " on ".join(filter(None, [browser or (system and "A browser"), system])) or "Unknown browser"


def system_name(agent: str) -> str:
    return next((name for mark, name in SYSTEMS.items() if mark in agent), "")


urlpatterns = [
    path("account/", account, name="account"),
    path("account/sessions/end", sessions_end, name="sessions-end"),
]
