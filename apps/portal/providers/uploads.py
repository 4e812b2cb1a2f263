"""Additions of publishers to a published version of a provider: archives of docs, and another signature."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.identity.sessions import session_viewer
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import RegistryError
from apps.lib.net import bodies
from apps.portal.frame.form_files import STATUS, check_origin, file_of
from apps.portal.frame.forms import sentence
from apps.portal.providers.pages import PROVIDERS
from apps.portal.versions import lifecycle
from apps.providers.docs import browsing, replacing
from apps.providers.drafting import drafts
from apps.providers.signatures import resigning


@bodies.streamed("POST")
@csrf_exempt  # Django's check would read the body; uploads check the origin instead (D2)
@require_http_methods(["GET", "HEAD", "POST"])
def provider_docs_archive(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponse:  # noqa: A002
    """The archive of the shown docs, and a form to upload another."""
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)
    status, error = 200, ""
    if request.method == "POST":
        try:
            check_origin(request)
            shown = replacing.version_of(viewer, address, version)
            _, is_new = replacing.receive(viewer=viewer, version=shown, open_body=lambda: file_of(request).chunks)
        except RegistryError as refusal:
            if refusal.code in ("not_found", "forbidden", "unauthenticated"):
                raise
            status, error = STATUS.get(refusal.code, 422), sentence(refusal)
        else:
            done = "Archive received; a worker is processing it." if is_new else "These bytes were already uploaded."
            messages.success(request, done)
            return HttpResponseRedirect(request.path, status=303)
    shown = replacing.version_of(viewer, address, version)
    archives = browsing.archives_of(shown)
    context = {"address": address, "release": shown.release, "archives": archives, "error": error}
    context |= {"is_waiting": browsing.is_waiting(archives), "page_count": shown.docs_pages.count()}
    context |= {"limit": drafts.limit_of("docs")[0], "file_name": f"terraform-provider-{type}_<version>_docs.zip"}
    return render(request, "portal/provider/docs_archive.html", context, status=status)


@bodies.streamed("POST")
@csrf_exempt  # Django's check would read the body; uploads check the origin instead (D2)
@require_POST
def provider_lifecycle_signature(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponse:  # noqa: A002
    """An owner uploads a new signature of the publisher (D11)."""
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)

    try:
        check_origin(request)
        row, changed = resigning.accept_signature(
            viewer=viewer, address=address, version=version, open_body=lambda: file_of(request).chunks
        )
    except RegistryError as refusal:
        if refusal.code in ("not_found", "forbidden", "unauthenticated"):
            raise
        status = STATUS.get(refusal.code, 422)
        return lifecycle.refused(request, PROVIDERS, address, version, refusal=sentence(refusal), status=status)
    done = "is now served with your signature" if changed else "is already signed"
    messages.success(request, f"{row} {done} by the key {row.key}.")
    return HttpResponseRedirect(reverse("portal:provider-lifecycle", args=[namespace, type, version]), status=303)


_VERSION = f"{PROVIDERS.path}/<str:version>"

urlpatterns = [
    path(f"{_VERSION}/docs/archive", provider_docs_archive, name="provider-docs-archive"),
    path(f"{_VERSION}/lifecycle/signature", provider_lifecycle_signature, name="provider-lifecycle-signature"),
]
