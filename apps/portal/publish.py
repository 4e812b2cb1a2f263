"""/publish: the first step of a release in the browser. A small form reserves the version and answers a ticket (D2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods

from apps.accounts.access import Viewer
from apps.accounts.authentication import session_viewer
from apps.lib.errors import Conflict, Invalid, TooLarge
from apps.modules import publishing
from apps.portal import tickets, upload_limits
from apps.portal.negotiation import wants_json
from apps.portal.publish_form import PublishForm, sentence

SEE_OTHER = 303


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands around the form: the portal's page, or one of the admin's that shows the same form."""

    template: str = "portal/publish/page.html"
    context: Mapping[str, Any] = field(default_factory=dict)


PORTAL = Surroundings()


@require_http_methods(["GET", "HEAD", "POST"])
def publish(request: HttpRequest, around: Surroundings = PORTAL) -> HttpResponse:
    viewer = session_viewer(request)
    if request.method == "POST":
        return _begin(request, viewer, around)
    return _page(request, PublishForm(viewer, asked=request.GET), around, status=200)


def _begin(request: HttpRequest, viewer: Viewer, around: Surroundings) -> HttpResponse:
    form = PublishForm(viewer, request.POST)
    if not form.is_valid():
        return _refused(request, form, around, status=422)
    chosen = {name: form.cleaned_data[name] for name in ("version", "file_name", "folder", "several")}
    try:
        release, ticket = publishing.begin(viewer=viewer, address=form.address, confirm=form.confirmed, **chosen)
    except Conflict as refusal:
        form.add_error("version", sentence(refusal))
        return _refused(request, form, around, status=409)
    except (Invalid, TooLarge) as refusal:  # too large: the namespace is full
        form.add_error(None, sentence(refusal))
        return _refused(request, form, around, status=422 if isinstance(refusal, Invalid) else 413)
    tickets.keep(request, release, ticket)
    page = reverse("portal:release", args=[release.public_id])
    if wants_json(request):
        return JsonResponse({"upload": reverse("portal:upload", args=[ticket]), "release": page}, status=201)
    # The release page offers the file form to the browser that holds the ticket: a reload repeats nothing.
    return HttpResponseRedirect(page, status=SEE_OTHER)


def _refused(request: HttpRequest, form: PublishForm, around: Surroundings, *, status: int) -> HttpResponse:
    """The form again; to our script its errors by field, those of the whole form under `__all__`."""
    if wants_json(request):
        return JsonResponse({"errors": form.errors}, status=status)
    return _page(request, form, around, status=status)


def _page(request: HttpRequest, form: PublishForm, around: Surroundings, *, status: int) -> HttpResponse:
    context = {**around.context, "form": form, "limits": upload_limits.shown()}
    return render(request, around.template, context, status=status)


urlpatterns = [path("publish", publish, name="publish")]
