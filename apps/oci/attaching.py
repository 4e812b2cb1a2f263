"""`oras attach` of an attestation to a release: what is pushed is read before it is stored, and recorded with it.

Any other artifact (an SBOM, a signature of cosign, an attestation of an image) is stored as it comes.
"""

from collections.abc import Sequence

from apps.accounts.access.gate import Viewer
from apps.artifacts import manifest_references
from apps.artifacts.errors import BlobUnknown, ManifestInvalid
from apps.artifacts.manifest_format import Descriptor, ParsedManifest
from apps.artifacts.models import Manifest, Repository
from apps.lib.errors import Conflict, Invalid, TooLarge
from apps.oci import blobs
from apps.oci.repositories import VisibleRepository, versions_of
from apps.provenance import attestation_format, attesting
from apps.provenance.attesting import Checked
from apps.releases.models import Release

_HINT = "See docs/publishing.md: attach a DSSE envelope or a Sigstore bundle v0.3 about this release."


def read(repository: Repository, parsed: ParsedManifest) -> Sequence[Checked]:
    """Return what a manifest attaches to releases: nothing, unless its subject is the manifest of one.

    Raises ManifestInvalid for an attestation that is malformed, too large, or about other bytes.
    """
    layers = [one for one in parsed.blobs if attestation_format.form_of(one.media_type)]
    if not (layers and parsed.subject and repository.is_module):
        return []
    found = VisibleRepository.of(repository)
    versions = versions_of(**found.coordinate).filter(manifest_digest=parsed.subject)
    releases = Release.objects.published().filter(pk__in=versions.values("release")).select_related("namespace")
    try:
        return [
            attesting.check(release, _content(found, release, layer), layer.media_type)
            for release in releases.order_by("pk")
            for layer in layers
        ]
    except (Invalid, TooLarge) as refusal:
        raise ManifestInvalid(f"This attestation was refused: {refusal}", hint=refusal.hint or _HINT) from None


def record(viewer: Viewer, manifest: Manifest, checked: Sequence[Checked]) -> None:
    """In the transaction that stores the manifest. Raises ManifestInvalid."""
    try:
        for one in checked:
            attesting.keep(viewer, one, manifest=manifest)
    except Conflict as refusal:
        raise ManifestInvalid(str(refusal), hint=refusal.hint) from None


def _content(found: VisibleRepository, release: Release, layer: Descriptor) -> bytes:
    try:
        readable = blobs.readable_in(found, layer.digest)
    except BlobUnknown:
        raise manifest_references.unknown(layer, "blob") from None
    attesting.check_size(release, readable.size)
    return b"".join(readable.read(range(readable.size)))
