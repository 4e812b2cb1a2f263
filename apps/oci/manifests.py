"""Read and delete manifests by tag and digest: rows, and what releases answer (oci.md 1.1, 7.5, 7.6)."""

from django.db.models import Exists, OuterRef

from apps.artifacts import manifests, names
from apps.artifacts.errors import Unsupported
from apps.artifacts.manifests import unknown
from apps.artifacts.models import Manifest
from apps.artifacts.names import Digest
from apps.artifacts.repositories import locked
from apps.lib.formats.oci_manifests import MODULE_PACKAGE
from apps.modules import package_manifest
from apps.oci import packages, referrers, repositories
from apps.oci.authentication import Caller
from apps.oci.repositories import VisibleRepository
from apps.oci.served import Served
from apps.provenance import attesting


def read(found: VisibleRepository, reference: str, *, bytes_wanted: bool = True) -> Served:
    """By tag or digest: what a release answers first, else the rows. Raises ManifestUnknown, DigestInvalid."""
    if ":" in reference:
        digest = str(Digest.parse(reference))
        served = packages.served_by_digest(found, digest, bytes_wanted=bytes_wanted) if found.is_module else None
        column = "digest"
    else:
        is_theirs = found.is_module and (names.is_release_tag(reference) or reference == packages.LATEST)
        served = packages.served_by_tag(found, reference, bytes_wanted=bytes_wanted) if is_theirs else None
        column = "tags__name" if names.is_tag(reference) else ""
    if served is None and column:
        versions = repositories.versions_of(**found.coordinate).filter(manifest_digest=OuterRef("digest"))
        columns = ("digest", "media_type", "artifact_type", "size", *(["raw"] if bytes_wanted else []))
        rows = Manifest.objects.filter(**found.here, **{column: reference})
        row = rows.values(*columns, is_release=Exists(versions)).first()
        if row is not None and row["is_release"]:  # then the release decides, whatever the tag (D9)
            served = packages.served_by_digest(
                found, row["digest"], bytes_wanted=bytes_wanted, is_by_tag=column != "digest"
            )
        elif row is not None and not _is_unapproved(found, row["artifact_type"]):
            served = Served(bytes(row.get("raw", b"")), row["digest"], row["media_type"], size=row["size"])
    if served is None and column == "digest":
        served = referrers.served(referrers.releases_in(found), reference)
    if served is None:
        raise unknown(found.address, reference) if found.is_there else repositories.unknown(found.address)
    return served


def _is_unapproved(found: VisibleRepository, artifact_type: str) -> bool:
    """A module package of no release: where releases are approved it is not served, not even by its digest."""
    return found.is_module and artifact_type == MODULE_PACKAGE and found.namespace.requires_approval


def delete(caller: Caller, found: VisibleRepository, reference: str) -> None:
    """A tag goes alone; by digest the manifest goes, and every tag on it. Raises ManifestUnknown, Unsupported."""
    if ":" in reference:
        digest = str(Digest.parse(reference))
        with locked(found.row.pk if found.row else 0):
            if package_manifest.is_needed(found.namespace, found.registered.path_name, digest):
                raise Unsupported(f"{digest} is the manifest of a release.", hint=packages.NEVER_DELETED)
            pushed = Manifest.objects.filter(repository=found.row, digest=digest).first() if found.row else None
            if pushed is not None:
                attesting.detach(caller.viewer, pushed)
            else:
                referrers.refuse_delete(found, digest)
            if found.row is None:
                raise unknown(found.address, digest)
            manifests.delete(caller.viewer, found.row, digest)
        return
    if not names.is_tag(reference):  # nor may a NUL reach the database
        raise unknown(found.address, reference)
    if found.row is not None and manifests.delete_tag(caller.viewer, found.row, reference):
        return
    if packages.served_by_tag(found, reference) is not None:
        raise Unsupported(f"The tag {reference} is a release.", hint=packages.NEVER_DELETED)
    raise unknown(found.address, reference)
