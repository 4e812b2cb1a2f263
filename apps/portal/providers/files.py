"""A provider version's files: redirects to them, since a page may stay open for longer than a capability is valid (D6),
and the upload of another signature.
"""

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Visibility
from apps.blobs import capabilities, store
from apps.lib.addresses import ProviderAddress
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import NotFound, RegistryError
from apps.lib.formats import sums
from apps.lib.net import bodies
from apps.portal.frame.form_files import STATUS, check_origin, file_of
from apps.portal.frame.forms import sentence
from apps.portal.lifecycle import pages as lifecycle
from apps.providers import reading
from apps.providers.documents import sums_name
from apps.providers.models import ProviderVersion
from apps.providers.signatures import resigning

MAX_SHOWN_BYTES = 64 * 1024


@login_not_required
@require_safe
def provider_package(
    request: HttpRequest,
    *,
    namespace: str,
    type: str,  # noqa: A002  # the field's word
    version: str,
    os: str,
    arch: str,
) -> HttpResponseRedirect:
    package = reading.package_for(session_viewer(request), ProviderAddress(namespace, type), version, os, arch)
    return _redirect(package.version, package.digest, package.filename)


@login_not_required
@require_safe
def provider_sums(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponseRedirect:  # noqa: A002
    shown = reading.version_for(session_viewer(request), ProviderAddress(namespace, type), version)
    return _redirect(shown, shown.sums_digest, sums_name(type, shown.release.version))


@login_not_required
@require_safe
def provider_signature(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponseRedirect:  # noqa: A002
    shown = reading.version_for(session_viewer(request), ProviderAddress(namespace, type), version)
    return _redirect(shown, shown.signature_digest, f"{sums_name(type, shown.release.version)}.sig")


@bodies.streamed("POST")
@csrf_exempt  # Django's check would read the body; uploads check the origin instead (D2)
@require_POST
def provider_lifecycle_signature(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponse:  # noqa: A002
    """An owner uploads a new signature of the publisher (D11)."""
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)

    try:
        check_origin(request)
        accepted = resigning.accept_signature(
            viewer=viewer, address=address, version=version, open_body=lambda: file_of(request).chunks
        )
    except RegistryError as refusal:
        if refusal.code in ("not_found", "forbidden", "unauthenticated"):
            raise
        status = STATUS.get(refusal.code, 422)
        return lifecycle.refused(
            request, lifecycle.PROVIDERS, address, version, refusal=sentence(refusal), status=status
        )
    row = accepted.version
    done = "is now served with your signature" if accepted.changed else "is already signed"
    messages.success(request, f"{row} {done} by the key {row.key}.")
    return HttpResponseRedirect(reverse("portal:provider-lifecycle", args=[namespace, type, version]), status=303)


def sums_of(shown: ProviderVersion) -> str:
    """The stored SHA256SUMS; empty if missing, damaged, or too long for a page."""
    try:
        if (store.size_of(shown.sums_digest) or 0) > MAX_SHOWN_BYTES:
            return ""
        return b"".join(store.read(shown.sums_digest)).decode("utf-8", "replace")
    except (NotFound, store.DamagedInStorage):
        return ""


def digests_in(text: str) -> list[str]:
    """The digest of every line, which clients write to their lock files."""
    try:
        return list(sums.parse(text.encode()).values()) if text else []
    except Refusal:
        return []


def _redirect(shown: ProviderVersion, digest: str, file_name: str) -> HttpResponseRedirect:
    if shown.provider.namespace.visibility == Visibility.PUBLIC:
        return HttpResponseRedirect(reverse("protocol:archive", args=[digest, file_name]))
    capability = capabilities.sign(digest=digest, file_name=file_name, now=timezone.now())
    url = reverse("protocol:archive-capability", args=[capability, digest, file_name])
    return HttpResponseRedirect(url, headers={"Cache-Control": "no-store"})


_VERSION = "providers/<str:namespace>/<str:type>/<str:version>"

urlpatterns = [
    path(f"{_VERSION}/packages/<str:os>/<str:arch>", provider_package, name="provider-package"),
    path(f"{_VERSION}/sums", provider_sums, name="provider-sums"),
    path(f"{_VERSION}/signature", provider_signature, name="provider-signature"),
    path(f"{_VERSION}/lifecycle/signature", provider_lifecycle_signature, name="provider-lifecycle-signature"),
]
