"""Manifests of a repository by tag and digest: rows, and what releases answer (oci.md 1.1, 7.5, 7.6)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Exists, OuterRef

from apps.artifacts import manifest_format, manifests, names
from apps.artifacts.errors import ManifestInvalid, ManifestUnknown, Unsupported
from apps.artifacts.manifest_format import ParsedManifest
from apps.artifacts.manifests import Pushed, unknown
from apps.artifacts.models import Manifest, Repository
from apps.artifacts.names import Digest
from apps.artifacts.repositories import locked
from apps.lib.formats.oci_manifests import MODULE_PACKAGE
from apps.modules import package_manifest
from apps.oci import mounting, packages, publishing, repositories
from apps.oci.authentication import Caller
from apps.oci.repositories import VisibleRepository
from apps.oci.served import Served
from apps.releases.publishing.quotas import require_bytes


@dataclass(frozen=True, slots=True)
class Put:
    """The outcome of a push. `subject` is empty if the manifest names none, `warning` if there is none."""

    digest: Digest
    subject: str
    tags: tuple[str, ...]
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Push:
    """A manifest that is stored, and the tags that it is to have. `release` is the one that a worker is to decide on;
    until `until` (time.monotonic) the push waits for that.
    """

    caller: Caller
    manifest: int
    versions: Sequence[str]
    others: Sequence[str]
    put: Put
    until: float
    release: int | None = None


def store(
    caller: Caller,
    repository: Repository,
    reference: str | Digest,
    *,
    raw: bytes,
    content_type: str,
    tags: Sequence[str] = (),
) -> Push:
    """Store the bytes. `publish` follows.

    Raises ManifestInvalid, DigestInvalid, ManifestBlobUnknown, TooManyTags, QuotaFull.
    """
    parsed = manifest_format.parse(raw, content_type)
    digest = manifests.digest_of(repository, reference, raw)
    every = tuple(dict.fromkeys([*([] if isinstance(reference, Digest) else [reference]), *tags]))
    versions = [tag for tag in every if repository.is_module and names.is_release_tag(tag)]
    others = [tag for tag in every if tag not in versions]
    manifests.check_tags(every)
    _check_versions(versions, parsed)
    mounting.mount_named(caller, repository, parsed)
    is_checked = bool(versions) or (packages.LATEST in others and repository.is_module and parsed.is_module_package)
    manifest = manifests.store(
        caller.viewer,
        repository,
        Pushed(digest, raw, parsed),
        tags=[] if is_checked else others,
        require_room=require_bytes,
        size_elsewhere=lambda child: _size_of_release(VisibleRepository.of(repository), child),
    )
    put = Put(digest, parsed.subject, every, _warning(repository, parsed, others))
    until = time.monotonic() + settings.OCI_PUBLISH_WAIT.total_seconds()
    return Push(caller, manifest.pk, versions, others if is_checked else [], put, until)


def publish(push: Push) -> Put:
    """Publish the version among the tags, then move the others. Raises what `publishing.publish` and `check` raise."""
    if push.versions or push.others:
        manifest = Manifest.objects.select_related("repository__namespace").get(pk=push.manifest)
        for version in push.versions:
            publishing.publish(push.caller.viewer, manifest, version, begun=push.release)
        if packages.LATEST in push.others:
            publishing.check(manifest.repository, manifest)
        if push.others:
            repositories.authorise_again(push.caller, manifest.repository)  # a worker may have taken its time
            manifests.move_tags(push.caller.viewer, manifest.repository, manifest, push.others)
    return push.put


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
        served = _of_row(found, column, reference, bytes_wanted=bytes_wanted)
    if served is None:
        raise unknown(found.address, reference) if found.is_there else repositories.unknown(found.address)
    return served


def delete(caller: Caller, found: VisibleRepository, reference: str) -> None:
    """A tag goes alone; by digest the manifest goes, and every tag on it. Raises ManifestUnknown, Unsupported."""
    if ":" in reference:
        _delete_manifest(caller, found, str(Digest.parse(reference)))
    else:
        _delete_tag(caller, found, reference)


def _check_versions(versions: Sequence[str], parsed: ParsedManifest) -> None:
    """At most one: if the second of two failed, the first would stay published."""
    if len(versions) > 1:
        raise ManifestInvalid(
            f"The tags {versions[0]} and {versions[1]} are both versions: one push publishes one.",
            hint="Push the manifest once for each version.",
        )
    if versions and not parsed.is_module_package:
        what = parsed.artifact_type or parsed.media_type
        raise ManifestInvalid(
            f"The tag {versions[0]} is a version, which only a module package may have: an image manifest with the "
            f"artifactType {MODULE_PACKAGE} and one zip. This is {what}.",
            hint="Use another tag, or attach it to the version by its subject.",
        )


def _warning(repository: Repository, parsed: ParsedManifest, others: Sequence[str]) -> str:
    """Other artifacts may have any tag."""
    if parsed.is_module_package and not repository.is_module:
        return f"{repository} is not a module: stored, not published. A module's repository is namespace/name/system."
    loose = [tag for tag in others if tag != packages.LATEST]
    if not (parsed.is_module_package and loose):
        return ""
    named = ", ".join(loose[:10]) + (" and more" if len(loose) > 10 else "")  # noqa: PLR2004 - a sentence, not a list
    return f"{named}: not a strict semantic version such as 1.2.0, so it is stored, not published."


def _of_row(found: VisibleRepository, column: str, reference: str, *, bytes_wanted: bool) -> Served | None:
    """Return a row; if it is the manifest of a release, the release decides, whatever the tag (D9)."""
    here = {"repository__namespace": found.namespace, "repository__path": found.address.path_name}
    versions = repositories.versions_of(**found.coordinate).filter(manifest_digest=OuterRef("digest"))
    columns = ("digest", "media_type", "size", *(["raw"] if bytes_wanted else []))
    rows = Manifest.objects.filter(**here, **{column: reference})
    row = rows.values(*columns, is_release=Exists(versions)).first()
    if row is None:
        return None
    if row["is_release"]:
        return packages.served_by_digest(found, row["digest"], bytes_wanted=bytes_wanted)
    return Served(bytes(row.get("raw", b"")), row["digest"], row["media_type"], size=row["size"])


def _delete_manifest(caller: Caller, found: VisibleRepository, digest: str) -> None:
    with locked(found.row.pk if found.row else 0):
        if package_manifest.is_needed(found.namespace, found.registered.path_name, digest):
            raise _is_released(f"{digest} is the manifest of a release.")
        if found.row is None:
            raise unknown(found.address, digest)
        manifests.delete(caller.viewer, found.row, digest)


def _delete_tag(caller: Caller, found: VisibleRepository, tag: str) -> None:
    if not names.is_tag(tag):  # nor may a NUL reach the database
        raise unknown(found.address, tag)
    if found.row is not None and manifests.delete_tag(caller.viewer, found.row, tag):
        return
    if packages.served_by_tag(found, tag) is not None:
        raise _is_released(f"The tag {tag} is a release.")
    raise unknown(found.address, tag)


def _is_released(why: str) -> Unsupported:
    return Unsupported(why, hint=packages.NEVER_DELETED)


def _size_of_release(found: VisibleRepository, digest: Digest) -> int | None:
    try:
        served = packages.served_by_digest(found, str(digest)) if found.module else None
    except ManifestUnknown:
        return None
    return served.length if served else None
