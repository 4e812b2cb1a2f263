"""Attestations that others attach to a release: kept byte for byte if they name what it gives out, and listed.

Larder verifies no signature of them, and says so.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import QuerySet, Sum

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role
from apps.artifacts import manifests
from apps.artifacts.models import Manifest, ManifestBlob
from apps.artifacts.repositories import locked
from apps.audit.kinds import Kind as Event
from apps.lib.errors import Conflict, NotFound, RegistryError, TooLarge
from apps.provenance import attestation_format, referrers, subjects
from apps.provenance.attestation_format import Read
from apps.provenance.envelopes import AttestationInvalid
from apps.provenance.models import Attestation, Referrer
from apps.releases.lifecycle.verbs import checked_reason
from apps.releases.models import Release, State
from apps.releases.publishing.quotas import require_bytes

MAX_BYTES = 1024 * 1024
MAX_PER_RELEASE = 50

log = structlog.get_logger("larder.provenance")


@dataclass(frozen=True, slots=True)
class Checked:
    """An attestation that may be kept at a release. `named`: the digests of the release that it names."""

    release: Release
    content: bytes
    read: Read
    named: tuple[str, ...]


def attach(*, release: Release, viewer: Viewer, content: bytes, media_type: str) -> Attestation:
    """Keep it at a published release. Publishers. The same bytes again are the same row.

    Raises what the gate raises, Conflict, TooLarge, OtherMediaType, AttestationInvalid and QuotaFull.
    """
    authorise(viewer, release)
    return keep(viewer, check(release, content, media_type))


def authorise(viewer: Viewer, release: Release) -> None:
    gate.namespace_for(viewer, release.namespace.name, need=Role.PUBLISHER, only_name=release.name)


def check_size(release: Release, size: int) -> None:
    """Before the bytes are read. A refusal is logged. Raises TooLarge."""
    if size > MAX_BYTES:
        refusal = TooLarge(
            f"The attestation has {size:,} bytes, expected at most {MAX_BYTES:,}.",
            hint="Attach a large document, such as an SBOM, with `oras attach` under its own type.",
        )
        _log(release, refusal)
        raise refusal


def check(release: Release, content: bytes, media_type: str) -> Checked:
    """Find out whether it is one about this release; nothing is written. A refusal is logged."""
    check_size(release, len(content))
    try:
        read = attestation_format.read(content, media_type)
        served = {subject.sha256 for subject in subjects.of_release(release)} - {""}
        named = tuple(digest for digest in read.said.digests if digest in served)
        if not named:
            raise AttestationInvalid(
                f"found {_in_words(read.said.digests)}, expected one of the digests of {release}.",
                hint="Attest the bytes as Larder serves them: its statement about the release lists their digests.",
            )
    except RegistryError as refusal:
        _log(release, refusal)
        raise
    return Checked(release, content, read, named)


@transaction.atomic
def keep(viewer: Viewer, checked: Checked, *, manifest: Manifest | None = None) -> Attestation:
    """Write what was checked, unless these bytes are there already. `manifest`: it was pushed with that one."""
    release, read = checked.release, checked.read
    rows = Release.objects.select_for_update(no_key=True, of=("self",)).filter(pk=release.pk)
    if not rows.filter(state=State.PUBLISHED, quarantined_at=None).exists():
        raise Conflict(f"{release} is not published, or in quarantine: nothing can be attached to it now.")
    digest = hashlib.sha256(checked.content).hexdigest()
    here = Attestation.objects.filter(release=release)
    found = here.filter(digest=digest).first()
    if found is not None:
        return found
    if (count := here.count()) >= MAX_PER_RELEASE:
        raise Conflict(
            f"{release} has {count} attestations, expected fewer than {MAX_PER_RELEASE}.",
            hint="An owner of the namespace can remove those that are no longer needed.",
        )
    if manifest is None:  # else it is a blob of the repository, and counted as one
        require_bytes(release.namespace, len(checked.content))
    attestation = Attestation(
        release=release,
        form=read.form,
        media_type=read.media_type,
        predicate_type=read.said.predicate_type,
        subjects=list(checked.named),
        signed_by=read.said.signed_by[:300],
        content=checked.content,
        digest=digest,
        size=len(checked.content),
        added_by=viewer.user,
        token_id=viewer.token_id,
    )
    if manifest is None:
        referrers.keep(attestation)
    else:
        attestation.manifest, attestation.manifest_digest, attestation.is_pushed = manifest, manifest.digest, True
        attestation.save()
    _record(viewer, Event.ATTESTATION_ADDED, attestation, pushed=attestation.is_pushed)
    return attestation


def listed(release: Release) -> QuerySet[Attestation]:
    """Oldest first, without their bytes."""
    return Attestation.objects.filter(release=release).defer("content").select_related("added_by").order_by("pk")


def has(release: Release, content: bytes) -> bool:
    return Attestation.objects.filter(release=release, digest=hashlib.sha256(content).hexdigest()).exists()


def of_digest(release: Release, digest: str) -> Attestation:
    """`digest` is with or without sha256: before it. Raises NotFound."""
    rows = Attestation.objects.filter(release=release, digest=digest.removeprefix("sha256:").replace("\0", ""))
    found = rows.select_related("release__namespace").first()
    if found is None:
        raise NotFound(f"{release} has no attestation {digest[:80]!a}.", hint="The list of attestations has them all.")
    return found


def remove(*, attestation: Attestation, viewer: Viewer, reason: str) -> None:
    """Take it away, and what pushed it. Owners. Raises Invalid for a missing reason."""
    release = attestation.release
    gate.namespace_for(viewer, release.namespace.name, need=Role.OWNER, only_name=release.name)
    reason = checked_reason(reason)
    if attestation.manifest is None:
        with transaction.atomic():
            _record(viewer, Event.ATTESTATION_REMOVED, attestation, reason=reason)
            attestation.delete()
        return
    with locked(attestation.manifest.repository_id) as repository:
        for manifest in _manifests_with(attestation) if repository else ():
            detach(viewer, manifest, reason=reason)
            manifests.delete(viewer, manifest.repository, manifest.digest)


def detach(viewer: Viewer, manifest: Manifest, *, reason: str = "") -> None:
    """Call before a pushed manifest is deleted, in that transaction: what it brought goes with it.

    What another pushed manifest brought as well stays with that one.
    """
    for attestation in Attestation.objects.filter(manifest=manifest).select_related("release__namespace"):
        other = _manifests_with(attestation).exclude(pk=manifest.pk).first()
        if other is None:
            _record(viewer, Event.ATTESTATION_REMOVED, attestation, reason=reason)
        else:
            changes = {"manifest": other, "manifest_digest": other.digest}
            Attestation.objects.filter(pk=attestation.pk).update(**changes)


def stored_bytes(namespace: Namespace) -> int:
    """Of a namespace's attestations; those that were pushed count as blobs."""
    rows = Attestation.objects.filter(release__namespace=namespace, is_pushed=False)
    return rows.aggregate(stored=Sum("size"))["stored"] or 0


