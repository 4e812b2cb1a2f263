"""The provider mirror (D22): repositories of providers, derived from what is published; they accept no pushes.

Those of other registries are under their host names: see hosted_mirrors.py, which the views ask where `hosted` says so.

Every function is the gate as well: CredentialsRequired without any token, NameUnknown with one, for what is hidden, not
there, or under a host name that is not ours (D8). OpenTofu takes 404 with NAME_UNKNOWN for "not here" and continues
with its next installation method; any other failure ends `init`.
"""

from contextlib import suppress
from operator import itemgetter

from django.conf import settings

from apps.accounts.access import gate
from apps.accounts.models import Namespace
from apps.artifacts.errors import BlobUnknown, ManifestUnknown, NameUnknown
from apps.artifacts.names import Digest, ProviderMirror, tag_of, version_of
from apps.lib import versions
from apps.lib.addresses import canonical
from apps.lib.errors import CredentialsRequired, Invalid, NotFound
from apps.lib.formats.oci_manifests import EMPTY_BYTES, EMPTY_DIGEST, IMAGE_INDEX, IMAGE_MANIFEST, digest_of
from apps.lib.mirrored import HostedProvider
from apps.lib.net.hostnames import normalised
from apps.oci import referrers, repositories
from apps.oci.authentication import Caller
from apps.oci.served import Served
from apps.provenance import referrers as provenance
from apps.providers.drafting.package_manifests import package_manifest, version_index
from apps.providers.models import Package, ProviderVersion, ProviderVersionQuerySet
from apps.releases.cooldown import Shown, require_visible, shown
from apps.releases.models import Release


def hosted(mirror: ProviderMirror) -> HostedProvider | None:
    """Return the provider if it is one of another registry, mirrored or not; None under our own names."""
    try:
        host = normalised(mirror.hostname)
    except Invalid:
        return None
    if host in settings.HOSTNAMES:
        return None
    return HostedProvider(host, mirror.address.namespace.lower(), mirror.address.type)


def namespace_of(caller: Caller, mirror: ProviderMirror) -> Namespace:
    """The gate. An unknown host name is answered like a hidden one: a challenge first, then NameUnknown."""
    try:
        namespace = gate.namespace_for(caller.viewer, mirror.address.namespace, spelled=canonical)
    except NotFound:
        raise unknown(mirror) from None
    except CredentialsRequired:
        if caller.has_token:
            raise unknown(mirror) from None
        raise
    try:
        is_ours = normalised(mirror.hostname) in settings.HOSTNAMES
    except Invalid:
        is_ours = False
    if not is_ours:
        raise unknown(mirror)
    return namespace


def tags(caller: Caller, mirror: ProviderMirror) -> Shown[str]:
    """One tag for each listed version, `_` for `+`, in byte order. Never a short one: for `2` clients ask `2.0.0`.

    Empty where all versions are yanked: clients take that for "not here", too.
    """
    rows = _published(mirror, namespace_of(caller, mirror))
    listed = shown(rows.unyanked().values_list("release__version", "release__visible_at"), itemgetter(1))
    if not listed.rows and not rows.exists():
        raise unknown(mirror)
    return Shown(sorted(tag_of(version) for version, _ in listed.rows), listed.next_at)


def served(caller: Caller, mirror: ProviderMirror, reference: str) -> Served:
    """The index of a tag; by digest an index, a platform's manifest or what is attached to one. Raises ManifestUnknown.

    Yanked versions answer to their exact name (D9), those in their cool-down to their digest alone. What
    a client fetches last, a platform's manifest, is a download.
    """
    namespace = namespace_of(caller, mirror)
    rows = _published(mirror, namespace).select_related("release")
    version, package, attached = None, None, None
    if ":" in reference:
        digest = str(Digest.parse(reference))
        version = rows.filter(index_digest=digest).first()
        of_platforms = Package.objects.filter(version__in=rows, manifest_digest=digest)
        package = None if version else of_platforms.select_related("version__release").order_by("pk").first()
        if not (version or package):
            attached = referrers.served(referrers.releases_of_mirror(mirror, namespace), digest)
    else:
        with suppress(Invalid):
            number = versions.parse(version_of(reference))
            version = rows.filter(release__sort_key=number.sort_key, release__version=number.text).first()
        if version is not None:
            require_visible(version.release, what=f"{mirror.address} {version.release.version}")
    if version is not None:
        raw = version_index(version.release, list(Package.objects.filter(version=version)))
        return Served(raw, version.index_digest or digest_of(raw), IMAGE_INDEX, version.release)
    if package is not None:
        release = package.version.release
        return Served(package_manifest(package, release), digest, IMAGE_MANIFEST, release, is_download=True)
    if attached is not None:
        return attached
    if not rows.exists():
        raise unknown(mirror)
    raise ManifestUnknown(f"There is no manifest {reference} of {mirror.address}.")


def blob(caller: Caller, mirror: ProviderMirror, digest: str) -> Package | bytes:
    """The package with these bytes (`sha256:…`); or the bytes of the empty config, a statement or an attestation, which
    are not in storage. Raises BlobUnknown.
    """
    namespace = namespace_of(caller, mirror)
    rows = _published(mirror, namespace)
    if digest == EMPTY_DIGEST and rows.exists():
        return EMPTY_BYTES
    sha256 = digest.removeprefix("sha256:")
    readable = Release.objects.with_bytes(sha256)
    packages = Package.objects.filter(version__in=rows, version__release__in=readable, digest=sha256)
    package = packages.order_by("pk").first()
    if package is not None:
        return package
    said = provenance.document(referrers.releases_of_mirror(mirror, namespace), sha256)
    if said is not None:
        return said
    if not rows.exists():
        raise unknown(mirror)
    raise BlobUnknown(f"There is no blob {digest} of {mirror.address}.")


def _published(mirror: ProviderMirror, namespace: Namespace) -> ProviderVersionQuerySet:
    return ProviderVersion.objects.published().filter(provider__namespace=namespace, provider__type=mirror.address.type)


def unknown(mirror: ProviderMirror, *, hint: str = "") -> NameUnknown:
    return repositories.unknown(f"providers/{mirror.hostname}/{mirror.address}", hint=hint)
