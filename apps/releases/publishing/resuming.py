"""Uploads that survive a broken line: begun with a length, sent in pieces, continued where the last one ended.

What arrives is staged in parts, each an object of its own, so that any web process on any host continues, with any
storage: S3 cannot append. A server that dies loses the part it was receiving. The last byte joins the parts and gives
the whole to its release in one transaction, so that an upload is finished once, and its last request may be repeated.
"""

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import reauthorising
from apps.artifacts import chunked
from apps.artifacts.errors import OutOfOrder, UploadUnknown
from apps.blobs import ingest, store
from apps.jobs import database_availability
from apps.lib.digests import DigestMismatch
from apps.lib.errors import Conflict, CredentialsRequired, Invalid, NotFound, Reason, RegistryError, TooLarge
from apps.lib.net.bodies import Disconnected, Incomplete, TooSlow
from apps.releases.models import Release, State, Upload, UploadPart
from apps.releases.origin import recording
from apps.releases.publishing import drafting, quotas, reserving, staging
from apps.releases.publishing.fault_injection import fault_point
from apps.releases.publishing.transitions import Moved, reject

# A killed server costs so much of a fast upload, or so many seconds of a slow one.
PART_BYTES = 32 * 1024 * 1024
PART_SECONDS = 10.0
# Unfinished ones of a person: as many as a draft may have files.
MAX_UPLOADS = drafting.MAX_FILES
BATCH_SIZE = 500


class WrongOffset(Conflict):
    """`offset` is where the next byte goes."""

    code = "wrong_offset"

    def __init__(self, offset: int) -> None:
        super().__init__(
            f"This upload continues at byte {offset}.", hint="Ask for its offset (HEAD), and send the rest from there."
        )
        self.offset = offset


class AlreadySending(Conflict):
    code = "upload_in_use"


class TooManyUploads(RegistryError):
    code = "too_many_uploads"


@dataclass(frozen=True, slots=True)
class Announced:
    """The sender's word before the first byte. `digest` is a sha256 or empty, `metadata` is returned as it came."""

    length: int
    digest: str = ""
    metadata: str = ""


def begin_upload(release: Release, viewer: Viewer, announced: Announced, *, name: str = "", ticket: str = "") -> Upload:
    """Begin an upload, in place of an unfinished one of the same file.

    The caller has asked the gate, and checked the length against the limit. Raises AlreadySending, TooManyUploads,
    QuotaFull, Moved, and Invalid for an empty one.
    """
    if viewer.user is None:
        raise CredentialsRequired("An upload needs credentials.", hint="Send an API token.")
    if announced.length == 0:
        raise Invalid("The upload is empty.", hint="Send the file's actual length.")
    replaced: list[str] = []
    with transaction.atomic():
        drafting.renew(release)  # locks the release
        # An archive takes its room now, the file of a draft when it has come.
        already = release.uploaded_size or 0 if name else 0
        quotas.check(release.namespace, more_bytes=already + announced.length, more_versions=1, newcomer=release)
        if not name:
            Release.objects.filter(pk=release.pk).update(uploaded_size=announced.length)
            release.uploaded_size = announced.length
        if Upload.objects.filter(user=viewer.user, finished_at=None).count() >= MAX_UPLOADS:
            raise TooManyUploads(
                f"You already have {MAX_UPLOADS} unfinished uploads, the maximum.",
                hint="Finish or cancel some of them first.",
            )
        for other in release.uploads.filter(name=name, finished_at=None):
            if other.lease_until is not None and other.lease_until > timezone.now():
                raise _in_use()
            replaced += _forget(other)
        upload = Upload.objects.create(
            release=release,
            name=name,
            user=viewer.user,
            length=announced.length,
            expected=announced.digest,
            metadata=announced.metadata,
            ticket_digest=reserving.ticket_digest(ticket) if ticket else "",
            expires_at=drafting.renewed_until(release),
        )
    _discard(replaced)
    return upload


def own(viewer: Viewer, number: uuid.UUID) -> Upload:
    """Return the viewer's upload, begun with any of their credentials. Raises NotFound."""
    return _only(Q(pk=number, user=viewer.user_id))


def of_ticket(ticket: str) -> Upload | None:
    """Return the upload that was begun with a ticket, even if it is finished."""
    try:
        return _only(Q(ticket_digest=reserving.ticket_digest(ticket)))
    except NotFound:
        return None


def of_file(release: Release, viewer: Viewer, name: str) -> Upload | None:
    """Return the viewer's newest upload of a draft's file, even if it is finished."""
    try:
        return _only(Q(release=release, user=viewer.user_id, name=name))
    except NotFound:
        return None


