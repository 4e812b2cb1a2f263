"""/publish/provider: opens the draft of a provider's version, which its files then fill (provider_draft.py)."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods

from apps.accounts.access import Viewer
from apps.accounts.authentication import session_viewer
from apps.lib.errors import Conflict, Invalid, TooLarge
from apps.portal import upload_limits
from apps.portal.negotiation import wants_json
from apps.portal.provider_form import ProviderForm
from apps.portal.publish import SEE_OTHER, Surroundings
from apps.portal.publish_form import sentence
from apps.providers import publishing, reading
from apps.providers.draft_documents import draft_document
from apps.releases.drafting import Opened
from apps.releases.models import State

PORTAL = Surroundings("portal/publish/provider_page.html")
# This many open drafts are named; who has more knows their pages.
DRAFTS = 10


@require_http_methods(["GET", "HEAD", "POST"])
def provider_publish(request: HttpRequest, around: Surroundings = PORTAL) -> HttpResponse:
    viewer = session_viewer(request)
    if request.method == "POST":
        return _begin(request, viewer, around)
    return _page(request, ProviderForm(viewer, asked=request.GET), around, status=200)


def _begin(request: HttpRequest, viewer: Viewer, around: Surroundings) -> HttpResponse:
    form = ProviderForm(viewer, request.POST)
    if not form.is_valid():
        return _refused(request, form, around, status=422)
    version, protocols = form.cleaned_data["version"], form.cleaned_data["protocols"]
    try:
        opened = publishing.begin(viewer=viewer, address=form.address, version=version, protocols=protocols)
        if opened.release.state == State.PUBLISHED:
            raise Conflict(f"{opened.release} is published, and never changes", mend="Publish under another number.")
    except Conflict as refusal:
        form.add_error("version", sentence(refusal))
        return _refused(request, form, around, status=409)
    except (Invalid, TooLarge) as refusal:  # too large: the namespace is full
        form.add_error(None, sentence(refusal))
        return _refused(request, form, around, status=422 if isinstance(refusal, Invalid) else 413)
    if wants_json(request):
        return JsonResponse(_opened(opened), status=201 if opened.created else 200)
    return HttpResponseRedirect(reverse("portal:release", args=[opened.release.public_id]), status=SEE_OTHER)


def _opened(opened: Opened) -> dict[str, Any]:
    """What our script goes on with: where to send what, and the files that are there already."""
    document = draft_document(opened.release)
    page = reverse("portal:release", args=[opened.release.public_id])
    return {"release": page, "state": document["state"], "files": document["files"]}


def _refused(request: HttpRequest, form: ProviderForm, around: Surroundings, *, status: int) -> HttpResponse:
    """The form again; to our script its errors by field, those of the whole form under `__all__`."""
    if wants_json(request):
        return JsonResponse({"errors": form.errors}, status=status)
    return _page(request, form, around, status=status)


def _page(request: HttpRequest, form: ProviderForm, around: Surroundings, *, status: int) -> HttpResponse:
    viewer = session_viewer(request)
    own = reading.open_drafts(viewer).filter(created_by=viewer.user)[:DRAFTS]
    context = {**around.context, "form": form, "limits": upload_limits.of_providers(), "drafts": own}
    return render(request, around.template, context, status=status)


urlpatterns = [path("publish/provider", provider_publish, name="provider-publish")]
