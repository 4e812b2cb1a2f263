"""The OCI manifest by which a module's release is served where nobody pushed one: fixed bytes for each release.

Only what never changes goes in: no description, no repository's URL, no clock. Whoever changes a byte of it changes the
digest that people have pinned; the golden file stands guard.
"""

from apps.lib.formats.oci_manifests import MODULE_PACKAGE, TITLE, VERSION, digest_of, zip_manifest
from apps.modules.catalogue.documents import archive_name
from apps.releases.models import Release

# The key of Release.provenance for the digest of the manifest that was pushed with the archive.
PUSHED = "manifest"


def synthesised(release: Release) -> bytes:
    assert release.size is not None  # noqa: S101  # a constraint says so of what is published
    return zip_manifest(
        MODULE_PACKAGE,
        sha256=release.digest,
        size=release.size,
        file_name=archive_name(release.name, release.version),
        annotations={TITLE: release.name, VERSION: release.version},
    )


def pushed_with(release: Release) -> str:
    """The digest of the manifest that came with the release; empty where it came by another door than OCI."""
    return str(release.provenance.get(PUSHED, ""))


def digest_for(release: Release) -> str:
    """The digest of the manifest by which the release is served: the pushed one, else the synthesised one."""
    return pushed_with(release) or digest_of(synthesised(release))
