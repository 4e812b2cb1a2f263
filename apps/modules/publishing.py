"""Publish a module: reserve, receive, check, inspect, store, enter, finalise (D4, D5). The worker runs STEPS."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import reauthorising
from apps.accounts.models import BreakingChanges, Namespace, Role
from apps.blobs import ingest, store
from apps.blobs.models import Blob
from apps.jobs.claims import Claim
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, canonical, check_module_name, check_system
from apps.lib.archives import sandboxed
from apps.lib.digests import check_size
from apps.lib.errors import Conflict, Reason
from apps.modules import checking, folder_names, package_manifest
from apps.modules.catalogue import entries
from apps.modules.comparing import awaited, guard
from apps.modules.contents import extraction, readme
from apps.modules.models import Module, ModuleVersion
from apps.releases.models import Kind, Release, State
from apps.releases.origin.models import Way
from apps.releases.origin.recording import Fetched
from apps.releases.publishing import approving, pipeline, receiving, reserving, staging, transitions
from apps.releases.publishing.fault_injection import fault_point
from apps.releases.publishing.pipeline import Questions, Step

JOB = "publish-module"
LIMIT_SETTING = checking.LIMIT_SETTING


@dataclass(frozen=True, slots=True)
class _Brief:
    """The publisher's instructions, given before the archive arrives."""

    file_name: str
    folder: str  # as of Release
    interactive: bool = False
    multiple_modules: bool = False
    confirmed: Sequence[str] = ()
    reason: str = ""  # why it breaks something although its number does not say so
    manifest: str = ""
    fetched: Fetched | None = None


@dataclass(slots=True, init=False)
class Findings:
    """Results of steps for later steps, set by the step that finds them."""

    inspected: extraction.Inspected
    listing: sandboxed.Listing
    contents: extraction.Contents


Work = pipeline.Work[Findings]


# --- The web process: reserve and receive --------------------------------------------------------------------------


def reserve_release(
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
    confirmed = checking.clean_confirmations(confirm)
    folder = folder_names.clean_folder(folder)
    brief = _Brief(file_name, folder, interactive=True, multiple_modules=multiple_modules, confirmed=confirmed)
    ticket = reserving.new_ticket()
    try:
        release = _reserve(coordinate, viewer, brief, ticket)
    except reserving.VersionTaken as taken:
        found = f"{taken.taken_by} is already being uploaded or checked (it is {taken.taken_by.state})."
        if taken.taken_by.state == State.PUBLISHED:
            found = f"{taken.taken_by} is already published, and a published version never changes."
        raise Conflict(found, hint="Choose the next version number.") from None
    return release, ticket


def reserve_for_upload(
    *,
    viewer: Viewer,
    address: ModuleAddress,
    version: str,
    file_name: str,
    folders: Sequence[str],
    confirm: Collection[str],
    reason: str,
) -> Release:
    """A script's first of several steps; `uploads` has the others. Raises reserving.VersionTaken."""
    coordinate = authorise_coordinate(viewer, address, version)
    brief = _brief(file_name, folders, confirm, reason)
    return _reserve(coordinate, viewer, brief)


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
    folders: Sequence[str] = (),
    confirm: Collection[str] = (),
    reason: str = "",
    fetched: Fetched | None = None,
    open_body: Callable[[], Iterable[bytes]],
) -> tuple[Release, bool]:
    """One step for scripts. Reads the body only after the rights are checked and the number is reserved.

    Return the release, and False if the same bytes were uploaded before, so that nothing had to be done.

    Refuses the archive on a question that `confirm` does not answer in advance, but holds it if it only breaks
    something: the answer is a `reason`, for which a person may have to be asked. What Larder `fetched` itself is held
    on every question: people answer on its page.
    """
    coordinate = authorise_coordinate(viewer, address, version)
    brief = replace(_brief(file_name, folders, confirm, reason), interactive=fetched is not None, fetched=fetched)
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
                f"{same} was published from {folder_names.shown(same.folder)} of this archive; you asked for "
                f"{folder_names.shown(brief.folder)}.",
                hint="A published version never changes: publish this part under another version number.",
            ) from None
        return same, False
    return _receive(release, open_body()), True


