"""Reserving a version number before anything is known about the bytes."""

import hashlib
import secrets
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from apps.accounts.access import reauthorising
from apps.accounts.access.gate import Viewer
from apps.accounts.models import ApiToken, Namespace
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.lib.errors import Conflict, NotFound, Reason, RegistryError, Unavailable
from apps.lib.versions import Version
from apps.releases.models import Kind, Release, State
from apps.releases.publishing import quotas
from apps.releases.publishing.transitions import Moved, reject
from apps.releases.tombstones import VersionRemoved

# While bytes flow the reservation is renewed every ten seconds; when the web process died it lapses after this.
UPLOAD_LEASE = timedelta(seconds=60)

UNFINISHED = Reason(
    code="upload_unfinished",
    found="an upload that never came to its end",
    expected="the whole archive",
    hint="Upload it again; the version number is still free.",
)
SUPERSEDED = Reason(
    code="upload_superseded",
    found="a reservation that was never used",
    expected="one upload at a time for a version",
    hint="Nothing to do: you began again, and that upload took its place.",
)
NO_LONGER_ALLOWED = Reason(
    code="permission_ended",
    found="an upload by somebody who may no longer publish here, or whose session or token has ended",
    expected="a publisher, signed in or with a token, until the last byte",
    hint="Upload it again as somebody who may; the version number is still free.",
)


@dataclass(frozen=True, slots=True)
class Coordinate:
    """What one version number is reserved for."""

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
            f"{other} is being uploaded by you already, or that upload broke off.",
            hint="Send the same again in a minute: a broken upload has made way by then.",
            retry_after=max(1, ceil(left)),
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


def reserve(
    *,
    coordinate: Coordinate,
    viewer: Viewer,
    file_name: str,
    provenance: dict[str, str],
    ticket: str = "",
    **fields: Any,
) -> Release:
    """Take the version number for an upload that begins now; raises VersionTaken, or VersionRemoved for ever after.

    `fields` are further columns of the release: how its kind is to read the upload. With a `ticket` it waits for the
    browser that has it. In one statement: a browser that repeats a lost request takes the place of its first one, and
    must never find that without its ticket.

    There is no look before the leap: the unique constraint alone decides between two who come at once.
    """
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
            # After the row, so that VersionTaken goes before: the same bytes again are welcome in a full namespace.
            quotas.check(coordinate.namespace, more_bytes=1, more_versions=1, newcomer=release)
            record(
                Event.RELEASE_RESERVED,
                actor_id=viewer.user_id,
                token_id=viewer.token_id,
                subject=str(release),
                release=release.pk,
            )
    except IntegrityError:
        other = Release.objects.live().filter(coordinate.rows()).select_related("namespace").first()
        if other is None:  # it ended between the two statements
            raise Conflict(
                f"Another upload of {coordinate.version.text} has just ended.", hint="Send yours again now."
            ) from None
        if other.state == State.PURGED:
            raise VersionRemoved(other) from None
        raise VersionTaken(other) from None
    return release


def _free_lapsed(coordinate: Coordinate, viewer: Viewer) -> None:
    """End reservations whose upload died, and the person's own that were never used."""
    lapsed = Q(receiving_until__lt=timezone.now())
    own_unused = Q(created_by=viewer.user_id) & ~Q(ticket_digest="")
    for release in Release.objects.filter(coordinate.rows(), lapsed | own_unused, state=State.RECEIVING):
        reason = SUPERSEDED if release.ticket_digest else UNFINISHED
        try:
            reject(release, [reason], sources=[State.RECEIVING], actor_id=viewer.user_id)
        except Moved:
            continue  # its upload came to life, or somebody else freed it


def new_ticket() -> str:
    """A one-time upload ticket (D2): whoever shows it sends the bytes of the release that was reserved with it."""
    return secrets.token_urlsafe(32)


def ticket_digest(ticket: str) -> str:
    return hashlib.sha256(ticket.encode()).hexdigest()


def release_of_ticket(ticket: str) -> Release:
    """The reservation that an unused ticket belongs to; raises NotFound, which also hides whether it ever was one."""
    waiting = Release.objects.filter(
        ticket_digest=ticket_digest(ticket), state=State.RECEIVING, receiving_until__gt=timezone.now()
    )
    release = waiting.select_related("namespace").first()
    if release is None:
        raise NotFound(
            "This upload ticket is unknown, used, or has run out.",
            hint="Each ticket carries one upload: start again from the publish page; the version number is free.",
        )
    return release


def authorise_ticket(ticket: str) -> Release:
    """As `release_of_ticket`, for whoever is about to send the bytes: the gate is asked again, for whoever reserved it.

    Where that says no, the reservation ends and the number is free. Raises what the gate raises.
    """
    release = release_of_ticket(ticket)
    if refused := refusal_of_maker(release):
        with suppress(Moved):
            reject(release, [NO_LONGER_ALLOWED], sources=[State.RECEIVING], actor_id=release.created_by_id)
        raise refused
    return release


def maker_of(release: Release) -> Viewer:
    """Who reserved it, and by which token or in which session, as it was then."""
    token = ApiToken(pk=release.token_id) if release.token_id else None
    return Viewer(release.created_by, token, release.session_digest)


def refusal_of_maker(release: Release) -> RegistryError | None:
    """Why the upload must not go on, as things are now."""
    return reauthorising.refusal(maker_of(release), release.namespace, only_name=release.name)


def use_ticket(release: Release) -> None:
    """Consume the ticket; of two uploads with the same one, the second raises Moved."""
    used = Release.objects.filter(pk=release.pk, state=State.RECEIVING, ticket_digest=release.ticket_digest).exclude(
        ticket_digest=""
    )
    if used.update(ticket_digest="", receiving_until=timezone.now() + UPLOAD_LEASE) != 1:
        raise Moved("This upload ticket has just been used.", hint="Start again from the publish page.")
    release.ticket_digest = ""
