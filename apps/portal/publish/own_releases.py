"""/releases: the releases that a person started, to find each again after its tab is closed."""

from dataclasses import dataclass, field
from typing import Self

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.identity.sessions import session_viewer
from apps.lib.addresses import ProviderAddress
from apps.modules import publishing
from apps.portal.frame.page_urls import Address, page_of, url_of
from apps.releases.catalogue import reading as own
from apps.releases.models import Kind, Release, State

PAGE_SIZE = 30
LABELS = {
    own.HELD: "Needs your answer",
    own.AWAITING: "Awaiting approval",
    own.RUNNING: "In progress",
    own.REFUSED: "Rejected",
    own.PUBLISHED: "Published",
}
STATES = {
    State.RECEIVED: "Waiting for a worker",
    State.CHECKING: "Being checked",
    State.HELD: "Needs your answer",
    State.AWAITING_APPROVAL: "Awaiting approval",
    State.SIGNING: "Being signed",
    State.PUBLISHED: "Published",
    State.REJECTED: "Rejected",
    State.FAILED: "Failed",
    State.PURGED: "Removed",
}
TONES = {State.HELD: "warn", State.PUBLISHED: "ok", State.REJECTED: "bad", State.FAILED: "bad", State.PURGED: ""}


@dataclass(frozen=True, slots=True)
class Row:
    release: Release
    address: Address
    label: str
    tone: str
    version_url: str  # if published
    reasons: list[str] = field(default_factory=list)  # of a refusal, or questions

    @classmethod
    def from_release(cls, release: Release) -> Self:
        state = State(release.state)
        reasons = release.questions if state == State.HELD else release.reasons
        address = _address(release)
        receiving = "Waiting for its file" if release.ticket_digest else "Uploading"
        if release.kind == Kind.PROVIDER:
            receiving = "Draft"
        return cls(
            release,
            address,
            STATES.get(state, receiving),
            TONES.get(state, "info"),
            url_of(address, "version", release.version) if state == State.PUBLISHED else "",
            [reason["found"] for reason in reasons],
        )


def rows_of(releases: list[Release]) -> list[Row]:
    return [Row.from_release(release) for release in releases]


@never_cache
@require_safe
def own_releases(request: HttpRequest) -> HttpResponse:
    viewer, state = session_viewer(request), request.GET.get("state", "")
    group = state if state in LABELS else ""
    counts = own.counts(viewer)
    page = page_of(own.releases_of(viewer, group), request, size=PAGE_SIZE)
    context = {
        "page": page,
        "rows": rows_of(list(page.object_list)),
        "group": group,
        "group_label": LABELS.get(group, ""),
        "groups": [(name, label, counts[name]) for name, label in LABELS.items()],
        "total": sum(counts.values()),
    }
    return render(request, "portal/own_releases/page.html", context)


def _address(release: Release) -> Address:
    if release.kind == Kind.PROVIDER:
        return ProviderAddress(release.namespace.name, release.name)
    return publishing.address_of(release)


urlpatterns = [path("releases", own_releases, name="own-releases")]
