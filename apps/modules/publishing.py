"""Publish a module: reserve, receive, check, inspect, store, enter, finalise (D4, D5). The worker runs STEPS."""

import os
import platform
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from django.conf import settings
from django.db import IntegrityError, transaction

from apps.accounts.access import gate, reauthorising
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role
from apps.blobs import ingest, store
from apps.blobs.models import Blob
from apps.jobs.claims import Claim
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, canonical, check_module_name, check_system
from apps.lib.archives import sandboxed
from apps.lib.digests import check_size, counted
from apps.lib.errors import Conflict, Reason, TooLarge
from apps.modules import inspection, package_manifest
from apps.modules.catalogue import entries
from apps.modules.checking import checks
from apps.modules.contents import extraction
from apps.modules.models import Module, ModuleVersion
from apps.releases.lifecycle import quarantine
from apps.releases.models import Kind, Release, State
from apps.releases.publishing import pipeline, receiving, reserving, staging, transitions
from apps.releases.publishing.fault_injection import fault_point
from apps.releases.publishing.pipeline import Questions, Step

JOB = "publish-module"
LIMIT_SETTING = "LARDER_MODULE_ARCHIVE_MAX_BYTES"


@dataclass(frozen=True, slots=True)
class Published:
    """`created` is False if the same bytes were uploaded before and nothing had to be done."""

    release: Release
    created: bool


@dataclass(frozen=True, slots=True)
class _Brief:
    """The publisher's instructions, given before the archive arrives."""

    file_name: str
    folder: str
    interactive: bool = False
    multiple_modules: bool = False
    confirmed: Sequence[str] = ()
    manifest: str = ""


@dataclass(slots=True, init=False)
class Findings:
    """Results of steps for later steps, set by the step that finds them."""

    inspected: extraction.Inspected
    listing: sandboxed.Listing
    contents: extraction.Contents


Work = pipeline.Work[Findings]


# --- The web process: reserve and receive --------------------------------------------------------------------------


def begin(
    *,
    viewer: Viewer,
    address: ModuleAddress,
    version: str,
    file_name: str = "",
    folder: str = "",
    multiple_modules: bool = False,
    confirm: Collection[str] = (),
) -> tuple[Release, str]:
    """The browser's first step: gate, rules of D10, reservation. Returns the release and its one-time ticket.

    `folder` is the part of the archive to publish; with `multiple_modules` the publisher chooses folders afterwards;
    `confirm` lists the codes that the page has asked about already.
    """
    coordinate = authorise_coordinate(viewer, address, version)
    confirmed = checks.clean_confirmations(confirm)
    folder = checks.clean_folder(folder)
    brief = _Brief(file_name, folder, interactive=True, multiple_modules=multiple_modules, confirmed=confirmed)
    ticket = reserving.new_ticket()
    try:
        release = _reserve(coordinate, viewer, brief, ticket)
    except reserving.VersionTaken as taken:
        raise Conflict(_taken_sentence(taken.taken_by), hint="Choose the next version number.") from None
    return release, ticket


def receive(*, release: Release, chunks: Iterable[bytes], file_name: str = "") -> Release:
    """The browser's second step: use up the ticket and store the bytes."""
    reserving.use_ticket(release)
    if file_name:
        Release.objects.filter(pk=release.pk).update(file_name=file_name[:255])
    return _receive(release, chunks)


def publish(
    *,
    viewer: Viewer,
    address: ModuleAddress,
    version: str,
    file_name: str = "",
    folder: str = "",
    confirm: Collection[str] = (),
    open_body: Callable[[], Iterable[bytes]],
) -> Published:
    """One step for scripts. Reads the body only after the rights are checked and the number is reserved.

    Refuses the archive on a question that `confirm` does not answer in advance.
    """
    coordinate = authorise_coordinate(viewer, address, version)
    brief = _Brief(file_name, checks.clean_folder(folder), confirmed=checks.clean_confirmations(confirm))
    try:
        release = _reserve(coordinate, viewer, brief)
    except reserving.VersionTaken as taken:

        def authorise() -> None:
            reauthorising.authorise_again(viewer, coordinate.namespace, only_name=coordinate.name)

        body = reauthorising.authorised_to_the_end(open_body(), authorise)
        limit = settings.MODULE_ARCHIVE_MAX_BYTES
        same = receiving.same_bytes(taken, body, viewer=viewer, limit=limit, setting=LIMIT_SETTING)
        if same.folder != brief.folder:
            raise Conflict(
                f"{same} was made of {same.folder or 'the whole'} of these bytes; you asked for "
                f"{brief.folder or 'the whole'}.",
                hint="A published version never changes: publish this folder under another version number.",
            ) from None
        return Published(same, created=False)
    return Published(_receive(release, open_body()), created=True)


