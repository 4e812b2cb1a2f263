"""/modules/<address>/usage/notify and of providers: an owner writes to the people who use some of its versions."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role, User
from apps.lib.errors import Invalid, NotFound, TooManyAttempts
from apps.modules.dependents import configurations, users
from apps.modules.dependents.impact import owners_among
from apps.notify.channels import receivers_of
from apps.notify.mail.reach import Reach, reach_of
from apps.notify.models import Topic, Watch
from apps.portal.frame.forms import form_page, posted, sentence
from apps.portal.frame.page_urls import url_of
from apps.portal.frame.sections import sections_of
from apps.portal.versions.effects import named_in
from apps.portal.versions.pages import VersionPages
from apps.releases.lifecycle import messages as message_verbs
from apps.releases.models import Fetch, Lifecycle, Release

# The choices beside a version.
OLD, ALL = "old", "all"
MAX_NAMED = 50


class MessageForm(forms.Form):
    message = forms.CharField(
        max_length=message_verbs.MAX_CHARACTERS,
        widget=forms.Textarea({"rows": 5}),
        help_text="Say what they should do, and by when. The mail includes your name, the versions and a link.",
    )


@dataclass(frozen=True, slots=True)
class Recipients:
    reach: Reach
    receivers: dict[str, int]  # beside people, by their channel

    @property
    def any(self) -> bool:
        return bool(self.reach.reached or self.receivers)

    @property
    def text(self) -> str:
        """1 person and 2 webhooks."""
        people = len(self.reach.reached)
        parts = [f"{people:,} {'person' if people == 1 else 'people'}"] if people else []
        parts += [f"{count} {name}{'' if count == 1 else 's'}" for name, count in self.receivers.items()]
        return " and ".join(parts)


@require_http_methods(["GET", "HEAD", "POST"])
def notify_users(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    """A page about the users of ?version=, of all deprecated and yanked versions (`old`) or of every version (`all`).

    Without a choice it is the oldest version in use. A POST sends only to the users of the versions that the page
    listed beside the button (`shown`): a person who chose others meanwhile sees the page of those first.
    """
    viewer = session_viewer(request)
    parent, _ = pages.parent_and_role(viewer, pages.address_type(**names), need=Role.OWNER)
    address, asked = parent.address, request.POST if request.method == "POST" else request.GET
    offered = users.offered(pages.kind, parent.namespace_id, address.path_name)
    chosen = asked.get("version", "") or _oldest_in_use(viewer, pages.kind, parent, offered) or OLD
    versions = [one.version for one in offered if chosen in (ALL, one.version)]
    if chosen == OLD:
        versions = [one.version for one in offered if one.lifecycle != Lifecycle.MAINTAINED]
    elif not versions and chosen != ALL:
        raise NotFound(f"{address} has no version {chosen[:80]}.", hint="Choose one of the list.")
    found = _recipients(viewer, pages.kind, parent, versions, offered)
    form = MessageForm(posted(request))
    if "show" in request.POST:
        form = MessageForm(initial={"message": request.POST.get("message", "")})
    elif form.is_bound and request.POST.get("shown", "") != " ".join(versions):
        form.add_error(None, "You chose other versions. Check who gets the message, then send it.")
    elif form.is_valid():
        try:
            message_verbs.notify_users(
                actor=viewer,
                namespace=parent.namespace,
                subject=str(address) if chosen in (OLD, ALL) else f"{address} {chosen}",
                people=[one.pk for one in found.reach.reached],
                without_address=[one.pk for one in found.reach.without_address],
                receivers=sum(found.receivers.values()),
                message=form.cleaned_data["message"],
            )
        except (Invalid, TooManyAttempts) as refusal:  # the page keeps the text
            form.add_error(None, sentence(refusal))
        else:
            messages.success(request, f"The message to {found.text} is on its way.")
            return HttpResponseRedirect(url_of(address, "users"), status=HTTPStatus.SEE_OTHER)
    context: dict[str, Any] = {"address": address, "versions": versions, "offered": offered, "chosen": chosen}
    context["listed"] = versions[:MAX_NAMED]
    context |= {"namespace": parent.namespace, "recipients": found}
    context["sections"] = sections_of("notify-users", viewer, parent.namespace) if versions else []
    return form_page(request, "portal/version/notify.html", form, **context, **named_in(viewer, found.reach))


def _oldest_in_use(viewer: Viewer, kind: str, parent: Any, offered: list[users.Offered]) -> str:
    """Return the lowest version that someone else downloaded or reported lately, or that a module gets today."""
    named = Release.objects.published().filter(kind=kind, namespace=parent.namespace, name=parent.address.path_name)
    since = timezone.now().date() - message_verbs.RECENT
    fetches = Fetch.objects.filter(release__in=named, last_on__gte=since).exclude(user=viewer.user_id or 0)
    reported = configurations.uses_of(kind, parent.namespace_id, parent.address.path_name)
    found: set[str | None] = set(fetches.values_list("release__version", flat=True))
    found |= set(reported.values_list("release__version", flat=True))
    found |= {users.selected(use.constraint, use.source, offered) for use in users.of(viewer, parent.address)}
    return next((one.version for one in reversed(offered) if one.version in found), "")


def _recipients(
    viewer: Viewer, kind: str, parent: Any, versions: list[str], offered: list[users.Offered]
) -> Recipients:
    if not versions:
        return Recipients(Reach(), {})
    named = Release.objects.published().filter(kind=kind, namespace=parent.namespace, name=parent.address.path_name)
    people = _people(viewer, parent, named.filter(version__in=versions), versions, offered)
    receivers = receivers_of(parent.namespace, "usage.notified")
    return Recipients(reach_of(people, topic=Topic.MESSAGES, namespace=parent.namespace), receivers)


def _people(
    viewer: Viewer, parent: Any, releases: QuerySet[Release], versions: list[str], offered: list[users.Offered]
) -> QuerySet[User]:
    """Return the people who downloaded, reported or watch it, and owners of modules that get one of these versions
    today.
    """
    kind = releases.values_list("kind", flat=True).first() or ""
    reported = configurations.uses_of(kind, parent.namespace_id, parent.address.path_name).filter(release__in=releases)
    found = message_verbs.downloaders(releases) | set(reported.values_list("configuration__reporter", flat=True))
    watching = Watch.objects.filter(namespace=parent.namespace, name__in=["", parent.address.path_name])
    found |= set(watching.values_list("user", flat=True))
    calling = {
        use.address.namespace
        for use in users.of(viewer, parent.address)
        if users.selected(use.constraint, use.source, offered) in versions
    }
    found |= owners_among(calling)
    return message_verbs.readers_of_mail(found, but=viewer.user_id)
