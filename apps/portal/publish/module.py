"""/publish: the first step of a release in the browser. A small form reserves the version and returns a ticket (D2)."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods

from apps.accounts.access import throttling
from apps.accounts.identity.authentication import session_viewer
from apps.modules import publishing
from apps.portal.publish import frame, tickets, upload_limits
from apps.portal.publish.form import PublishForm, suggestions
from apps.portal.publish.frame import PageFrame
from apps.releases.models import Release

PORTAL = PageFrame("portal/publish/page.html")


@require_http_methods(["GET", "HEAD", "POST"])
def publish(request: HttpRequest, around: PageFrame = PORTAL) -> HttpResponse:
    viewer, shown = session_viewer(request), {"limits": upload_limits.for_modules()}
    if request.method != "POST" and (words := request.GET.get("suggest")) is not None:
        throttling.count(throttling.by_account("search", viewer.user_id, ""))
        return JsonResponse({"modules": suggestions(viewer, words)})
    if request.method != "POST":
        return around.show(request, PublishForm(viewer, query=request.GET), shown)
    form = PublishForm(viewer, request.POST)

    def begin() -> tuple[Release, str]:
        chosen = {name: form.cleaned_data[name] for name in ("version", "file_name", "folder", "multiple_modules")}
        return publishing.reserve_release(viewer=viewer, address=form.address, confirm=form.confirmed, **chosen)

    try:
        release, ticket = frame.begin(form, viewer, begin)
    except frame.Refused as refused:
        return around.again(request, form, refused, shown)
    tickets.remember(request, release, ticket)  # the release page shows the file form only in this browser
    return frame.started(request, release, {"upload": reverse("portal:upload", args=[ticket])})


urlpatterns = [path("publish", publish, name="publish")]