def publish_package(
    *,
    viewer: Viewer,
    address: ModuleAddress,
    version: str,
    manifest: str,
    archive: Blob,
    file_name: str = "",
) -> Release:
    """Publish a package that was pushed over OCI: its archive, a blob already, is served unchanged by the manifest with
    that digest, or refused.

    Raises reserving.VersionTaken with the release that has the number: the caller decides if it is the same package.
    """
    check_size(archive.size, limit=settings.MODULE_ARCHIVE_MAX_BYTES, what="The archive", setting=LIMIT_SETTING)
    coordinate = authorise_coordinate(viewer, address, version)
    with transaction.atomic():
        if ingest.lock_ready(archive.digest) is None:
            raise store.StorageUnavailable(f"{archive} is being removed: push it again.")
        release = _reserve(coordinate, viewer, _Brief(file_name, "", manifest=manifest), stored=archive)
        receiving.accept(release=release, digest=archive.digest, size=archive.size, job=JOB)
    return release


def cancel(*, release: Release, viewer: Viewer) -> None:
    """End a reservation that will not be filled, or a release whose questions are answered with no."""
    gate.namespace_for(viewer, release.namespace.name, need=Role.PUBLISHER, only_name=release.name)
    if release.state not in (State.RECEIVING, State.HELD):
        raise Conflict(f"{release} is {release.state}: only releases that wait for you can be cancelled.")
    reason = Reason(
        code="cancelled",
        found="a cancelled upload",
        expected="the whole archive",
        hint="Upload it again at any time; the version number is free.",
    )
    transitions.reject(release, [reason], actor_id=viewer.user_id)
    if release.uploaded_digest:
        staging.discard(release)


def authorise_coordinate(viewer: Viewer, address: ModuleAddress, version: str) -> reserving.Coordinate:
    namespace = gate.namespace_for(viewer, address.namespace, need=Role.PUBLISHER, only_name=address.path_name)
    check_address(namespace, address)
    return reserving.Coordinate(Kind.MODULE, namespace, address.path_name, versions.parse(version))


def check_address(namespace: Namespace, address: ModuleAddress) -> None:
    """The naming rules of a module that may be new. Raises Invalid, or Conflict if the name is too close to another."""
    check_module_name(address.name, reserved=settings.RESERVED_NAMES)
    check_system(address.system)
    twin = (
        Module.objects.filter(namespace=namespace, canonical=canonical(address.path_name))
        .exclude(name=address.name, system=address.system)
        .first()
    )
    if twin is not None:
        raise Conflict(
            f"{twin.name}/{twin.system} exists already and differs from {address.path_name} only in case, - or _.",
            hint=f"Publish to {twin.name}/{twin.system}, or choose a more distinct name.",
        )


def _reserve(
    coordinate: reserving.Coordinate, viewer: Viewer, brief: _Brief, ticket: str = "", *, stored: Blob | None = None
) -> Release:
    provenance = {"received_by": f"{platform.node()}:{os.getpid()}"}
    if brief.manifest:
        provenance[package_manifest.PUSHED] = brief.manifest
    release = reserving.reserve(
        coordinate=coordinate,
        viewer=viewer,
        file_name=brief.file_name,
        provenance=provenance,
        ticket=ticket,
        folder=brief.folder,
        asks=brief.interactive,
        confirmed=list(brief.confirmed),
        notes={"multiple_modules": True} if brief.multiple_modules else {},
        **({"staging_key": "", "digest": stored.digest, "size": stored.size} if stored else {}),
    )
    fault_point("after:reserve", release)
    return release


def _receive(release: Release, chunks: Iterable[bytes]) -> Release:
    limit = settings.MODULE_ARCHIVE_MAX_BYTES
    return receiving.receive(release=release, chunks=chunks, limit=limit, setting=LIMIT_SETTING, job=JOB)


def _taken_sentence(taken_by: Release) -> str:
    if taken_by.state == State.PUBLISHED:
        return f"{taken_by} is published already, and a published version never changes."
    return f"{taken_by} is being uploaded or checked already (it is {taken_by.state})."


# --- The worker: check, store, enter, finalise ------------------------------------------------------------------------


