"""`oras attach` to a release: an attestation, or what a room reads, is read before it is stored, and recorded with it.

Any other artifact (an SBOM, a signature of cosign, an attestation of an image) is stored as it comes.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from apps.accounts.access.gate import Viewer
from apps.artifacts import manifest_references
from apps.artifacts.errors import BlobUnknown, ManifestInvalid
from apps.artifacts.manifest_format import Descriptor, ParsedManifest
from apps.artifacts.models import Manifest, Repository
from apps.lib.errors import Conflict, Invalid, TooLarge
from apps.oci import blobs
from apps.oci.repositories import VisibleRepository, versions_of
from apps.provenance import attestation_format, attesting
from apps.releases.models import Release

# Writes down what was read, in the transaction that stores the manifest.
Record = Callable[[Viewer, Manifest], object]


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of layers with these media types. `what` is its name in a refusal.

    `check_size(release, size)` is called before the bytes are read, and `read(viewer, release, layer, content)` returns
    what records them. Both raise Invalid, TooLarge or Conflict.
    """

    what: str
    media_types: Collection[str]
    check_size: Callable[[Release, int], None]
    read: Callable[[Viewer, Release, Descriptor, bytes], Record]
    hint: str


def _attestation(_viewer: Viewer, release: Release, layer: Descriptor, content: bytes) -> Record:
    checked = attesting.check(release, content, layer.media_type)
    return lambda viewer, manifest: attesting.keep(viewer, checked, manifest=manifest)


_ATTESTATIONS = Reader(
    "attestation",
    frozenset(attestation_format.MEDIA_TYPES.values()),
    attesting.check_size,
    _attestation,
    "See docs/publishing.md: attach a DSSE envelope or a Sigstore bundle v0.3 about this release.",
)
# By registry_site/wiring.py.
of_rooms: tuple[Reader, ...] = ()


def read(viewer: Viewer, repository: Repository, parsed: ParsedManifest) -> Sequence[Record]:
    """Return what records that which a manifest attaches to releases: nothing, unless its subject is that of one.

    Raises ManifestInvalid for what is malformed, too large, or about other bytes.
    """
    wanted = [(layer, reader) for layer in parsed.blobs if (reader := _reader_of(layer)) is not None]
    if not (wanted and parsed.subject and repository.is_module):
        return []
    found = VisibleRepository.of(repository)
    versions = versions_of(**found.coordinate).filter(manifest_digest=parsed.subject)
    releases = Release.objects.published().filter(pk__in=versions.values("release")).select_related("namespace")
    return [
        _read(viewer, found, release, layer, reader) for release in releases.order_by("pk") for layer, reader in wanted
    ]


def record(viewer: Viewer, manifest: Manifest, records: Sequence[Record]) -> None:
    """In the transaction that stores the manifest. Raises ManifestInvalid."""
    try:
        for one in records:
            one(viewer, manifest)
    except Conflict as refusal:
        raise ManifestInvalid(str(refusal), hint=refusal.hint) from None


def _reader_of(layer: Descriptor) -> Reader | None:
    if attestation_format.form_of(layer.media_type):
        return _ATTESTATIONS
    return next((one for one in of_rooms if layer.media_type in one.media_types), None)


def _read(viewer: Viewer, found: VisibleRepository, release: Release, layer: Descriptor, reader: Reader) -> Record:
    try:
        content = _content(found, layer, partial(reader.check_size, release))
        return reader.read(viewer, release, layer, content)
    except (Conflict, Invalid, TooLarge) as refusal:
        said = f"This {reader.what} was refused: {refusal}"
        raise ManifestInvalid(said, hint=refusal.hint or reader.hint) from None


def _content(found: VisibleRepository, layer: Descriptor, check_size: Callable[[int], None]) -> bytes:
    try:
        readable = blobs.readable_in(found, layer.digest)
    except BlobUnknown:
        raise manifest_references.unknown(layer, "blob") from None
    check_size(readable.size)
    return b"".join(readable.read(range(readable.size)))
