"""Tell what would happen to an archive if it were published: the same checks, by the same children, and nothing is
stored.
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from threading import BoundedSemaphore
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction

from apps.accounts.access import gate, slots
from apps.accounts.access.gate import Viewer
from apps.accounts.models import BreakingChanges, Namespace, Role
from apps.blobs import store
from apps.jobs import database_availability
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.archives.sandboxed import Refusal
from apps.lib.digests import counted
from apps.lib.errors import Invalid, Reason, Unavailable
from apps.modules import checking, publishing
from apps.modules.comparing import guard
from apps.releases.models import Kind, Release, State
from apps.releases.publishing import quotas
from apps.releases.publishing.pipeline import Questions

WOULD_PUBLISH, WOULD_ASK, WOULD_REJECT = "would_publish", "would_ask", "would_reject"
STATES = (WOULD_PUBLISH, WOULD_ASK, WOULD_REJECT)
# The children run beside this process, so few at a time; the next one waits as long as a busy worker would take.
AT_ONCE = 2
WAIT_SECONDS = 20

_places = BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True, slots=True)
class Forecast:
    """`comparison` is None if there is no earlier version, or if nothing of the archive could be read."""

    state: str
    reasons: list[Reason] = field(default_factory=list)
    comparison: guard.GuardResult | None = None
    notes: dict[str, Any] = field(default_factory=dict)


class Staged(NamedTuple):
    key: str
    size: int  # bytes
    digest: str


def forecast(
    *,
    viewer: Viewer,
    address: ModuleAddress,
    version: str,
    file_name: str,
    folders: Sequence[str],
    confirm: Collection[str],
    reason: str,
    open_body: Callable[[], Iterable[bytes]],
    staged: Staged | None = None,
) -> Forecast:
    """For those who may publish it, by a token of any scope: a pull request's pipeline needs none that publishes.

    Raises as `publishing.publish` does for the address, the rights and the size. Reads the body after that, unless it
    is `staged`, from the `resume` of an earlier NoSlot.
    """
    namespace = _authorise(viewer, address)
    publishing.check_address(namespace, address)
    number = versions.parse(version)
    folder, confirmed = publishing.choice_of(folders, confirm)
    key, size, digest = staged = staged or _stage(open_body)
    what = f"{address} {number.text}"
    upload = checking.Upload(what, digest, f"{key}.zip", file_name=file_name, folder=folder, confirmed=confirmed)
    is_over = True
    try:
        with slots.slot_of(viewer):
            found, notes, refused = _examined(key, upload)
    except slots.NoSlot as busy:
        is_over, busy.resume = busy.turn is None, staged
        raise
    finally:
        if is_over:
            _discard(key)
    # A script is refused where a person would be asked.
    reasons = [*_taken(namespace, address, number, digest), *_full(namespace, size), *refused, *_asked(found)]
    comparison = _compared(namespace, address, number, found)
    reason = guard.clean_reason(reason)
    guarded = guard.check(comparison, namespace.breaking_changes, confirmed=confirmed, reason=reason)
    return _forecast(namespace, refused=reasons, asked=[], guarded=guarded, comparison=comparison, notes=notes)


def forecast_fetched(
    *,
    namespace: Namespace,
    address: ModuleAddress,
    version: str,
    file_name: str,
    folders: Sequence[str],
    open_body: Callable[[], Iterable[bytes]],
) -> Forecast:
    """For a worker, of what Larder fetched itself: the release would be held on every question.

    Not whether the number is free, nor whether its publisher may publish. Raises Unavailable.
    """
    number = versions.parse(version)
    folder, _ = publishing.choice_of(folders, ())
    key, size, digest = _stage(open_body)
    what = f"{address} {number.text}"
    upload = checking.Upload(what, digest, f"{key}.zip", file_name=file_name, folder=folder, interactive=True)
    try:
        found, notes, refused = _examined(key, upload)
        asked = _asked(found)
    except Questions as questions:
        found, notes, refused, asked = None, {}, [], questions.reasons
    finally:
        _discard(key)
    comparison = _compared(namespace, address, number, found)
    guarded = guard.check(comparison, namespace.breaking_changes, confirmed=(), reason="")
    refused = [*_full(namespace, size), *refused]
    return _forecast(namespace, refused=refused, asked=asked, guarded=guarded, comparison=comparison, notes=notes)


def _compared(
    namespace: Namespace, address: ModuleAddress, number: versions.Version, found: checking.Examined | None
) -> guard.GuardResult | None:
    if found is None or not found.inspected.was_read:
        return None
    return guard.compare_with_current(namespace, address.path_name, number.text, found.inspected.document)


def _forecast(
    namespace: Namespace,
    *,
    refused: list[Reason],
    asked: list[Reason],
    guarded: list[Reason],
    comparison: guard.GuardResult | None,
    notes: dict[str, Any],
) -> Forecast:
    """`guarded`: what the version guard has to say, which the namespace refuses or asks about."""
    is_refused = bool(refused or (guarded and namespace.breaking_changes != BreakingChanges.ASK))
    state = WOULD_REJECT if is_refused else WOULD_ASK if asked or guarded else WOULD_PUBLISH
    return Forecast(state, [*refused, *asked, *guarded], comparison, notes)


def _stage(open_body: Callable[[], Iterable[bytes]]) -> Staged:
    key = uuid.uuid4().hex
    limit, setting = settings.MODULE_ARCHIVE_MAX_BYTES, publishing.LIMIT_SETTING
    try:
        staged = store.stage(key, counted(open_body(), limit=limit, what="The archive", setting=setting))
        if staged.size == 0:
            raise Invalid("The upload is empty.", hint="Send the archive itself as the body of the request.")
    except BaseException:
        _discard(key)
        raise
    return Staged(key, staged.size, staged.digest)


def _discard(key: str) -> None:
    store.discard_staged(key)
    store.discard_staged(f"{key}.zip")


def _authorise(viewer: Viewer, address: ModuleAddress) -> Namespace:
    """The token must cover the namespace; its person must be a publisher there."""
    gate.namespace_for(viewer, address.namespace, only_name=address.path_name)
    return gate.namespace_for(Viewer(viewer.user), address.namespace, need=Role.PUBLISHER, only_name=address.path_name)


def _examined(key: str, upload: checking.Upload) -> tuple[checking.Examined | None, dict[str, Any], list[Reason]]:
    """Examine the archive; return the content, the notes, and the reasons for which every release would be refused.
    Raises Questions.
    """
    notes: dict[str, Any] = {}
    database_availability.release_connection()
    if not _places.acquire(timeout=WAIT_SECONDS):
        raise Unavailable("Too many dry runs in progress.", hint="Send the same request again.", retry_after=5)
    try:
        with store.open_staged(key) as archive:
            found = checking.examine(archive, upload, notes)
    except Refusal as refusal:
        return None, notes, refusal.reasons
    finally:
        _places.release()
    return found, notes, []


def _asked(found: checking.Examined | None) -> list[Reason]:
    return found.questions if found is not None else []


def _taken(namespace: Namespace, address: ModuleAddress, number: versions.Version, digest: str) -> list[Reason]:
    """Return the reason if another release has the number with other bytes, else none."""
    rows = Release.objects.live().filter(
        kind=Kind.MODULE, namespace=namespace, name=address.path_name, sort_key=number.sort_key
    )
    other = rows.select_related("namespace").first()
    if other is None or (other.state != State.PURGED and other.uploaded_digest == digest):
        return []
    found = f"{other} was removed" if other.state == State.PURGED else f"{other} is {other.state} with other bytes"
    return [
        Reason(
            code="version_taken",
            found=found,
            expected="an unused version number",
            hint="A published version never changes: choose the next number.",
        )
    ]


def _full(namespace: Namespace, size: int) -> list[Reason]:
    try:
        with transaction.atomic():
            quotas.check(namespace, more_bytes=size, more_versions=1)
    except quotas.QuotaFull as full:
        return [Reason("quota_full", str(full).rstrip("."), "room for one more version", full.hint)]
    return []
