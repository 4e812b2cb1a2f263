"""/uploads/<ticket>: the bytes of a release that the publish form reserved (D2).

Our script sends them in as many requests as the line needs (`resumable`), a form without a script as a streamed
multipart POST; a raw PUT brings them at once. Django would look for a CSRF field in
the body, so instead the origin and the one-time ticket are checked before the first byte is read. The ticket needs no
cookie, but it ends with the session, the account and the role of the person who requested it.
"""

from collections.abc import Iterable
from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.lib.errors import RegistryError, TooLarge
from apps.lib.net import bodies
from apps.modules import publishing
from apps.modules.uploads import Uploads
from apps.portal.frame.form_files import OVERHEAD_BYTES, check_origin, file_of, status_of
from apps.portal.frame.forms import sentence
from apps.portal.frame.negotiation import wants_json
from apps.portal.publish import resumable
from apps.releases.models import Release
from apps.releases.publishing import reserving, resuming


@bodies.streamed("PUT", "POST", "PATCH")
@csrf_exempt
@login_not_required
@require_http_methods(["PUT", "POST", *resumable.METHODS])
def upload(request: HttpRequest, ticket: str) -> HttpResponse:
    if request.method in resumable.METHODS:
        return _resume(request, ticket)
    release = None
    try:
        check_origin(request)
        release = reserving.authorise_ticket(ticket)
        check_length(request)
        file_name, chunks = _body(request)
        publishing.receive(release=release, chunks=chunks, file_name=file_name)
    except RegistryError as refusal:
        return refused(request, refusal, release)
    page = reverse("portal:release", args=[release.public_id])
    if wants_json(request):
        return JsonResponse({"release": page})
    return HttpResponseRedirect(page, status=HTTPStatus.SEE_OTHER)


def _resume(request: HttpRequest, ticket: str) -> HttpResponse:
    """Tell a client with the ticket how far the upload is, after its last byte as well."""
    release = None
    try:
        if request.method != "HEAD":  # browsers send no Origin with it, and it changes nothing
            check_origin(request)
        row = resuming.of_ticket(ticket)
        if row is None or row.finished_at is None:
            release = reserving.release_of_ticket(ticket)
            if request.method != "HEAD":
                release = reserving.authorise_ticket(ticket)
        else:
            release = row.release
        uploads = Uploads(reserving.maker_of(release))
        return resumable.answer(
            request,
            row,
            begin=lambda announced: uploads.start_with_ticket(release=release, announced=announced, ticket=ticket),
            send=uploads.send,
        )
    except RegistryError as refusal:
        return refused(request, refusal, release)


def check_length(request: HttpRequest) -> None:
    """Refuse a declared length over the limit, leaving the ticket unused. Other bodies stop at the limit."""
    length = bodies.declared_length(request.environ)  # type: ignore[attr-defined]  # WSGIRequest has it
    limit = settings.MODULE_ARCHIVE_MAX_BYTES
    overhead = OVERHEAD_BYTES if request.method == "POST" else 0
    if length is not None and length > limit + overhead:
        raise TooLarge(
            f"The upload has {length:,} bytes; {publishing.LIMIT_SETTING} allows {limit:,}.",
            hint="Leave out files that are not part of the module, such as .git, .terraform or test data.",
        )


def _body(request: HttpRequest) -> tuple[str, Iterable[bytes]]:
    """The file's name, if the request has one, and its bytes as they arrive."""
    if request.method == "PUT":
        return "", bodies.chunks(request.environ)  # type: ignore[attr-defined]  # as above
    part = file_of(request)
    return part.file_name, part.chunks


def refused(request: HttpRequest, refusal: RegistryError, release: Release | None) -> HttpResponse:
    status = status_of(refusal)
    page = reverse("portal:release", args=[release.public_id]) if release else None
    if wants_json(request):
        answer = JsonResponse({"error": sentence(refusal), "code": refusal.code, "release": page}, status=status)
        return with_offset(answer, refusal)
    context = {"sentence": sentence(refusal), "release": release}
    return render(request, "portal/publish/upload_refused.html", context, status=status)


def with_offset(answer: JsonResponse, refusal: RegistryError) -> JsonResponse:
    if isinstance(refusal, resuming.WrongOffset):
        answer.headers["Upload-Offset"] = str(refusal.offset)
    return answer


urlpatterns = [path("uploads/<str:ticket>", upload, name="upload")]