class Uploads(ABC):
    """Those of a publisher; each kind of release starts them in its own way."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer = viewer

    @abstractmethod
    def complete(self, upload: Upload, key: str, staged: store.Staged) -> str:
        """Give the whole, staged under a key, to the release in the caller's transaction.

        Returns a staging key that is no longer needed, or the empty string.
        """

    def send(
        self,
        upload: Upload,
        start: int,
        chunks: "Iterable[bytes] | Incoming",
        *,
        verify: Callable[[Iterable[bytes]], Iterator[bytes]] | None = None,
    ) -> None:
        """Take bytes from `start` on; the last one finishes the upload. A broken line keeps what has arrived.

        `verify` passes the bytes of this request on and raises at their end if they are wrong: then none of them is
        kept, and none of a broken request. Raises WrongOffset, AlreadySending, NotFound, TooLarge beyond the length,
        DigestMismatch, which ends the upload, what the gate raises, and what `complete` raises.
        """
        if upload.finished_at is not None:
            if start != upload.length:
                raise WrongOffset(upload.length)
            return
        with _as_refusals():
            lease = chunked.take_lease(upload, start)
            incoming: Incoming
            if isinstance(chunks, Incoming):
                incoming = chunks
            else:
                incoming = _Body(chunks, left=upload.length - upload.size, verify=verify)
            request = _Request(upload, self, lease, incoming)
            has_lease = True
            try:
                has_lease = _take_part(request)
                while not incoming.is_over:
                    has_lease = _take_part(request)
            finally:
                if has_lease:
                    chunked.give_back(upload, lease)
        if incoming.broke is not None and upload.finished_at is None:
            raise incoming.broke

    def cancel(self, upload: Upload) -> None:
        """Drop an upload and its bytes. The release stays as it is."""
        cancel(upload)


def cancel(upload: Upload) -> None:
    """Drop an upload and its bytes. The release stays as it is."""
    _discard(_forget(upload))


def sweep() -> int:
    """Drop uploads that have expired, or whose release no longer waits for them; return how many."""
    now = timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    orphaned = Q(finished_at=None) & ~Q(release__state=State.RECEIVING)
    lapsed = list(Upload.objects.filter(free, orphaned | Q(expires_at__lt=now)).order_by("expires_at")[:BATCH_SIZE])
    for upload in lapsed:
        cancel(upload)
    return len(lapsed)


def unknown() -> NotFound:
    return NotFound(
        "You have no such upload: it was cancelled, has expired, or never existed.", hint="Start another one."
    )


class Incoming(ABC):
    """The source of the next parts. `broke` is why the last one ended early."""

    is_over = False
    broke: RegistryError | None = None

    @abstractmethod
    def stage(self, upload: Upload, lease: uuid.UUID) -> tuple[str, store.Staged]:
        """Return the staging key of the next part, with its size; and its digest if it is the only one."""


class _Body(Incoming):
    """The body of one request, cut into parts."""

    def __init__(
        self, chunks: Iterable[bytes], *, left: int, verify: Callable[[Iterable[bytes]], Iterator[bytes]] | None
    ) -> None:
        self._left = left
        self._is_whole = verify is not None
        self._chunks = iter(verify(chunks) if verify else chunks)

    def stage(self, upload: Upload, lease: uuid.UUID) -> tuple[str, store.Staged]:
        key = uuid.uuid4().hex
        return key, store.stage(key, chunked.renewing(upload, lease, self._part()))

    def _part(self) -> Iterator[bytes]:
        """Raises TooLarge beyond the upload's length, and whatever else must not be kept."""
        size, began = 0, time.monotonic()
        try:
            for chunk in self._chunks:
                self._left -= len(chunk)
                if self._left < 0:
                    raise TooLarge(
                        "The body exceeds the announced length of the upload.",
                        hint="Send the rest of the same file, or start another upload with the right length.",
                    )
                size += len(chunk)
                yield chunk
                is_long = size >= PART_BYTES or time.monotonic() - began > PART_SECONDS
                # The last byte waits for the end of the body: there may be one too many.
                if is_long and self._left and not self._is_whole:
                    return
        except (Disconnected, Incomplete, TooSlow) as error:
            if self._is_whole:
                raise
            self.broke = error
        self.is_over = True


@dataclass(frozen=True, slots=True)
class _Request:
    upload: Upload
    uploads: Uploads
    lease: uuid.UUID
    incoming: Incoming

    @property
    def viewer(self) -> Viewer:
        return self.uploads.viewer

    def refusal(self) -> RegistryError | None:
        release = self.upload.release
        return reauthorising.refusal(self.viewer, release.namespace, only_name=release.name)


