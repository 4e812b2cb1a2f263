"""A pushed module package becomes a release, by the pipeline of every other way in (oci.md 7.6).

What counts as the same push again: the same archive under the same manifest. So nothing that was once published moves.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import slots
from apps.accounts.access.gate import Viewer
from apps.artifacts import manifests
from apps.artifacts.errors import ManifestBlobUnknown, ManifestInvalid
from apps.artifacts.models import Manifest, Repository, RepositoryBlob
from apps.artifacts.names import Digest, tag_of, version_of
from apps.blobs.models import Blob
from apps.blobs.store import open_blob
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import Conflict, Invalid, Reason, Unavailable
from apps.lib.formats.oci_manifests import IMAGE_MANIFEST, MODULE_PACKAGE, TITLE, ZIP
from apps.modules import checking, package_manifest, publishing
from apps.modules.models import ModuleVersion
from apps.oci import packages
from apps.oci.pushing import Push
from apps.oci.repositories import VisibleRepository
from apps.releases.models import READY, Kind, Release, State
from apps.releases.publishing import reserving

# The same package gets the same refusal for this long; later it is checked again.
REPEATED_FOR = timedelta(minutes=10)
# Clients print the whole message.
MAX_REASONS = 5
# A push cannot be asked, so it says in advance, by annotations of the manifest, what a script says by ?confirm= and
# ?reason=. They stay in the manifest for everybody to read.
CONFIRM, REASON = "larder.confirm", "larder.reason"
_EXPECTED = (
    f"expected an image manifest with artifactType {MODULE_PACKAGE} and exactly one layer of the media type {ZIP}, "
    "the zip of the module"
)
_HINT = f"Push it with `oras push --artifact-type {MODULE_PACKAGE} … module.zip:{ZIP}`, or under another tag."


@dataclass(frozen=True, slots=True)
class Package:
    """The content of a module package's manifest."""

    manifest: str  # the digest by which it was pushed
    manifests: tuple[str, ...]  # its digests by every algorithm
    archive: Blob
    file_name: str
    confirm: tuple[str, ...] = ()
    reason: str = ""


class Undecided(Unavailable):
    """No worker has decided yet: on this release, or on another one that has the number."""

    def __init__(self, release: Release) -> None:
        super().__init__(f"{release} is still being checked.", hint="Push the same package again in a minute.")
        self.release = release


class AwaitsApproval(Conflict):
    """Neither published nor refused: an error, because clients take 201 for a tag that exists."""

    def __init__(self, release: Release) -> None:
        page = settings.PUBLIC_URL + reverse("portal:release", args=[release.public_id])
        super().__init__(
            f"{release} was received and awaits approval by another person: {page}",
            hint="There is nothing more to push: its tag appears once it is approved.",
        )


def states_of(releases: Collection[int]) -> Mapping[int, object]:
    """For requests that wait for a push to be decided."""
    return dict(Release.objects.filter(pk__in=releases).values_list("pk", "state"))


def quiet_states(release: Release) -> Collection[str]:
    """Return the states in which the request keeps waiting: steps between a worker's states do not end it."""
    return READY if release.state in READY else (release.state,)


def publish(push: Push, *, authorise: Callable[[], None]) -> None:
    """Publish a stored manifest as the version among its tags, then move those that waited for it.

    A worker takes its time, so `authorise` is called before tags are moved. Raises what the functions below raise.
    """
    if not (push.version or push.others):
        return
    rows = Manifest.objects.select_related("repository__namespace")
    manifest = rows.get(repository=push.repository, digest=str(push.digest))
    if push.version:
        publish_version(push.caller.viewer, manifest, push.version, begun=push.release)
    if packages.LATEST in push.others:
        check(push.caller.viewer, manifest.repository, manifest)
    if push.others:
        authorise()
        manifests.move_tags(push.caller.viewer, manifest.repository, manifest, push.others)


