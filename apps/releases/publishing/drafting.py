"""Drafts of releases with several files: open, fill file by file in any order, hand in (D24).

A draft is in the state `receiving` and belongs to the person who opened it. Files sent after it was handed in are only
compared: the same bytes succeed, others raise Conflict.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import reauthorising
from apps.audit.kinds import Kind as Event
from apps.blobs import store
from apps.jobs import database_availability
from apps.lib.digests import Tally, counted
from apps.lib.errors import Conflict, Invalid, NotFound, TooLarge
from apps.releases.models import Release, ReleaseFile, State
from apps.releases.origin import recording
from apps.releases.publishing import quotas, receiving, reserving
from apps.releases.publishing.fault_injection import fault_point
from apps.releases.publishing.transitions import Moved, move

# Each file renews the draft for IDLE. MAX_AGE leaves the worker time before the sweep of staging (24 hours).
IDLE = timedelta(hours=4)
MAX_AGE = timedelta(hours=20)
MAX_FILES = 100
HANDED_IN = (State.RECEIVED, State.CHECKING, State.SIGNING, State.PUBLISHED)


def open_draft(
    *, coordinate: reserving.Coordinate, viewer: Viewer, provenance: dict[str, str], **fields: Any
) -> tuple[Release, bool]:
    """Reserve the version number for files that follow. Return the draft, and whether it is new.

    The person's own release or the published one is not: files are then compared, so that a script may run twice.
    Raises Conflict if someone else has the number.
    """
    until = timezone.now() + IDLE
    try:
        release = reserving.reserve(
            coordinate=coordinate, viewer=viewer, file_name="", provenance=provenance, receiving_until=until, **fields
        )
    except reserving.VersionTaken as taken:
        require_own(taken.taken_by, viewer)
        return taken.taken_by, False
    fault_point("after:reserve", release)
    return release, True


def receive_file(
    *,
    release: Release,
    viewer: Viewer,
    name: str,
    open_body: Callable[[], Iterable[bytes]],
    limit: int,
    setting: str,
    is_stored: bool = True,
) -> tuple[ReleaseFile, bool]:
    """Stage and record one file, replacing one of that name once it is complete. Without `is_stored` only read it.

    Return the file, and whether it has a new name. Raises Conflict, TooLarge, QuotaFull or Invalid, and the gate's
    errors if the viewer may no longer publish when the last byte arrives; then the draft stays unchanged.
    """
    require_own(release, viewer)

    def authorise() -> None:
        database_availability.release_connection()
        reauthorising.authorise_again(viewer, release.namespace, only_name=release.name)

    def body() -> Iterable[bytes]:
        return reauthorising.authorised_to_the_end(
            counted(open_body(), limit=limit, what=name, setting=setting), authorise
        )

    if not is_stored:
        read = Tally.of(body())
        return ReleaseFile(release=release, name=name, digest=read.hexdigest, size=read.size), False
    known = release.files.filter(name=name).first()
    if release.state != State.RECEIVING:
        if known is None:
            raise Conflict(
                f"{release} is {release.state}: its files can no longer change, and {name} is not among them."
            )
        database_availability.release_connection()
        sent = Tally.of(body()).hexdigest
        if sent != known.digest:
            found = f"{known.name} as sha256:{known.digest}; you sent sha256:{sent}."
            raise Conflict(
                f"{release} is already {release.state} with {found}",
                hint="A published version never changes: publish your files under another version number.",
            )
        return known, False
    key = f"{release.staging_key}.{uuid.uuid4().hex}"
    staged = store.stage(key, body())
    fault_point("after:receive_file", release)
    try:
        if staged.size == 0:
            raise Invalid(f"{name} is empty.", hint="Send the file itself as the body of the request.")
        database_availability.release_connection()
        file, is_new, superfluous = record_file(release, viewer, name, key, staged)
    except BaseException:
        store.discard_staged(key)
        raise
    if superfluous:
        store.discard_staged(superfluous)
    return file, is_new


def remove_file(*, release: Release, viewer: Viewer, name: str) -> None:
    """Remove a file from a draft. Raises NotFound."""
    require_own(release, viewer)
    if release.state != State.RECEIVING:
        hint = "Publish other files under another version number."
        raise Conflict(f"{release} is {release.state}: its files can no longer change.", hint=hint)
    with transaction.atomic():
        renew(release)
        file = release.files.filter(name=name).first()
        if file is None:
            raise NotFound(f"{release} has no file {name!r}.", hint="Fetch the draft to see its files.")
        file.delete()
        _sum_up(release)
        _record(Event.RELEASE_FILE_REMOVED, release, viewer, file)
    store.discard_staged(file.staging_key)


def hand_in(
    *, release: Release, viewer: Viewer, job: str, digest_of: Callable[[Sequence[ReleaseFile]], str]
) -> Release:
    """Accept the complete draft with its job (D4); return a release that was handed in before unchanged.

    `digest_of` computes the digest that two equal uploads share. Raises Moved if the draft has ended, and what the gate
    raises if the viewer may no longer publish.
    """
    require_own(release, viewer)
    if release.state != State.RECEIVING:
        return release
    try:
        with transaction.atomic():
            refused = reauthorising.refusal(viewer, release.namespace, only_name=release.name)
            if refused is None:
                renew(release)  # locks the row, so that the files stay as they are
                files = list(release.files.order_by("name"))
                size = sum(file.size for file in files)
                receiving.accept(release=release, digest=digest_of(files), size=size, job=job)
                recording.handed_in(release, viewer)
        if refused is not None:
            raise refused
    except Moved:
        release.refresh_from_db()
        if release.state not in HANDED_IN:
            raise
        return release
    fault_point("after:accept", release)
    return release


def require_own(release: Release, viewer: Viewer) -> None:
    """Raise Conflict unless the viewer opened the draft or it is published."""
    if release.state == State.PUBLISHED or release.created_by_id == viewer.user_id:
        return
    was = "opened" if release.state == State.RECEIVING else f"submitted (it is {release.state})"
    raise Conflict(
        f"{release} was {was} by someone else.",
        hint="Try again later, or publish under another version number.",
    )


def renew(release: Release) -> None:
    """Extend the draft and lock its row until the transaction ends. Raises Moved."""
    move(release, State.RECEIVING, to=State.RECEIVING, receiving_until=renewed_until(release))


def renewed_until(release: Release) -> datetime:
    """Return until when a draft, or an upload in pieces, waits for more from now on."""
    return min(timezone.now() + IDLE, release.created_at + MAX_AGE)


def record_file(
    release: Release, viewer: Viewer, name: str, key: str, staged: store.Staged
) -> tuple[ReleaseFile, bool, str]:
    """Record a staged file; return it, whether its name is new, and the staging key that is no longer needed or ""."""
    with transaction.atomic():
        renew(release)
        known = release.files.filter(name=name).first()
        if known is not None and known.digest == staged.digest:
            return known, False, key
        if known is None and release.files.count() >= MAX_FILES:
            raise TooLarge(f"{release} already has {MAX_FILES} files, the limit for a release.")
        values = {"staging_key": key, "digest": staged.digest, "size": staged.size}
        file, created = ReleaseFile.objects.update_or_create(release=release, name=name, defaults=values)
        total = _sum_up(release)
        quotas.check(release.namespace, more_bytes=total, more_versions=1, newcomer=release)
        recording.contributed(release, viewer)
        _record(Event.RELEASE_FILE_RECEIVED, release, viewer, file)
    return file, created, known.staging_key if known else ""


def _sum_up(release: Release) -> int:
    """Save and return the draft's size, which the quota of the namespace counts."""
    total: int = release.files.aggregate(total=Sum("size"))["total"] or 0
    Release.objects.filter(pk=release.pk).update(uploaded_size=total)
    release.uploaded_size = total
    return total


def _record(kind: Event, release: Release, viewer: Viewer, file: ReleaseFile) -> None:
    facts = {"file": file.name, "digest": file.digest, "size": file.size}
    viewer.record(kind, subject=str(release), release=release.pk, **facts)
