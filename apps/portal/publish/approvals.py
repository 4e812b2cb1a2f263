"""/approvals: the releases that await the viewer's approval; and the two decisions about one, on its page."""

import uuid
from collections.abc import Callable
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.identity import second_factor
from apps.accounts.identity.sessions import session_viewer
from apps.lib.errors import Conflict, Invalid, RoleRequired
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import sentence
from apps.portal.frame.page_urls import page_of, see_other
from apps.portal.publish import releases
from apps.portal.publish.own_releases import rows_of
from apps.releases.catalogue import reading
from apps.releases.models import Release
from apps.releases.publishing import approving, deciding

PAGE_SIZE = 30
_STATUS: dict[type, HTTPStatus] = {
    RoleRequired: HTTPStatus.FORBIDDEN,
    Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
}


@never_cache
@require_safe
def approvals(request: HttpRequest) -> HttpResponse:
    page = page_of(approving.waiting_for(session_viewer(request)), request, size=PAGE_SIZE)
    context = {"page": page, "rows": rows_of(list(page.object_list))}
    return render(request, "portal/approvals/page.html", context)


@never_cache
@require_POST
def release_approve(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    viewer = session_viewer(request)
    release, digest = reading.release_for(viewer, public_id), request.POST.get("digest", "")

    def approve() -> str:
        # Its author is told so before they look for their phone.
        if release.namespace.approval_needs_second_factor and deciding.refusal_of(release, viewer) is None:
            person = reauthentication.person_of(viewer)
            if second_factor.is_on(person):
                reauthentication.require(request, f"Approve {release}", by_factor=True, fresh=True)
            is_shown = second_factor.was_shown(request, person)
        else:
            is_shown = False
        if approving.approve(release=release, viewer=viewer, digest=digest, has_second_factor=is_shown):
            return f"Approved: Larder publishes {release} now."
        return f"Approved: a second person has to approve {release} as well."

    return _decided(request, release, approve)


@never_cache
@require_POST
def release_decline(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    viewer = session_viewer(request)
    release, digest = reading.release_for(viewer, public_id), request.POST.get("digest", "")
    reason = request.POST.get("reason", "")[: approving.LONGEST_REASON]

    def decline() -> str:
        approving.decline(release=release, viewer=viewer, digest=digest, reason=reason)
        return f"Declined: the number {release.version} is free again."

    return _decided(request, release, decline)


def _decided(request: HttpRequest, release: Release, decide: Callable[[], str]) -> HttpResponse:
    try:
        done = decide()
    except (RoleRequired, Conflict, Invalid) as refusal:
        status = _STATUS.get(type(refusal), HTTPStatus.CONFLICT)  # Conflict has more special kinds
        release.refresh_from_db()
        return releases.page(request, release, refusal=sentence(refusal), status=status)
    messages.success(request, done)
    return see_other("release", release.public_id)


urlpatterns = [
    path("approvals", approvals, name="approvals"),
    path("releases/<uuid:public_id>/approve", release_approve, name="release-approve"),
    path("releases/<uuid:public_id>/decline", release_decline, name="release-decline"),
]