def publish_package(
    *,
    viewer: Viewer,
    address: ModuleAddress,
    version: str,
    manifest: str,
    archive: Blob,
    file_name: str = "",
    confirm: Collection[str] = (),
    reason: str = "",
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
        brief = replace(_brief(file_name, (), confirm, reason), manifest=manifest)
        release = _reserve(coordinate, viewer, brief, stored=archive)
        receiving.accept(release=release, digest=archive.digest, size=archive.size, job=JOB)
    return release


def cancel(*, release: Release, viewer: Viewer) -> None:
    """End a reservation that will not be filled, a release whose questions are answered with no, or the viewer's own
    that awaits approval.
    """
    gate.namespace_for(viewer, release.namespace.name, need=Role.PUBLISHER, only_name=release.name)
    if release.state == State.AWAITING_APPROVAL:
        approving.cancel(release=release, viewer=viewer)
        return
    if release.state not in (State.RECEIVING, State.HELD):
        raise Conflict(f"{release} is {release.state}: only releases that wait for you can be cancelled.")
    found, expected = "a cancelled upload", "the whole archive"
    if release.state == State.HELD:  # by no name: the sentence outlives accounts
        by = "its publisher" if viewer.user_id == release.created_by_id else f"another publisher of {release.namespace}"
        found = f"a held release that {by} cancelled on {timezone.now():%Y-%m-%d at %H:%M} UTC"
        expected = "an answer to its questions"
    hint = "Upload it again at any time; the version number is free."
    transitions.reject(release, [Reason("cancelled", found, expected, hint)], actor_id=viewer.user_id)
    staging.discard(release)


def authorise_coordinate(viewer: Viewer, address: ModuleAddress, version: str) -> reserving.Coordinate:
    namespace = gate.namespace_for(viewer, address.namespace, need=Role.PUBLISHER, only_name=address.path_name)
    check_address(namespace, address)
    return reserving.Coordinate(Kind.MODULE, namespace, address.path_name, versions.parse(version))


def choice_of(folders: Sequence[str], confirm: Iterable[str]) -> tuple[str, list[str]]:
    """The folder as of Release, and the confirmations, of a script: `*` alone is all of the archive, a module without a
    root. Raises Invalid.
    """
    is_whole = [folder.strip() for folder in folders] == ["*"]
    chosen = [checking.CHOOSE_FOLDER] if is_whole else []
    return "" if is_whole else folder_names.clean_folders(folders), [*chosen, *checking.clean_confirmations(confirm)]


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
            f"{twin.name}/{twin.system} already exists and differs from {address.path_name} only in case, - or _.",
            hint=f"Publish to {twin.name}/{twin.system}, or choose a more distinct name.",
        )


def _brief(file_name: str, folders: Sequence[str], confirm: Collection[str], reason: str) -> _Brief:
    """A script's instructions. Raises Invalid."""
    folder, confirmed = choice_of(folders, confirm)
    return _Brief(file_name, folder, confirmed=confirmed, reason=guard.clean_reason(reason))


def _reserve(
    coordinate: reserving.Coordinate, viewer: Viewer, brief: _Brief, ticket: str = "", *, stored: Blob | None = None
) -> Release:
    provenance = {"received_by": transitions.this_process()}
    if brief.manifest:
        provenance[package_manifest.PUSHED] = brief.manifest
    there: dict[str, Any] = {"staging_key": "", "digest": stored.digest, "size": stored.size} if stored else {}
    release = reserving.reserve(
        coordinate=coordinate,
        viewer=viewer,
        file_name=brief.file_name,
        provenance=provenance,
        ticket=ticket,
        way=Way.OCI if brief.manifest else Way.GIT if brief.fetched else None,
        fetched=brief.fetched,
        folder=brief.folder,
        asks=brief.interactive,
        confirmed=list(brief.confirmed),
        breaking_reason=brief.reason,
        notes={"multiple_modules": True} if brief.multiple_modules else {},
        **there,
    )
    fault_point("after:reserve", release)
    return release


