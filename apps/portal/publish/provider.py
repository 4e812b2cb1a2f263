"""/publish/provider: open the draft of a provider version; provider_draft.py adds its files."""

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_http_methods

from apps.accounts.identity.authentication import session_viewer
from apps.lib.errors import Conflict
from apps.portal.publish import frame, upload_limits
from apps.portal.publish.frame import PageFrame
from apps.portal.publish.provider_form import ProviderForm
from apps.providers import publishing, reading
from apps.providers.drafting.drafts import draft_document
from apps.releases.models import State
from apps.releases.publishing.drafting import Opened

PORTAL = PageFrame("portal/publish/provider_page.html")
# Open drafts on the page.
DRAFTS = 10


@require_http_methods(["GET", "HEAD", "POST"])
def provider_publish(request: HttpRequest, around: PageFrame = PORTAL) -> HttpResponse:
    viewer = session_viewer(request)
    own = reading.open_drafts(viewer).filter(created_by=viewer.user)[:DRAFTS]
    shown = {"limits": upload_limits.for_providers(), "drafts": own}
    if request.method != "POST":
        return around.show(request, ProviderForm(viewer, query=request.GET), shown)
    form = ProviderForm(viewer, request.POST)

    def begin() -> Opened:
        version, protocols = form.cleaned_data["version"], form.cleaned_data["protocols"]
        opened = publishing.open_draft(viewer=viewer, address=form.address, version=version, protocols=protocols)
        if opened.release.state == State.PUBLISHED:
            raise Conflict(f"{opened.release} is published and cannot change", hint="Publish under another number.")
        return opened

    try:
        opened = frame.begin(form, viewer, begin)
    except frame.Refused as refused:
        return around.again(request, form, refused, shown)
    document = draft_document(opened.release)
    # For our script: the files that are present already.
    rest = {"state": document["state"], "files": document["files"]}
    return frame.started(request, opened.release, rest, status=201 if opened.created else 200)


urlpatterns = [path("publish/provider", provider_publish, name="provider-publish")]
