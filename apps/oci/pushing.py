"""The resolved request of a manifest's push: all of it is found out before anything is written."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from apps.artifacts import manifest_format, manifest_references, manifests, names
from apps.artifacts.errors import BlobUnknown, ManifestInvalid
from apps.artifacts.manifests import Pushed
from apps.artifacts.models import Repository
from apps.artifacts.names import Digest
from apps.lib.errors import Conflict
from apps.lib.formats.oci_manifests import MODULE_PACKAGE
from apps.modules.models import ModuleVersion
from apps.oci import attaching, blobs, packages
from apps.oci.authentication import Caller
from apps.oci.repositories import VisibleRepository


@dataclass(frozen=True, slots=True)
class Push:
    """`manifest` is None once it is stored: a push that waits for a worker needs its bytes no more.

    Of `tags`, `version` is the one that names a release, or empty; those in `others` are moved after the check of a
    module package, and the rest with the manifest. `release` is the one that a worker is to decide on; until `until`
    (time.monotonic) the push waits for that. `attached` is recorded with the manifest.
    """

    caller: Caller
    repository: Repository
    manifest: Pushed | None
    digest: Digest
    subject: str
    is_module_package: bool
    tags: Sequence[str]
    version: str
    others: Sequence[str]
    until: float
    release: int | None = None
    attached: Sequence[attaching.Record] = ()

    @property
    def warning(self) -> str:
        """Empty for other artifacts: they may have any tag."""
        if self.is_module_package and not self.repository.is_module:
            return (
                f"{self.repository} is not a module: stored, not published. A module's repository is "
                "namespace/name/system."
            )
        loose = [tag for tag in self.tags if tag not in (self.version, packages.LATEST)]
        if not (self.is_module_package and loose):
            return ""
        named = ", ".join(loose[:10]) + (" and more" if len(loose) > 10 else "")  # noqa: PLR2004 - a sentence, no list
        return f"{named}: not a strict semantic version such as 1.2.0, so it is stored, not published."


def resolve(
    caller: Caller,
    repository: Repository,
    reference: str | Digest,
    *,
    raw: bytes,
    content_type: str,
    tags: Sequence[str] = (),
) -> Push:
    """Raises ManifestInvalid, DigestInvalid, ManifestBlobUnknown, TooManyTags."""
    parsed = manifest_format.parse(raw, content_type)
    digest = manifests.digest_of(repository, reference, raw)
    every = tuple(dict.fromkeys([*([] if isinstance(reference, Digest) else [reference]), *tags]))
    manifests.check_tags(every)
    versions = [tag for tag in every if repository.is_module and names.is_release_tag(tag)]
    others = [tag for tag in every if tag not in versions]
    if len(versions) > 1:  # if the second of two failed, the first would stay published
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
    if others and not versions and parsed.is_module_package and repository.is_module:
        _require_approved(repository, str(digest), others)

    missing, children = manifest_references.missing(repository, parsed)
    found = VisibleRepository.of(repository)
    # Clients see the blobs and manifests of releases here, and do not push them.
    sizes = {one.digest: packages.size_of(found, one.digest) for one in children}
    readable, inline = {}, {}
    for one in missing:
        try:
            there = blobs.readable_in(found, one.digest)
        except BlobUnknown:
            raise manifest_references.unknown(one, "blob") from None
        if there.inline is None:
            readable[one.digest] = there.sha256
        else:  # it is served although it is not in storage
            inline[one.digest] = there.inline

    is_checked = bool(versions) or (packages.LATEST in others and repository.is_module and parsed.is_module_package)
    return Push(
        caller=caller,
        repository=repository,
        manifest=Pushed(digest, raw, parsed, [] if is_checked else others, readable, sizes, inline),
        digest=digest,
        subject=parsed.subject,
        is_module_package=parsed.is_module_package,
        tags=every,
        version="".join(versions),
        others=others if is_checked else [],
        until=time.monotonic() + settings.OCI_PUBLISH_WAIT.total_seconds(),
        attached=attaching.read(caller.viewer, repository, parsed),
    )


def _require_approved(repository: Repository, digest: str, tags: Sequence[str]) -> None:
    """Refuse a tag that is no version, where releases are approved, unless it leads to an approved one."""
    if not repository.namespace.requires_approval:
        return
    released = ModuleVersion.objects.published().filter(
        release__namespace=repository.namespace, module__canonical=repository.path.replace("_", "-")
    )
    if not released.filter(manifest_digest=digest).exists():
        raise Conflict(
            f"Releases in {repository.namespace} are approved by another person, so {tags[0]} can only be a tag of a "
            "published version.",
            hint="Push it under its version first, such as 1.2.0, and under this tag once it is published.",
        )
