"""The OCI manifest that serves a release which was not pushed over OCI: fixed bytes for each release.

It contains only what never changes: no description, no repository URL, no clock. Changing a byte of it changes the
digest that people have pinned; a golden file guards it.
"""

from apps.lib.formats.oci_manifests import MODULE_PACKAGE, TITLE, VERSION, digest_of, zip_manifest
from apps.modules.catalogue.documents import archive_name
from apps.releases.models import Release

# Key in Release.provenance: the digest of the manifest that was pushed with the archive.
PUSHED = "manifest"


def synthesised(release: Release) -> bytes:
    assert release.size is not None  # noqa: S101  # a constraint guarantees it for published releases
    return zip_manifest(
        MODULE_PACKAGE,
        sha256=release.digest,
        size=release.size,
        file_name=archive_name(release.name, release.version),
        annotations={TITLE: release.name, VERSION: release.version},
    )


def pushed_with(release: Release) -> str:
    """The digest of the manifest that was pushed with the release; empty if it was not pushed over OCI."""
    return str(release.provenance.get(PUSHED, ""))


def digest_for(release: Release) -> str:
    """The digest of the manifest that serves the release: the pushed one, else the synthesised one."""
    return pushed_with(release) or digest_of(synthesised(release))