def _receive(release: Release, chunks: Iterable[bytes]) -> Release:
    limit = settings.MODULE_ARCHIVE_MAX_BYTES
    return receiving.receive(release=release, chunks=chunks, limit=limit, setting=LIMIT_SETTING, job=JOB)


# --- The worker: check, store, enter, finalise ------------------------------------------------------------------------


def check(work: Work) -> None:
    """Examine the bytes, and ask the publisher what has to be asked: all of it at once."""
    release = work.release
    # Releases from before the word was changed say `several`.
    multiple_modules = bool(release.notes.get("multiple_modules") or release.notes.get("several"))
    work.notes = {"multiple_modules": True} if multiple_modules else {}
    upload = checking.Upload(
        str(release),
        release.uploaded_digest,
        staging.repacked_key(release),
        file_name=release.file_name,
        folder=release.folder,
        confirmed=release.confirmed,
        interactive=release.asks,
        multiple_modules=multiple_modules,
        is_package=bool(package_manifest.pushed_with(release)),
        pages=readme.page_path(address_of(release), release.version),
    )
    with staging.open_source(release) as staged:
        found = checking.examine(staged, upload, work.notes)
    questions = [*found.questions, *_breaking(work, found.inspected)]
    if questions:
        if found.archive_key:
            store.discard_staged(found.archive_key)  # created again once the questions are answered
        raise Questions(questions, patient=not upload.is_package and not found.questions)
    work.archive_key = found.archive_key
    work.findings.inspected, work.findings.listing = found.inspected, found.listing
    pipeline.record_checked(work, digest=found.listing.digest, size=found.listing.size)


def _breaking(work: Work, inspected: extraction.Inspected) -> list[Reason]:
    """The version guard, by the rule of the namespace. Raises Refusal."""
    release = work.release
    mode = release.namespace.breaking_changes
    if mode == BreakingChanges.SILENT or not inspected.was_read:
        return []
    comparison = guard.compare_with_current(release.namespace, release.name, release.version, inspected.document)
    if comparison is not None:
        work.notes["guard"] = comparison.as_note()
    asked = guard.check(comparison, mode, confirmed=release.confirmed, reason=release.breaking_reason)
    if asked and mode == BreakingChanges.REFUSE:
        raise sandboxed.Refusal(asked)
    return asked


def inspect(work: Work) -> None:
    """Read the contents for the version's pages. Refuses nothing: an unreadable file becomes a warning on the page."""
    address, found = address_of(work.release), work.findings
    found.contents = extraction.read(found.listing, found.inspected, address=address, version=work.release.version)


def await_approval(work: Work) -> None:
    """Another person looks at what changes, if the namespace asks for that."""
    release, found = work.release, work.findings

    def opened() -> BinaryIO:
        return store.open_staged(work.archive_key) if work.archive_key else staging.open_source(release)

    approving.require(
        work,
        comparison=lambda: awaited.compare(release, fields=found.contents.fields, listing=found.listing, opened=opened),
    )


def finalise(work: Work) -> None:
    try:
        pipeline.finalise(work, _describe, lambda work: entries.refresh(work.release.module_version.module))
    except IntegrityError:
        reason = Reason(
            code="name_taken",
            found=f"a module whose name differs from {work.release.name} only in case, - or _ was published meanwhile",
            expected="distinct names",
            hint="Publish to that module, or choose another name.",
        )
        raise sandboxed.Refusal([reason]) from None


STEPS: tuple[Step[Findings], ...] = (
    pipeline.take_up,
    check,
    inspect,
    await_approval,
    pipeline.store_archive,
    pipeline.enter_ledger,
    finalise,
    pipeline.clean,
)


def run(claim: Claim) -> None:
    pipeline.run(claim, STEPS, Findings())


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
