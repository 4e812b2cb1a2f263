"""Reserve a version number before its bytes arrive."""

import hashlib
import secrets
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import reauthorising
from apps.accounts.identity.trusted.requiring import require_trusted
from apps.accounts.models import ApiToken, Namespace
from apps.audit.kinds import Kind as Event
from apps.lib.errors import Conflict, NotFound, Reason, RegistryError, Unavailable
from apps.lib.versions import Version
from apps.releases.models import Kind, Release, State, Upload
from apps.releases.origin import recording
from apps.releases.origin.models import Way
from apps.releases.publishing import quotas
from apps.releases.publishing.transitions import Moved, reject

# Renewed every ten seconds while bytes flow; if the web process dies, the reservation lapses after this.
UPLOAD_LEASE = timedelta(seconds=60)

UNFINISHED = Reason(
    code="upload_unfinished",
    found="an upload that never finished",
    expected="the whole archive",
    hint="Upload it again; the version number is still free.",
)
SUPERSEDED = Reason(
    code="upload_superseded",
    found="a reservation that was never used",
    expected="one upload at a time for a version",
    hint="No action needed: your newer upload replaced it.",
)
NO_LONGER_ALLOWED = Reason(
    code="permission_ended",
    found="an upload by someone who can no longer publish here, or whose session or token has ended",
    expected="a publisher, signed in or with a token, until the last byte",
    hint="Upload it again with the role publisher; the version number is still free.",
)


@dataclass(frozen=True, slots=True)
class Coordinate:
    """The identity of one version number."""

    kind: Kind
    namespace: Namespace
    name: str
    version: Version

    def rows(self) -> "Q":
        return Q(kind=self.kind, namespace=self.namespace, name=self.name, sort_key=self.version.sort_key)


class StillArriving(Unavailable):
    """An upload of the same person has the number. It may have died, which shows when its lease ends."""

    def __init__(self, other: Release) -> None:
        left = (other.receiving_until - timezone.now()).total_seconds() if other.receiving_until else 0
        super().__init__(
            f"{other} is already being uploaded by you, or that upload was interrupted.",
            hint="Send it again in a minute: an interrupted upload has expired by then.",
            retry_after=max(1, ceil(left)),
        )


class VersionRemoved(Conflict):
    def __init__(self, tombstone: Release) -> None:
        super().__init__(
            tombstone.removal,
            hint="Version numbers cannot be reused: publish your archive under another one.",
        )


class VersionTaken(Conflict):
    """The version number belongs to the release `taken_by`."""

    def __init__(self, taken_by: Release) -> None:
        super().__init__(
            f"{taken_by} is already {taken_by.state}, "
            f"uploaded as sha256:{taken_by.uploaded_digest or '(not received yet)'}.",
            hint="A published version never changes: publish your archive under another version number.",
        )
        self.taken_by = taken_by


def refusal_of(other: Release) -> VersionRemoved | VersionTaken:
    """Return why a version number is refused that the live release `other` has."""
    return VersionRemoved(other) if other.state == State.PURGED else VersionTaken(other)


def reserve(
    *,
    coordinate: Coordinate,
    viewer: Viewer,
    file_name: str,
    provenance: dict[str, str],
    ticket: str = "",
    way: Way | None = None,
    read_from: Release | None = None,
    fetched: recording.Fetched | None = None,
    **fields: Any,
) -> Release:
    """Reserve the version number for an upload. Raises VersionTaken, and VersionRemoved for a purged version.

    `fields` are further columns of the release; `way` is by default a browser's, or the API's with a token; `read_from`
    is the release whose upload it is read from. With a `ticket` the reservation waits for the browser that has it. The
    ticket is part of the insert, because a browser that repeats a lost request replaces its first reservation.

    There is no check before the insert: the unique constraint decides between two at once. Raises RoleRequired where
    only trusted publishers publish.
    """
    require_trusted(viewer, coordinate.namespace)
    _free_lapsed(coordinate, viewer)
    now = timezone.now()
    wait = settings.UPLOAD_TICKET_LIFETIME if ticket else UPLOAD_LEASE
    try:
        with transaction.atomic():
            release = Release.objects.create(
                kind=coordinate.kind,
                namespace=coordinate.namespace,
                name=coordinate.name,
                version=coordinate.version.text,
                sort_key=coordinate.version.sort_key,
                file_name=file_name[:255],
                created_by=viewer.user,
                token_id=viewer.token_id,
                session_digest=viewer.session,
                provenance=provenance,
                ticket_digest=ticket_digest(ticket) if ticket else "",
                **{"staging_key": uuid.uuid4().hex, "receiving_until": now + wait, **fields},
            )
            structlog.contextvars.bind_contextvars(release_id=release.pk)
            # After the insert, so that VersionTaken comes first: the same bytes again are welcome in a full namespace.
            quotas.check(coordinate.namespace, more_bytes=1, more_versions=1, newcomer=release)
            recording.record(release, viewer, way or recording.way_of(viewer), read_from=read_from, fetched=fetched)
            viewer.record(
                Event.RELEASE_RESERVED,
                subject=str(release),
                release=release.pk,
            )
    except IntegrityError:
        other = Release.objects.live().filter(coordinate.rows()).select_related("namespace").first()
        if other is None:  # it ended between the two statements
            raise Conflict(
                f"Another upload of {coordinate.version.text} has just finished.", hint="Send yours again."
            ) from None
        raise refusal_of(other) from None
    return release


