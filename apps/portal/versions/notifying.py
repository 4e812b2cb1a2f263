"""/modules/<address>/usage/notify and of providers: an owner writes to the people who use some of its versions."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_http_methods

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Grant, Membership, Namespace, Role, User
from apps.accounts.people import accounts
from apps.lib.errors import Invalid, NotFound, TooManyAttempts
from apps.modules.dependents import configurations, users
from apps.notify.models import Watch
from apps.portal.frame.forms import form_page, posted, sentence
from apps.portal.frame.page_urls import url_of
from apps.portal.versions.pages import VersionPages
from apps.releases.lifecycle import messages as message_verbs
from apps.releases.models import Lifecycle, Release

OLD = "old"
MAX_NAMED = 50


class MessageForm(forms.Form):
    message = forms.CharField(
        max_length=message_verbs.MAX_CHARACTERS,
        widget=forms.Textarea({"rows": 5}),
        help_text="What they should do, and until when. The mail names you, the versions and their page.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
def notify_users(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    """A GET shows who would get a message about ?version=, or about all deprecated and yanked versions."""
    viewer = session_viewer(request)
    parent, _ = pages.parent_and_role(viewer, pages.address_type(**names), need=Role.OWNER)
    address, chosen = parent.address, request.GET.get("version", "") or OLD
    offered = users.offered(pages.kind, parent.namespace_id, address.path_name)
    versions = [one.version for one in offered if chosen in (OLD, one.version)]
    if chosen == OLD:
        versions = [one.version for one in offered if one.lifecycle != Lifecycle.MAINTAINED]
    elif not versions:
        raise NotFound(f"{address} has no version {chosen[:80]}.", hint="Choose one of the list.")
    named = Release.objects.published().filter(kind=pages.kind, namespace=parent.namespace, name=address.path_name)
    people = _people(viewer, parent, named.filter(version__in=versions), versions, offered)
    form = MessageForm(posted(request))
    if form.is_valid():
        subject, found = (str(address) if chosen == OLD else f"{address} {chosen}"), [one.pk for one in people]
        text = form.cleaned_data["message"]
        try:
            message_verbs.notify_users(
                actor=viewer, namespace=parent.namespace, subject=subject, people=found, message=text
            )
        except (Invalid, TooManyAttempts) as refusal:  # the page keeps the text
            form.add_error(None, sentence(refusal))
        else:
            whom = "1 person" if len(found) == 1 else f"{len(found):,} people"
            messages.success(request, f"The message to {whom} is on its way.")
            return HttpResponseRedirect(url_of(address, "users"), status=HTTPStatus.SEE_OTHER)
    context: dict[str, Any] = {"address": address, "versions": versions, "offered": offered, "chosen": chosen}
    known = set(accounts.known_to(viewer))
    shown = list(people) if viewer.user and viewer.user.is_staff else [one for one in people if one.username in known]
    context |= {"count": len(people), "shown": shown[:MAX_NAMED]}
    return form_page(request, "portal/version/notify.html", form, **context)


def _people(
    viewer: Viewer, parent: Any, releases: QuerySet[Release], versions: list[str], offered: list[users.Offered]
) -> QuerySet[User]:
    """Who downloaded, reported or watches it, and owners of modules that get one of these versions today."""
    kind = releases.values_list("kind", flat=True).first() or ""
    reported = configurations.uses_of(kind, parent.namespace_id, parent.address.path_name).filter(release__in=releases)
    found = message_verbs.downloaders(releases) | set(reported.values_list("configuration__reporter", flat=True))
    if versions:
        watching = Watch.objects.filter(namespace=parent.namespace, name__in=["", parent.address.path_name])
        found |= set(watching.values_list("user", flat=True))
    calling = {
        use.address.namespace
        for use in users.of(viewer, parent.address)
        if users.selected(use.constraint, use.source, offered) in versions
    }
    found |= _owners(calling)
    return message_verbs.readers_of_mail(found, but=viewer.user_id)


def _owners(namespaces: set[str]) -> set[int]:
    grants = Grant.objects.active_owners().filter(namespace__in=Namespace.objects.filter(name__in=namespaces))
    people = set(grants.filter(user__isnull=False).values_list("user", flat=True))
    members = Membership.objects.filter(Q(team__in=grants.filter(team__isnull=False).values("team")))
    return people | set(members.values_list("user", flat=True))