def drop(release: Release) -> None:
    """For a purge, in its transaction: what is said about bytes that are gone goes as well."""
    Attestation.objects.filter(release=release).delete()
    Referrer.objects.filter(release=release).delete()


def _manifests_with(attestation: Attestation) -> QuerySet[Manifest]:
    """The pushed manifests that attach these bytes to the same manifest as the one that brought them."""
    brought = attestation.manifest
    assert brought is not None, attestation  # noqa: S101  # callers ask only for pushed ones
    edges = ManifestBlob.objects.filter(blob__blob__digest=attestation.digest)
    rows = Manifest.objects.filter(repository=brought.repository_id, subject=brought.subject)
    return rows.filter(pk__in=edges.values("manifest")).select_related("repository__namespace").order_by("pk")


def _record(viewer: Viewer, kind: Event, attestation: Attestation, **detail: object) -> None:
    release = attestation.release
    viewer.record(
        kind,
        subject=str(release),
        release=release.pk,
        digest=attestation.digest,
        predicate_type=attestation.predicate_type,
        signed_by=attestation.signed_by,
        **detail,
    )


def _log(release: Release, refusal: RegistryError) -> None:
    log.info("attestation_refused", release=str(release), why=str(refusal), code=refusal.code)


def _in_words(digests: Collection[str]) -> str:
    first, *rest = (f"sha256:{digest}" for digest in digests)
    return f"{first} and {len(rest):,} more" if rest else first