def check(work: Work) -> None:
    """Read the bytes in a limited child process: digest, archive rules, module rules; repack where needed."""
    release = work.release
    with staging.open_source(release) as staged:
        form = _form_of(staged)
        listing = sandboxed.inspect(staged, limits(), wanted=extraction.WANTED, form=form, links=True)
        if listing.digest != release.uploaded_digest:
            # Storage returned other bytes than it received. Each attempt reads them again; five are enough.
            raise store.Damaged(f"The bytes of {release} differ from those received.")
        # Releases from before the word was changed say `several`.
        multiple_modules = bool(release.notes.get("multiple_modules") or release.notes.get("several"))
        work.notes = {"multiple_modules": True} if multiple_modules else {}
        plan = checks.plan(
            listing,
            limits=limits(),
            notes=work.notes,
            folder=release.folder,
            confirmed=release.confirmed,
            interactive=release.asks,
            multiple_modules=multiple_modules,
        )
        if package_manifest.pushed_with(release):
            checks.require_unchanged(plan, work.notes)
        if checks.is_undecided(plan):
            raise Questions(plan.questions)
        if plan.is_repacked:
            work.archive_key = staging.repacked_key(release)
            zipped = sandboxed.repack(
                staged, limits(), form=form, folder=plan.prefix, leave_out=plan.left_out, copies=plan.copies
            )
            _stage_repacked(work.archive_key, zipped)
    if work.archive_key:
        with store.open_staged(work.archive_key) as repacked:
            listing = sandboxed.inspect(repacked, limits(), wanted=extraction.WANTED, form="zip")
            checks.refuse_named_links(plan, listing.texts)
    quarantine.refuse_quarantined({listing.digest: release.file_name})
    inspected = extraction.inspect(listing)
    questions = [*plan.questions, *checks.unloadable(inspected.faults, notes=work.notes, confirmed=release.confirmed)]
    if questions:
        if work.archive_key:
            store.discard_staged(work.archive_key)  # created again once the questions are answered
        raise Questions(questions)
    work.findings.inspected = inspected
    pipeline.record_checked(work, digest=listing.digest, size=listing.size)
    work.findings.listing = listing


def check_package(archive: BinaryIO) -> None:
    """As `check` for a pushed package, without a release. Raises Refusal, also where `check` would ask."""
    form = _form_of(archive)
    listing = sandboxed.inspect(archive, limits(), wanted=inspection.WANTED, form=form, links=True)
    notes: dict[str, Any] = {}
    plan = checks.plan(listing, limits=limits(), notes=notes, folder="")
    checks.require_unchanged(plan, notes)
    quarantine.refuse_quarantined({listing.digest: ""})
    questions = [*plan.questions, *checks.unloadable(extraction.inspect(listing).faults, notes=notes)]
    if questions:
        raise sandboxed.Refusal(questions)


def _form_of(archive: BinaryIO) -> sandboxed.Form:
    head = archive.read(sandboxed.HEAD_BYTES)
    form = sandboxed.form_of(head)
    if form is None:
        raise sandboxed.refuse_form(head)
    return form


def _stage_repacked(key: str, zipped: Iterable[bytes]) -> None:
    """A tarball compresses better than a zip, so the repacked archive may be too large even if the upload was not."""
    limit = settings.MODULE_ARCHIVE_MAX_BYTES
    try:
        store.stage(key, counted(zipped, limit=limit, what="The module as a zip", setting=LIMIT_SETTING))
    except TooLarge as error:
        reason = Reason("too_large_as_zip", str(error), "a module that also fits as a zip", error.hint)
        raise sandboxed.Refusal([reason]) from None


def inspect(work: Work) -> None:
    """Read the contents for the version's pages. Refuses nothing: an unreadable file becomes a warning on the page."""
    address, found = address_of(work.release), work.findings
    found.contents = extraction.read(found.listing, found.inspected, address=address, version=work.release.version)


def finalise(work: Work) -> None:
    try:
        pipeline.finalise(work, _describe, _catalogue)
    except IntegrityError:
        raise sandboxed.Refusal([_twin_reason(work.release)]) from None


STEPS: tuple[Step[Findings], ...] = (
    pipeline.take_up,
    check,
    inspect,
    pipeline.store_archive,
    pipeline.enter_ledger,
    finalise,
    pipeline.clean,
)


def run(claim: Claim) -> None:
    pipeline.run(claim, STEPS, Findings())


def limits() -> sandboxed.Limits:
    return sandboxed.Limits(
        packed_bytes=settings.MODULE_ARCHIVE_MAX_BYTES,
        unpacked_bytes=settings.MODULE_UNPACKED_MAX_BYTES,
        file_bytes=settings.MODULE_UNPACKED_MAX_BYTES,
        entries=settings.ARCHIVE_MAX_ENTRIES,
    )


def address_of(release: Release) -> ModuleAddress:
    name, _, system = release.name.partition("/")
    return ModuleAddress(release.namespace.name, name, system)


def _describe(work: Work) -> None:
    """Write the module's own rows, in the finalising transaction. The first version creates the module."""
    release, address = work.release, address_of(work.release)
    module, _ = Module.objects.get_or_create(
        namespace=release.namespace,
        name=address.name,
        system=address.system,
        defaults={"canonical": canonical(release.name)},
    )
    is_prerelease = versions.parse(release.version).is_prerelease
    digest = package_manifest.digest_for(release)
    row = ModuleVersion(module=module, release=release, is_prerelease=is_prerelease, manifest_digest=digest)
    extraction.write(row, work.findings.contents)


def _catalogue(work: Work) -> None:
    entries.refresh(work.release.module_version.module)


def _twin_reason(release: Release) -> Reason:
    return Reason(
        code="name_taken",
        found=f"a module whose name differs from {release.name} only in case, - or _ was published meanwhile",
        expected="distinct names",
        hint="Publish to that module, or choose another name.",
    )
