"""The browser's uploads in several requests: HEAD asks for the offset, PATCH continues, DELETE starts again (tus).

Its routes are those of a whole upload. So an upload has no length before its first PATCH, which brings it with
`Upload-Length`, as tus has it for a length that is deferred.
"""

from collections.abc import Callable, Iterable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse

from apps.blobs import store
from apps.http import tus
from apps.lib.net import bodies
from apps.releases.models import Upload
from apps.releases.publishing import direct, resuming
from apps.releases.publishing.direct import InStorage
from apps.releases.publishing.resuming import Announced, Incoming

# In an answer to HEAD: `storage` takes bytes. In a PATCH: the script asks for a `link` to storage for the next part, or
# says that the part is `stored`.
WAY = "Upload-Part"
METHODS = ["HEAD", "PATCH", "DELETE"]


def answer(
    request: HttpRequest,
    upload: Upload | None,
    *,
    begin: Callable[[Announced], Upload],
    send: Callable[[Upload, int, Iterable[bytes] | Incoming], None],
) -> HttpResponse:
    """Answer a request in METHODS. Raises what `resuming` raises."""
    if request.method == "DELETE":
        if upload is not None:
            resuming.cancel(upload)
        upload = None
    elif request.method == "PATCH":
        tus.check_media_type(request.headers)
        start = tus.offset_of(request.headers)
        if upload is None:
            if start:
                raise resuming.WrongOffset(0)
            upload = begin(tus.announced(request.headers))
        way = request.headers.get(WAY, "")
        if way == "link":
            part = direct.next_part(upload, start=start)
            told = part and {"url": part[0].url, "headers": dict(part[0].headers), "size": part[1]}
            return JsonResponse({"part": told}, headers=tus.standing(upload))
        send(upload, start, InStorage() if way == "stored" else bodies.chunks(request.environ))  # type: ignore[attr-defined]  # WSGIRequest has it
    status = HTTPStatus.OK if request.method == "HEAD" else HTTPStatus.NO_CONTENT
    takes_parts = {WAY: "storage"} if request.method == "HEAD" and store.upload_origin() else {}
    return HttpResponse(status=status, headers=tus.standing(upload) | takes_parts)
