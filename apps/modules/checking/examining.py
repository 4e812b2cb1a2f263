"""Read an upload in limited child processes: form, digest, archive rules, module rules; repack it where needed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from django.conf import settings

from apps.blobs import store
from apps.lib.archives import sandboxed
from apps.lib.digests import counted
from apps.lib.errors import Reason, TooLarge
from apps.modules import inspection
from apps.modules.checking import checks
from apps.modules.contents import extraction
from apps.releases.lifecycle import quarantine
from apps.releases.publishing import staging
from apps.releases.publishing.pipeline import Questions

LIMIT_SETTING = "LARDER_MODULE_ARCHIVE_MAX_BYTES"


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes to examine, and their publisher's instructions. `staged_as` is where a repacked zip may be staged."""

    what: str  # for messages
    digest: str
    staged_as: str
    file_name: str = ""
    folder: str = ""
    confirmed: Sequence[str] = ()
    interactive: bool = False
    multiple_modules: bool = False
    is_package: bool = False  # pushed: served unchanged or not at all


@dataclass(slots=True)
class Examined:
    """What is published if the `questions` are answered. `archive_key`: the repacked zip, staged, or empty."""

    listing: sandboxed.Listing
    inspected: extraction.Inspected
    archive_key: str = ""
    questions: list[Reason] = field(default_factory=list)


def examine(staged: BinaryIO, upload: Upload, notes: dict[str, Any]) -> Examined:
    """Raises Refusal, and Questions if the publisher has yet to choose a part. `notes` are filled in any case."""
    with staging.refusing_only(staged, digest=upload.digest, what=upload.what):
        form = form_of(staged)
        listing = sandboxed.inspect(staged, limits(), wanted=extraction.WANTED, form=form, links=True)
    if listing.digest != upload.digest:
        # Storage returned other bytes than it received. Each attempt reads them again; five are enough.
        raise store.Damaged(f"The bytes of {upload.what} differ from those received.")
    plan = checks.plan(
        listing,
        limits=limits(),
        notes=notes,
        folder=upload.folder,
        confirmed=upload.confirmed,
        interactive=upload.interactive,
        multiple_modules=upload.multiple_modules,
    )
    if upload.is_package:
        checks.require_unchanged(plan, notes)
    if checks.is_undecided(plan):
        raise Questions(plan.questions)
    key = upload.staged_as if plan.is_repacked else ""
    if key:
        zipped = sandboxed.repack(
            staged, limits(), form=form, folder=plan.prefix, leave_out=plan.left_out, copies=plan.copies
        )
        _stage_repacked(key, zipped)
        with store.open_staged(key) as repacked:
            listing = sandboxed.inspect(repacked, limits(), wanted=extraction.WANTED, form="zip")
        checks.refuse_named_links(plan, listing.texts)
    quarantine.refuse_quarantined({listing.digest: upload.file_name})
    inspected = extraction.inspect(listing)
    unloadable = checks.unloadable(inspected.faults, notes=notes, confirmed=upload.confirmed)
    return Examined(listing, inspected, key, [*plan.questions, *unloadable])


def check_package(archive: BinaryIO) -> None:
    """Check a pushed package that becomes no release. Raises Refusal, also where a release would be asked about."""
    form = form_of(archive)
    listing = sandboxed.inspect(archive, limits(), wanted=inspection.WANTED, form=form, links=True)
    notes: dict[str, Any] = {}
    plan = checks.plan(listing, limits=limits(), notes=notes, folder="")
    checks.require_unchanged(plan, notes)
    quarantine.refuse_quarantined({listing.digest: ""})
    questions = [*plan.questions, *checks.unloadable(extraction.inspect(listing).faults, notes=notes)]
    if questions:
        raise sandboxed.Refusal(questions)


def limits() -> sandboxed.Limits:
    return sandboxed.Limits(
        packed_bytes=settings.MODULE_ARCHIVE_MAX_BYTES,
        unpacked_bytes=settings.MODULE_UNPACKED_MAX_BYTES,
        file_bytes=settings.MODULE_UNPACKED_MAX_BYTES,
        entries=settings.ARCHIVE_MAX_ENTRIES,
    )


def form_of(archive: BinaryIO) -> sandboxed.Form:
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
