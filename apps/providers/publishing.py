"""Publish a provider: open a draft, receive its files, submit it; then check, settle the sums, store, sign, enter,
finalise (D4, D11, D24). The worker runs STEPS.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.blobs import store
from apps.jobs.claims import Claim
from apps.lib import versions
from apps.lib.addresses import ProviderAddress, check_provider_type
from apps.lib.digests import Tally
from apps.lib.errors import Conflict, Invalid, Reason
from apps.lib.formats import sums
from apps.lib.packages import sandboxed as package_names
from apps.lib.packages.sandboxed import PackageListing
from apps.providers import catalogue, comparing
from apps.providers.docs import sources as docs
from apps.providers.drafting import assembling, drafts, package_manifests, protocols
from apps.providers.models import DocsPage, Package, Provider, ProviderVersion
from apps.providers.signatures import requests
from apps.releases.docs.layouts import Place
from apps.releases.lifecycle import quarantine, release_blobs
from apps.releases.models import Kind, Release, ReleaseFile, State
from apps.releases.publishing import approving, drafting, pipeline, reserving, staging, transitions
from apps.releases.publishing.pipeline import Step

JOB = "publish-provider"


@dataclass(slots=True, init=False)
class Findings:
    """Results of steps for later steps, set by the step that finds them."""

    files: drafts.Files
    inspected: list[tuple[Package, PackageListing]]
    packages: list[Package]
    protocols: list[str]
    texts: dict[Place, bytes]
    settled: assembling.Settled
    pages: list[DocsPage]


Work = pipeline.Work[Findings]


# --- The web process: open, receive, submit ---------------------------------------------------------------------------


def open_draft(
    *, viewer: Viewer, address: ProviderAddress, version: str, protocols: Sequence[str] = ()
) -> tuple[Release, bool]:
    """The person's draft of that version, and whether it is new. Raises Conflict if the number is taken.

    `protocols` are for builds without a manifest.
    """
    coordinate = authorise_coordinate(viewer, address, version)
    notes = _notes(protocols)
    provenance = {"received_by": transitions.this_process()}
    release, is_new = drafting.open_draft(coordinate=coordinate, viewer=viewer, provenance=provenance, notes=notes)
    if not is_new and release.state == State.RECEIVING and notes and release.notes != notes:
        transitions.move(release, State.RECEIVING, to=State.RECEIVING, notes=notes)
    return release, is_new


def receive_file(
    *, viewer: Viewer, release: Release, name: str, open_body: Callable[[], Iterable[bytes]]
) -> tuple[ReleaseFile, bool]:
    """Store one file of the draft; return it, and whether it has a new name.

    Byproducts of the build are read and not stored. Reads nothing of the body if the release cannot have a file of that
    name.
    """
    require_publisher(viewer, release)
    role = drafts.role_of(release, name)
    limit, setting = drafts.limit_of(role)
    return drafting.receive_file(
        release=release,
        viewer=viewer,
        name=name,
        open_body=open_body,
        limit=limit,
        setting=setting,
        is_stored=role != "ignored",
    )


def remove_file(*, viewer: Viewer, release: Release, name: str) -> None:
    require_publisher(viewer, release)
    drafting.remove_file(release=release, viewer=viewer, name=name)


def hand_in(
    *, viewer: Viewer, release: Release, protocols: Sequence[str] | None = None, lacking_nothing: bool = False
) -> Release:
    """Submit the draft to a worker. Submitting again changes nothing.

    `protocols` replace those declared before. Raises Invalid for a draft without packages and, with `lacking_nothing`,
    for gaps that a person can still close; otherwise the worker reports them.
    """
    require_publisher(viewer, release)
    if release.state == State.RECEIVING:
        if protocols is not None:
            drafting.require_own(release, viewer)
            notes = _notes(protocols)
            if drafts.declared_protocols(release) != notes.get(drafts.DECLARED, []):
                transitions.move(release, State.RECEIVING, to=State.RECEIVING, notes=notes)
        missing = drafts.missing(release, drafts.files_of(release))
        for reason in missing if lacking_nothing else drafts.blocking(missing):
            raise Invalid(f"found {reason.found}, expected {reason.expected}", hint=f"{reason.hint}.")
    return drafting.hand_in(release=release, viewer=viewer, job=JOB, digest_of=_upload_digest)


def cancel(*, viewer: Viewer, release: Release) -> None:
    """End a draft, or one's own release that awaits approval: delete its files and free the version number."""
    require_publisher(viewer, release)
    if release.state == State.AWAITING_APPROVAL:
        approving.cancel(release=release, viewer=viewer)
        return
    if release.state != State.RECEIVING:
        raise Conflict(f"{release} is {release.state}: only drafts can be cancelled.")
    reason = Reason("cancelled", "a cancelled draft", "all its files", "Open it again at any time")
    transitions.reject(release, [reason], actor_id=viewer.user_id)
    staging.discard(release)


def authorise_coordinate(viewer: Viewer, address: ProviderAddress, version: str) -> reserving.Coordinate:
    namespace = gate.namespace_for(
        viewer, address.namespace, need=Role.PUBLISHER, only_name=address.type, spelled=address.spelled
    )
    check_provider_type(address.type, reserved=settings.RESERVED_NAMES)
    return reserving.Coordinate(Kind.PROVIDER, namespace, address.type, versions.parse(version))


