"""Redirects from a provider's pages to its files: a page may stay open for longer than a capability is valid (D6)."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Visibility
from apps.blobs import capabilities, store
from apps.lib.addresses import ProviderAddress
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import NotFound
from apps.lib.formats import sums
from apps.providers import reading
from apps.providers.documents import sums_name
from apps.providers.models import ProviderVersion

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
]