def _take_part(request: _Request) -> bool:
    """Stage and record the next part; return whether the lease is still taken."""
    upload, lease, incoming = request.upload, request.lease, request.incoming
    key, staged = incoming.stage(upload, lease)
    if upload.size + staged.size == upload.length:
        _finish(request, key, staged)
        return False
    may_be_taken = False
    try:
        database_availability.release_connection()
        with transaction.atomic():
            refused = request.refusal()
            if refused is None and staged.size:
                drafting.renew(upload.release)
                until = drafting.renewed_until(upload.release)
                chunked.take(upload, lease, staged.size, keeps_lease=not incoming.is_over, expires_at=until)
                UploadPart.objects.create(upload=upload, start=upload.size, size=staged.size, staging_key=key)
                recording.contributed(upload.release, request.viewer)
                may_be_taken = True
        if refused is not None:
            _end(upload, reserving.NO_LONGER_ALLOWED)
            raise refused
    finally:
        # A commit that broke off may have come through, and then the upload has these bytes; else they are swept.
        if not may_be_taken:
            store.discard_staged(key)
    upload.size += staged.size
    return not (staged.size and incoming.is_over)


def _finish(request: _Request, last: str, staged: store.Staged) -> None:
    """Join the parts and give them to the release. A single one is taken as it is; several are read once more."""
    upload = request.upload
    parts = [*upload.parts.order_by("start").values_list("staging_key", flat=True), last]
    key, whole = last, staged
    may_be_taken, superfluous, now = False, "", timezone.now()
    try:
        if len(parts) > 1:
            key = uuid.uuid4().hex
            joined = chain.from_iterable(ingest.read_staged(part) for part in parts)
            whole = store.stage(key, chunked.renewing(upload, request.lease, joined))
        if whole.size != upload.length:  # another request has just ended it
            raise unknown()
        _check_digest(upload, whole)
        fault_point("after:receive", upload.release)
        database_availability.release_connection()
        with transaction.atomic():
            refused = request.refusal()
            if refused is None:
                chunked.take(upload, request.lease, upload.length - upload.size, finished_at=now, expected=whole.digest)
                upload.parts.all().delete()
                superfluous = request.uploads.complete(upload, key, whole)
                recording.contributed(upload.release, request.viewer)
                may_be_taken = True
        if refused is not None:
            _end(upload, reserving.NO_LONGER_ALLOWED)
            raise refused
    except store.Missing:  # likewise, and its parts are gone
        raise unknown() from None
    finally:
        if not may_be_taken:
            _discard({last, key})
    upload.size, upload.finished_at = upload.length, now
    fault_point("after:accept", upload.release)
    _discard([part for part in parts if part != key] + ([superfluous] if superfluous else []))


def _check_digest(upload: Upload, whole: store.Staged) -> None:
    if upload.expected in ("", whole.digest):
        return
    mismatch = DigestMismatch(whole.digest, upload.expected)
    found, expected = f"bytes with the digest sha256:{whole.digest}", f"sha256:{upload.expected}, as announced"
    _end(upload, Reason(mismatch.code, found, expected, mismatch.hint))
    raise mismatch


def _end(upload: Upload, reason: Reason) -> None:
    """Drop it: an archive with its release, which frees the number; the file of a draft alone."""
    if upload.name:
        cancel(upload)
        return
    with suppress(Moved):
        reject(upload.release, [reason], sources=[State.RECEIVING], actor_id=upload.user_id)
        staging.discard(upload.release)


def _only(wanted: Q) -> Upload:
    rows = Upload.objects.select_related("release__namespace", "release__created_by")
    found = rows.filter(wanted, expires_at__gt=timezone.now()).order_by("-created_at").first()
    if found is None or (found.finished_at is None and found.release.state != State.RECEIVING):
        raise unknown()
    return found


@contextmanager
def _as_refusals() -> Iterator[None]:
    try:
        yield
    except OutOfOrder as error:
        raise WrongOffset(error.next_byte) from None
    except chunked.Busy:
        raise _in_use() from None
    except UploadUnknown:
        raise unknown() from None


def _forget(upload: Upload) -> list[str]:
    """Delete the row; return the staging keys of its bytes."""
    keys = list(upload.parts.values_list("staging_key", flat=True))
    upload.delete()
    return keys


def _in_use() -> AlreadySending:
    return AlreadySending(
        "Another request is sending bytes of this upload, or was just interrupted.",
        hint="Ask for its offset again in a few seconds.",
    )


def _discard(keys: Iterable[str]) -> None:
    for key in keys:
        store.discard_staged(key)
