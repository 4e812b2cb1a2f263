"""Answer the questions of a held release, and publish further modules from the same upload."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import reauthorising
from apps.audit.kinds import Kind as Event
from apps.jobs import queue
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Conflict, Invalid
from apps.modules import checking, folder_names, publishing
from apps.modules.comparing import guard
from apps.modules.dependents.users import address_of
from apps.releases.catalogue.comparing import next_breaking
from apps.releases.models import Release, State
from apps.releases.origin import recording
from apps.releases.publishing import receiving, reserving, transitions


@dataclass(frozen=True, slots=True)
class Part:
    """A further module of the same upload: its folder (or several, one per line) and its name."""

    folder: str
    address: ModuleAddress
    version: str


def answer(
    *,
    release: Release,
    viewer: Viewer,
    confirm: Collection[str],
    folder: str = "",
    reason: str = "",
    more: Sequence[Part] = (),
) -> list[Release]:
    """Confirm the questions and let the release continue. Return it and the releases started from the same upload.

    `folder` may be several, one per line. A breaking change needs a `reason`, which is shown to readers.
    All or nothing: raises Invalid for a question that is still open, and Conflict if the release is no longer waiting
    or a number in `more` is taken.
    """
    reauthorising.authorise_again(viewer, release.namespace, only_name=release.name)
    if release.state != State.HELD:
        raise Conflict(f"{release} is {release.state}: it is not waiting for an answer.", hint="Reload its page.")
    confirmed = sorted({*release.confirmed, *checking.clean_confirmations(confirm)})
    chosen = _chosen(release, folder)
    if not chosen and _needs_folder(release):
        # Otherwise the child asks about the whole archive again.
        confirmed = sorted({*confirmed, checking.CHOOSE_FOLDER})
    for question in release.questions:
        if question["code"] in checking.CONFIRMABLE and question["code"] not in confirmed:
            raise Invalid(
                f"One question is unanswered: {question['found']}.", hint="Confirm it, or cancel the release."
            )
    reason = guard.clean_reason(reason) or release.breaking_reason
    if not reason and any(question["code"] == guard.BREAKING_CHANGE for question in release.questions):
        raise Invalid(
            f"{release} contains breaking changes but is not a major version, and no reason was given.",
            hint="Give the reason, or cancel the release.",
        )
    notes: dict[str, Any] = {
        key: value for key, value in release.notes.items() if key not in ("multiple_modules", "several")
    }
    try:
        with transaction.atomic():
            started = [_reserve_part(release, part, viewer, confirmed) for part in more]
            transitions.move(
                release,
                State.HELD,
                to=State.RECEIVED,
                folder=chosen,
                confirmed=confirmed,
                breaking_reason=reason,
                questions=[],
                notes=notes,
                held_until=None,
            )
            recording.answered(release, viewer)
            _record(release, viewer, confirmed)
            queue.enqueue(publishing.JOB, target=release.pk, created_by_id=viewer.user_id)
    except reserving.VersionTaken as taken:
        raise Conflict(f"{taken.taken_by} is already {taken.taken_by.state}.", hint="Choose another number.") from None
    except IntegrityError:
        # The worker that asked has not finished its job yet.
        raise Conflict(f"{release} is being put on hold right now.", hint="Send the answer again.") from None
    return [release, *started]


def breaking_number(release: Release) -> str:
    """Return the number that says what the guard found; empty unless the release is held for it."""
    is_asked = any(question["code"] == guard.BREAKING_CHANGE for question in release.questions)
    is_held = release.state == State.HELD and is_asked and "guard" in release.notes
    return next_breaking(release.notes["guard"]["against"]) if is_held else ""


def publish_as_breaking(*, release: Release, viewer: Viewer) -> Release:
    """Publish the upload of a release that the guard holds under that number instead, and end the held one.

    Return the new release, which Larder checks like any other. All or nothing: raises Conflict if nothing is held or
    the number is taken.
    """
    reauthorising.authorise_again(viewer, release.namespace, only_name=release.name)
    number = breaking_number(release)
    if not number:
        raise Conflict(f"{release} is not held for breaking changes.", hint="Reload its page.")
    whole = Part(release.folder, address_of(release.namespace.name, release.name), number)
    try:
        with transaction.atomic():
            started = _reserve_part(release, whole, viewer, list(release.confirmed))
            publishing.cancel(release=release, viewer=viewer)
    except reserving.VersionTaken as taken:
        raise Conflict(f"{taken.taken_by} is already {taken.taken_by.state}.", hint="Choose another number.") from None
    return started


def _chosen(release: Release, folder: str) -> str:
    if not _needs_folder(release):
        return release.folder
    chosen = folder_names.clean_folders(folder.split("\n"))
    is_whole = bool(folder) and not chosen and release.notes.get("no_root")
    unknown = [one for one in chosen.split("\n") if one not in release.notes.get("folders", [])]
    if unknown and not is_whole:
        raise Invalid(
            f"found the folder {unknown[0] or '(none)'}, expected one that contains a module",
            hint="Choose one from the list.",
        )
    return chosen


def _needs_folder(release: Release) -> bool:
    return any(question["code"] == checking.CHOOSE_FOLDER for question in release.questions)


def _reserve_part(original: Release, part: Part, viewer: Viewer, confirmed: list[str]) -> Release:
    """A separate release that reads the bytes uploaded for the held one."""
    release = reserving.reserve(
        coordinate=publishing.authorise_coordinate(viewer, part.address, part.version),
        viewer=viewer,
        file_name=original.file_name,
        provenance=original.provenance,
        read_from=original,
        folder=folder_names.clean_folders(part.folder.split("\n")),
        asks=True,
        confirmed=confirmed,
        staging_key=original.staging_key,
    )
    assert original.uploaded_size is not None  # noqa: S101  # it was received
    receiving.accept(release=release, digest=original.uploaded_digest, size=original.uploaded_size, job=publishing.JOB)
    return release


def _record(release: Release, viewer: Viewer, confirmed: list[str]) -> None:
    viewer.record(
        Event.RELEASE_ANSWERED,
        subject=str(release),
        release=release.pk,
        confirmed=confirmed,
        folder=release.folder,
        **({"reason": release.breaking_reason} if release.breaking_reason else {}),
    )