def publish_version(viewer: Viewer, manifest: Manifest, tag: str, *, begun: int | None = None) -> None:
    """Make a stored manifest the release that its strict-SemVer tag names.

    Raises Undecided until a worker has checked it: then call again with that release's key as `begun`. In the end it
    returns, or raises ManifestInvalid with the reasons, Conflict or TooLarge.
    """
    repository = manifest.repository
    package, number = _read(repository, manifest, f"The tag {tag} is a version"), version_of(tag)
    if begun is None:
        _require_not_refused(repository, package, number)
        release = _reserve(viewer, repository, package, version=number)
    else:
        release = Release.objects.select_related("namespace").get(pk=begun)
    while not (release.is_working or release.state == State.PUBLISHED):
        if package_manifest.pushed_with(release) == package.manifest:
            raise _refused(f"{release} was refused", release.refusals())
        # Another upload of that number failed: the number is free again.
        release = _reserve(viewer, repository, package, version=number)
    if release.state == State.PUBLISHED:
        _require_same(release, package, number)
        return
    if release.state == State.AWAITING_APPROVAL and release.uploaded_digest == package.archive.digest:
        raise AwaitsApproval(release)
    if release.state == State.HELD or release.ticket_digest:
        raise Conflict(
            f"{release} waits for its publisher: it is being uploaded in the browser, or held for an answer.",
            hint="Push under another version, or ask them to cancel it.",
        )
    if release.uploaded_digest not in ("", package.archive.digest):
        raise Conflict(
            f"{release} is being published with the archive sha256:{release.uploaded_digest}; you pushed "
            f"{package.archive}.",
            hint="Push yours under another version.",
        )
    raise Undecided(release)


def check(viewer: Viewer, repository: Repository, manifest: Manifest) -> None:
    """Check a module package without a release, for `latest`. Raises ManifestInvalid with the reasons.

    What is no module package is let through: it is stored untouched. So is what is a release already, while it is
    listed: `latest` leads to no other.
    """
    if manifest.artifact_type != MODULE_PACKAGE:
        return
    releases = Release.objects.published().filter(
        kind=Kind.MODULE,
        namespace=repository.namespace,
        name=_module(repository).path_name,
        module_version__manifest_digest=manifest.digest,
    )
    if releases.unyanked().exists():  # once its cool-down has ended, `latest` leads there
        return
    if (release := releases.first()) is not None:
        raise ManifestInvalid(f"{release} is yanked or in quarantine: it cannot be latest.", hint="Restore it first.")
    package = _read(repository, manifest, "A module package is checked before it is called latest")
    try:
        with slots.slot_of(viewer), open_blob(package.archive.digest) as archive:
            checking.check_package(archive)
    except Refusal as refusal:
        raise _refused("This module package was refused", refusal.reasons) from None


# --- What was pushed --------------------------------------------------------------------------------------------------


def _read(repository: Repository, manifest: Manifest, why: str) -> Package:
    """Raises ManifestInvalid, or ManifestBlobUnknown for a zip that is not in the repository."""
    document: dict[str, Any] = json.loads(bytes(manifest.raw))
    layers = [one for one in document.get("layers") or [] if one.get("mediaType") == ZIP]
    if manifest.media_type != IMAGE_MANIFEST:
        raise _no_package(why, f"found the media type {manifest.media_type}")
    if document.get("mediaType") != IMAGE_MANIFEST:
        raise _no_package(why, "found no mediaType in the manifest itself, without which clients refuse it")
    if document.get("artifactType") != MODULE_PACKAGE:
        raise _no_package(why, f"found the artifactType {document.get('artifactType') or '(none)'}")
    if len(layers) != 1:
        raise _no_package(why, f"found {len(layers)} layers of that media type")
    digest = Digest.parse(layers[0]["digest"])
    named = {"blob__digest": digest.hex} if digest.algorithm == "sha256" else {"blob__sha512": digest.hex}
    pushed = RepositoryBlob.objects.filter(repository=repository, **named).select_related("blob").first()
    archive = pushed.blob if pushed else None
    if archive is None:  # perhaps it is the archive of a release of this module, whose manifest is pushed back
        released = Release.objects.with_bytes(digest.hex).filter(
            kind=Kind.MODULE, namespace=repository.namespace, name=_module(repository).path_name
        )
        archive = Blob.objects.filter(digest=digest.hex).first() if released.exists() else None
    if archive is None:
        raise ManifestBlobUnknown(f"The zip {digest} is not in {repository}.", hint="Push it before the manifest.")
    # The name of the zip on the publisher's machine; shown, never used as a path.
    title = str((layers[0].get("annotations") or {}).get(TITLE, "")).replace("\\", "/").rpartition("/")[2]
    file_name = "".join(character for character in title if character.isprintable())[:255]
    digests = tuple(str(Digest.of(bytes(manifest.raw), algorithm)) for algorithm in ("sha256", "sha512"))
    said = {key: value for key, value in (document.get("annotations") or {}).items() if isinstance(value, str)}
    confirm = tuple(said.get(CONFIRM, "").split(","))
    return Package(manifest.digest, digests, archive, file_name, confirm, said.get(REASON, ""))


