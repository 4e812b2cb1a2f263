"""/releases/<uuid>/files and the other actions on a provider draft in the browser (D2, D24).

Our script sends each file in as many requests as the line needs (`resumable`), a form without a script as a streamed
multipart POST; a raw PUT brings a file at once. As for /uploads/, the
origin replaces a CSRF field, which Django would look for in the body; the session identifies the sender.
"""

import uuid
from functools import partial
from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.lib.errors import CredentialsRequired, Invalid, NotFound, RegistryError
from apps.lib.net import bodies
from apps.lib.packages import sandboxed
from apps.portal.frame import form_files
from apps.portal.frame.form_files import ForeignOrigin, check_origin, status_of
from apps.portal.frame.forms import sentence
from apps.portal.frame.negotiation import wants_json
from apps.portal.frame.page_urls import see_other
from apps.portal.publish import releases, resumable, uploads
from apps.portal.publish.provider import ProtocolsForm
from apps.providers import publishing
from apps.providers.drafting import assembling, drafts
from apps.providers.drafting.drafts import file_document
from apps.providers.uploads import Uploads
from apps.releases.catalogue import reading
from apps.releases.models import Kind, Release
from apps.releases.publishing.drafting import MAX_FILES

# Build folders have more files than a release; ignored ones are read and dropped.
MAX_PARTS = 10 * MAX_FILES
MINE = "terraform-provider-"


@bodies.streamed("PUT", "PATCH")
@csrf_exempt
@login_not_required  # our script gets 401 instead of a redirect to sign-in
@require_http_methods(["PUT", *resumable.METHODS])
def release_file(request: HttpRequest, public_id: uuid.UUID, filename: str) -> HttpResponse:
    """One file as the raw body: 201 with its digest, 200 if it replaces one of that name."""
    try:
        if request.method != "HEAD":
            check_origin(request)
        viewer = session_viewer(request)
        release = _draft(viewer, public_id)
        if request.method in resumable.METHODS:
            own = Uploads(viewer)
            return resumable.answer(
                request,
                own.of_file(release=release, name=filename),
                begin=lambda announced: own.start(release=release, name=filename, announced=announced),
                send=own.send,
            )
        environ = request.environ  # type: ignore[attr-defined]  # WSGIRequest has it
        drafts.check_length(release, filename, bodies.declared_length(environ))
        open_body = partial(bodies.chunks, environ)
        file, is_new = publishing.receive_file(viewer=viewer, release=release, name=filename, open_body=open_body)
    except CredentialsRequired:
        error = "You are no longer signed in. Sign in again in another tab, then continue from here."
        return JsonResponse({"error": error}, status=HTTPStatus.UNAUTHORIZED)
    except RegistryError as refusal:
        answer = JsonResponse({"error": sentence(refusal), "code": refusal.code}, status=status_of(refusal))
        return uploads.with_offset(answer, refusal)
    return JsonResponse(file_document(file), status=HTTPStatus.CREATED if is_new else HTTPStatus.OK)


@bodies.streamed("POST")
@csrf_exempt
@never_cache
@require_POST
def release_files(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """The files of a form, each as it arrives; skips and reports names that mean nothing to this release."""
    try:
        check_origin(request)
    except ForeignOrigin as refusal:
        return uploads.refused(request, refusal, None)
    viewer = session_viewer(request)
    release = _draft(viewer, public_id)
    chunks = bodies.chunks(request.environ)  # type: ignore[attr-defined]  # as above
    kind = request.META.get("CONTENT_TYPE", "")
    received: list[str] = []
    ignored: list[str] = []
    try:
        for part in form_files.file_parts(kind, chunks, most=MAX_PARTS):
            name = part.file_name.replace("\\", "/").rpartition("/")[2]
            # A repository's manifest gets its name in the build folder, unless that was sent too or none can join.
            renamed = drafts.manifest_name(release)
            if name == drafts.GENERAL_MANIFEST and renamed not in received and assembling.takes_manifest(release):
                name = renamed
            if _is_wanted(request, release, name, ignored):
                open_body = partial(iter, part.chunks)
                publishing.receive_file(viewer=viewer, release=release, name=name, open_body=open_body)
                received.append(name)
    except RegistryError as refusal:
        return _refused(request, release, refusal)
    if received:
        messages.success(request, f"Received: {', '.join(received)}.")
    if ignored:
        messages.info(request, f"Not needed, so not stored: {', '.join(ignored[:20])}.")
    return _to_page(release)


@never_cache
@require_POST
def release_file_remove(request: HttpRequest, public_id: uuid.UUID, filename: str) -> HttpResponse:
    viewer = session_viewer(request)
    release = _draft(viewer, public_id)
    try:
        publishing.remove_file(viewer=viewer, release=release, name=filename)
    except RegistryError as refusal:
        return _refused(request, release, refusal)
    return _to_page(release)


@never_cache
@require_POST
def release_hand_in(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Refuses a draft for gaps that the page shows, from forms and our script alike."""
    viewer = session_viewer(request)
    release = _draft(viewer, public_id)
    form = ProtocolsForm(request.POST)
    try:
        if not form.is_valid():
            raise Invalid(" ".join(map(str, form.errors["protocols"])))
        protocols = form.cleaned_data["protocols"]
        publishing.hand_in(viewer=viewer, release=release, protocols=protocols, lacking_nothing=True)
    except RegistryError as refusal:
        return _refused(request, release, refusal)
    return _to_page(release)


def _draft(viewer: Viewer, public_id: uuid.UUID) -> Release:
    release = reading.release_for(viewer, public_id)
    if release.kind != Kind.PROVIDER:
        raise NotFound("There is no such provider draft.")
    return release


def _is_wanted(request: HttpRequest, release: Release, name: str, ignored: list[str]) -> bool:
    try:
        if drafts.role_of(release, name) != "ignored":
            return True
    except Invalid as refusal:
        is_known = sandboxed.is_companion(name, type=release.name, version=release.version)
        if name.startswith(MINE) and not is_known:
            messages.warning(request, sentence(refusal))
            return False
    ignored.append(name)
    return False


def _refused(request: HttpRequest, release: Release, refusal: RegistryError) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"error": sentence(refusal)}, status=status_of(refusal))
    if isinstance(refusal, CredentialsRequired):
        raise refusal
    reading.release_for(session_viewer(request), release.public_id)  # the namespace may be hidden from them by now
    return releases.page(request, release, refusal=sentence(refusal), status=status_of(refusal))


def _to_page(release: Release) -> HttpResponse:
    return see_other("release", release.public_id)


_RELEASE = "releases/<uuid:public_id>"

urlpatterns = [
    path(f"{_RELEASE}/files", release_files, name="release-files"),
    path(f"{_RELEASE}/files/<segment:filename>", release_file, name="release-file"),
    path(f"{_RELEASE}/files/<segment:filename>/remove", release_file_remove, name="release-file-remove"),
    path(f"{_RELEASE}/hand-in", release_hand_in, name="release-hand-in"),
]