def _free_lapsed(coordinate: Coordinate, viewer: Viewer) -> None:
    """End reservations that have lapsed, and the person's own that were never used."""
    lapsed = Q(receiving_until__lt=timezone.now())
    begun = Upload.objects.filter(release=OuterRef("pk"), name="", finished_at=None)
    is_unused = Q(created_by=viewer.user_id) & (~Q(ticket_digest="") | Q(Exists(begun)))
    own_unused = is_unused & ~Q(Exists(begun.filter(lease_until__gt=timezone.now())))
    for release in Release.objects.filter(coordinate.rows(), lapsed | own_unused, state=State.RECEIVING):
        is_lapsed = release.receiving_until is not None and release.receiving_until < timezone.now()
        reason = UNFINISHED if is_lapsed and not release.ticket_digest else SUPERSEDED
        try:
            reject(release, [reason], sources=[State.RECEIVING], actor_id=viewer.user_id)
        except Moved:
            continue  # its upload continues, or somebody else ended it


def new_ticket() -> str:
    """Return a one-time ticket (D2) that allows sending the bytes of one reserved release."""
    return secrets.token_urlsafe(32)


def ticket_digest(ticket: str) -> str:
    return hashlib.sha256(ticket.encode()).hexdigest()


def release_of_ticket(ticket: str) -> Release:
    """Return the reservation of an unused ticket. Raises NotFound, the same for used and unknown tickets."""
    waiting = Release.objects.filter(
        ticket_digest=ticket_digest(ticket), state=State.RECEIVING, receiving_until__gt=timezone.now()
    )
    release = waiting.select_related("namespace").first()
    if release is None:
        raise NotFound(
            "This upload ticket is unknown, used or expired.",
            hint="A ticket is valid for one upload: start again from the publish page; the version number is free.",
        )
    return release


def authorise_ticket(ticket: str) -> Release:
    """Like `release_of_ticket`, and ask the gate again for the person who reserved it.

    A refusal ends the reservation and frees the number. Raises what the gate raises.
    """
    release = release_of_ticket(ticket)
    if refused := refusal_of_maker(release):
        with suppress(Moved):
            reject(release, [NO_LONGER_ALLOWED], sources=[State.RECEIVING], actor_id=release.created_by_id)
        raise refused
    return release


def maker_of(release: Release) -> Viewer:
    """Return the viewer who reserved it, with the token or session of that time."""
    token = ApiToken(pk=release.token_id) if release.token_id else None
    return Viewer(release.created_by, token, release.session_digest)


def refusal_of_maker(release: Release) -> RegistryError | None:
    """Return why the upload must stop, by the rights of its maker now, or None."""
    return reauthorising.refusal(maker_of(release), release.namespace, only_name=release.name)


def use_ticket(release: Release) -> None:
    """Consume the ticket. Raises Moved for the second of two uploads with it."""
    used = Release.objects.filter(pk=release.pk, state=State.RECEIVING, ticket_digest=release.ticket_digest).exclude(
        ticket_digest=""
    )
    if used.update(ticket_digest="", receiving_until=timezone.now() + UPLOAD_LEASE) != 1:
        raise Moved("This upload ticket has just been used.", hint="Start again from the publish page.")
    release.ticket_digest = ""