def _no_package(why: str, found: str) -> ManifestInvalid:
    return ManifestInvalid(f"{why}: {found}, {_EXPECTED}.", hint=_HINT)


def _module(repository: Repository) -> ModuleAddress:
    """The registered address. Callers have checked that this is a module's repository."""
    address = VisibleRepository.of(repository).registered
    assert isinstance(address, ModuleAddress), address  # noqa: S101
    return address


# --- The release ------------------------------------------------------------------------------------------------------


def _require_not_refused(repository: Repository, package: Package, number: str) -> None:
    """Repeat a recent refusal, so that a repeated push is not checked, and timed out, again."""
    rows = Release.objects.filter(
        kind=Kind.MODULE,
        namespace=repository.namespace,
        name=_module(repository).path_name,
        sort_key=versions.sort_key(number),
        state=State.REJECTED,
        checking_at__isnull=False,
        finished_at__gt=timezone.now() - REPEATED_FOR,
        provenance__manifest=package.manifest,
    )
    refused = rows.select_related("namespace").order_by("-pk").first()
    if refused is not None:
        raise _refused(f"{refused} was refused", refused.refusals())


def _reserve(viewer: Viewer, repository: Repository, package: Package, *, version: str) -> Release:
    """Return a new release, or the one that has the number already."""
    try:
        return publishing.publish_package(
            viewer=viewer,
            address=_module(repository),
            version=version,
            manifest=package.manifest,
            file_name=package.file_name,
            archive=package.archive,
            confirm=package.confirm,
            reason=package.reason,
        )
    except reserving.VersionTaken as taken:
        return taken.taken_by
    except Invalid as refusal:
        raise ManifestInvalid(str(refusal), hint=refusal.hint) from None


def _require_same(release: Release, package: Package, number: str) -> None:
    """Raises Conflict unless the version was published with this number and this manifest (D5)."""
    row = ModuleVersion.objects.only("manifest_digest").get(release=release)
    published = row.manifest_digest or package_manifest.digest_for(release)
    if release.version != number:
        raise Conflict(
            f"{number} is the same version as {release.version}, which is already published: text after the plus "
            "sign (_ in a tag) does not distinguish versions.",
            hint=f"Pull it by the tag {tag_of(release.version)}, or push under another version.",
        )
    if published in package.manifests:
        return
    if release.digest == package.archive.digest:
        raise Conflict(
            f"{release} is already published as {published}, with the same zip: only the manifest differs; yours is "
            f"{package.manifest}.",
            hint="oras writes the time into the annotation org.opencontainers.image.created: give it a fixed one "
            "(--annotation org.opencontainers.image.created=<time of the commit>), so that the same zip gives the "
            "same package. There is nothing to publish.",
        )
    raise Conflict(
        f"{release} is already published as {published}, with the archive sha256:{release.digest}; you pushed "
        f"{package.archive}.",
        hint="A published version never changes: push under another one.",
    )


def _refused(what: str, reasons: list[Reason]) -> ManifestInvalid:
    more = len(reasons) - MAX_REASONS
    said = " ".join(reason.sentence for reason in reasons[:MAX_REASONS])
    rest = f" And {more} more." if more > 0 else ""
    return ManifestInvalid(f"{what}: {said or 'no reason was recorded; see the release page.'}{rest}")
