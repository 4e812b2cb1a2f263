"""/providers/<ns>/<type>/<version>/lifecycle/signature: an owner uploads a new signature of the publisher (D11)."""

from collections.abc import Iterator

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from apps.accounts.identity.authentication import session_viewer
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import RegistryError
from apps.lib.net import bodies
from apps.portal.frame import multipart_body
from apps.portal.frame.forms import sentence
from apps.portal.lifecycle import pages
from apps.portal.publish import uploads
from apps.providers.signatures import resigning


@bodies.streamed("POST")
@csrf_exempt  # Django's check would read the body; uploads check the origin instead (D2)
@require_POST
def provider_lifecycle_signature(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponse:  # noqa: A002
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)

    def open_body() -> Iterator[bytes]:
        chunks = bodies.chunks(request.environ)  # type: ignore[attr-defined]  # WSGIRequest has it
        return multipart_body.file_part(request.META.get("CONTENT_TYPE", ""), chunks).chunks

    try:
        uploads.check_origin(request)
        accepted = resigning.accept_signature(viewer=viewer, address=address, version=version, open_body=open_body)
    except RegistryError as refusal:
        if refusal.code in ("not_found", "forbidden", "unauthenticated"):
            raise
        is_foreign = isinstance(refusal, uploads.ForeignOrigin)
        status = 403 if is_foreign else uploads.STATUS.get(refusal.code, 422)
        return pages.refused(request, pages.PROVIDERS, address, version, refusal=sentence(refusal), status=status)
    row = accepted.version
    done = "is now served with your signature" if accepted.changed else "is already signed"
    messages.success(request, f"{row} {done} by the key {row.key}.")
    return HttpResponseRedirect(reverse("portal:provider-lifecycle", args=[namespace, type, version]), status=303)


urlpatterns = [
    path(
        "providers/<str:namespace>/<str:type>/<str:version>/lifecycle/signature",
        provider_lifecycle_signature,
        name="provider-lifecycle-signature",
    )
]