def require_publisher(viewer: Viewer, release: Release) -> None:
    gate.namespace_for(viewer, release.namespace.name, need=Role.PUBLISHER, only_name=release.name)


def _notes(declared: Sequence[str]) -> dict[str, list[str]]:
    cleaned = protocols.cleaned(declared)
    return {drafts.DECLARED: cleaned} if cleaned else {}


def _upload_digest(files: Sequence[ReleaseFile]) -> str:
    """Uploads are equal if their packages are: signatures of the same sums differ each time."""
    packages = {file.name: file.digest for file in files if package_names.name_of(file.name)}
    tally = Tally()
    tally.update(sums.canonical(packages))
    return tally.hexdigest


# --- The worker: check, settle the sums, store, sign, enter, finalise -------------------------------------------------


def check(work: Work) -> None:
    """Read every package in a limited child process; find the provider's protocols."""
    files = drafts.files_of(work.release)
    work.notes = dict(work.release.notes)
    inspected = assembling.inspect_all(work.release, files)
    spoken = assembling.protocols_of(work.release, files, inspected)
    packages = [package for package, _ in inspected]
    quarantine.refuse_quarantined({package.digest: package.filename for package in packages})
    texts = docs.checked(files.docs)
    # Clients unpack the mode as it is. A warning suffices: other tools may set it themselves.
    idle = [one.platform for one, listing in inspected if one.os != "windows" and not listing.is_runnable]
    work.notes |= {"platforms": [package.platform for package in packages], "protocols": spoken, "not_runnable": idle}
    found = work.findings
    found.files, found.texts = files, texts
    found.inspected, found.packages, found.protocols = inspected, packages, spoken


def settle_sums(work: Work) -> None:
    """Find out whose sums they are, and which key signed or will sign them (D11)."""
    packages = work.findings.packages
    settled = assembling.settle(work.release, work.findings.files, packages)
    work.notes["signing"] = settled.signing.value
    work.findings.settled = settled
    size = sum(package.size for package in packages)
    pipeline.record_checked(work, digest=settled.sums_digest, size=size)


def await_approval(work: Work) -> None:
    """Another person looks at what changes, if the namespace asks for that."""
    release, found = work.release, work.findings

    def comparison() -> dict[str, Any]:
        platforms = {package.platform for package in found.packages}
        facts = comparing.Facts(platforms, found.protocols, found.settled.key, found.settled.signing)
        pages = docs.read_staged(release, found.files, found.texts, found.inspected)
        return comparing.compare_awaited(release, facts=facts, packages=found.packages, pages=pages)

    approving.require(work, comparison=comparison)


def store_files(work: Work) -> None:
    """Move packages and docs from staging to content-addressed storage, create only: the signing worker reads them.

    The release keeps the blobs of an earlier run, so that a purge removes them too.
    """
    files = work.findings.files
    stored = [file for file, _ in files.packages] + ([files.docs] if files.docs else [])
    names = {file.digest: file.name for file in stored}
    release_blobs.record_blobs(work.release, names, claim=work.claim)
    for file in stored:
        store.store_staged(file.staging_key, digest=file.digest, size=file.size)


def sign(work: Work) -> None:
    """Sign with the registry's key, unless the publisher's signature was verified with the sums.

    Safe to repeat: a retry signs again, only the stored signature is served.
    """
    settled = work.findings.settled
    if settled.signature is None:
        pipeline.move_on(work, State.SIGNING)
        work.findings.settled = requests.signed(work.release, settled, claim=work.claim)
    pipeline.record_signed(work)


def store_sums(work: Work) -> None:
    """Store sums and signature as well."""
    settled = work.findings.settled
    release_blobs.record_blobs(work.release, assembling.names_of(work.release, settled), claim=work.claim)
    assembling.store_signed(work.release, settled)


def read_docs(work: Work) -> None:
    """Render the docs for the pages from ranges of the stored packages, whose contents no longer refuse the release."""
    found = work.findings
    found.pages = docs.read(work.release, found.texts, found.inspected)


def finalise(work: Work) -> None:
    pipeline.finalise(work, _describe, lambda work: catalogue.refresh(work.release.provider_version.provider))


STEPS: tuple[Step[Findings], ...] = (
    pipeline.take_up,
    check,
    settle_sums,
    await_approval,
    store_files,
    sign,
    store_sums,
    read_docs,
    pipeline.enter_ledger,
    finalise,
    pipeline.clean,
)


def run(claim: Claim) -> None:
    requests.forget(claim.target)
    pipeline.run(claim, STEPS, Findings())


def _describe(work: Work) -> None:
    """Write the provider's own rows, in the finalising transaction. The first version creates the provider."""
    release, settled = work.release, work.findings.settled
    assembling.require_usable(settled.key, now=timezone.now())
    provider, _ = Provider.objects.get_or_create(namespace=release.namespace, type=release.name)
    packages = work.findings.packages
    version = ProviderVersion(
        provider=provider,
        release=release,
        is_prerelease=versions.parse(release.version).is_prerelease,
        protocols=work.findings.protocols,
        signing=settled.signing,
        key=settled.key,
        sums_digest=settled.sums_digest,
        signature_digest=settled.signature_digest,
    )
    package_manifests.store_digests(version, packages)
    version.save()
    for package in packages:
        package.version = version
    Package.objects.bulk_create(packages)
    release_blobs.forget_others(release, assembling.signature_name(release), [settled.signature_digest])
    docs.describe(version, work.findings.files.docs, work.findings.pages)
