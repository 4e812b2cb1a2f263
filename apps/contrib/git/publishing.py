"""Make a release of one tag: fetch its commit, look at it, and hand its archive to the pipeline."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.contrib.git import (
    git_calls,
    locating,
    notifying,
    places,
    pushing,
    queueing,
    refusals,
    row_locks,
    syncing,
    verdicts,
)
from apps.contrib.git.locations_away import LocationFailed
from apps.contrib.git.models import MAX_CODE, MAX_REASON, GitRepository, Tag, Verdict
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.remote.checkouts import Commit
from apps.contrib.git.tag_matching import Decided
from apps.jobs import database_availability
from apps.jobs.claims import Claim, Outage
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Conflict, RegistryError, Unavailable
from apps.modules import publishing as module_publishing
from apps.releases.models import LIVE, Release, State
from apps.releases.models import Kind as ReleaseKind
from apps.releases.origin.models import Way
from apps.releases.origin.recording import Fetched
from apps.releases.publishing import reserving, staging, transitions
from apps.releases.publishing.fault_injection import fault_point

JOB = queueing.PUBLISH_JOB
# Fetches of one tag that may succeed later, such as one that took too long.
MAX_TRIES = 5
_WAITS = Q(verdict=Verdict.WAITING)
_GZIP = 16 + zlib.MAX_WBITS  # as zlib wants it

log = structlog.get_logger("larder.sources")


class _NotFetched(Exception):
    """The commit did not come; what is wrong may be the repository's, and not the tag's."""

    def __init__(self, failed: GitFailed, *, is_final: bool) -> None:
        super().__init__(str(failed))
        self.failed, self.is_final = failed, is_final


# The tag moved, or was deleted, since it was listed.
_LISTED_AGAIN = frozenset({"moved", "ref_gone"})
LIST_AGAIN_AFTER = timedelta(minutes=1)


class _Refused(Exception):
    """The tag is refused until a person changes it."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def work(claim: Claim, is_ending: Callable[[], bool]) -> None:
    """The target is a Tag. Safe to repeat after a kill at any step."""
    tag = Tag.objects.select_related("repository__namespace", "repository__user").filter(pk=claim.target).first()
    if tag is None:
        return
    if is_ending():
        raise Outage("This worker is stopping; another one continues.")
    try:
        if not _is_open(tag, tag.repository):
            return
        if claim.exhausted:
            raise _Refused("internal_error", "Larder could not publish the tag because of an internal error. Retry it.")
        release = _made_before(tag) or _publish(tag)
        fault_point("after:git-publish", tag)
        _link(claim, tag, release)
    except (_Refused, _NotFetched, Decided, GitFailed) as problem:
        _end_without_release(claim, tag, problem)
    except Unavailable as problem:
        Tag.objects.filter(pk=tag.pk, verdict=Verdict.WAITING).update(reason=_text(problem)[:MAX_REASON])
        raise Outage(str(problem)) from problem
    except RegistryError as problem:
        # Suspended meanwhile, its machine has no role: that is not the tag's fault, which goes on waiting.
        if _is_open(tag, GitRepository.objects.get(pk=tag.repository_id)):
            _write_refusal(claim, tag, _Refused(problem.code, _text(problem)))
    notifying.notify_refused(tag.repository_id)


def _is_open(tag: Tag, repository: GitRepository) -> bool:
    works = repository.ended_at is None and repository.suspended_at is None and repository.started_at is not None
    return works and tag.verdict == Verdict.WAITING


# --- What an earlier attempt has done ---------------------------------------------------------------------------------


def _made_before(tag: Tag) -> Release | None:
    """Return the release that an earlier attempt at this tag has made, or one from the same commit of the repository.

    A reservation that never got its bytes belongs to a worker that died, or to one that has lost its lease: it ends.
    """
    repository = tag.repository
    number = versions.parse(tag.version)
    rows = Release.objects.select_related("namespace", "origin").filter(
        kind=ReleaseKind.MODULE, namespace=repository.namespace, name=tag.module, sort_key=number.sort_key
    )
    place = places.of(repository)
    for release in rows.filter(origin__way=Way.GIT).order_by("-pk"):
        facts = release.origin.facts
        is_own = release.created_by_id == repository.user_id and place.is_of(tag, facts)
        if release.state == State.RECEIVING:
            if is_own:
                _end_reservation(release)
            continue
        is_live = (release.folder == tag.folder or not place.rules_name_folders) and release.state in LIVE
        # One that was refused counts, unless it never got its bytes: an attempt that died has given it up.
        is_refused = is_own and release.received_at is not None and release.created_at >= tag.changed_at
        if (is_live or is_refused) and place.is_from(tag, facts):
            return release
    return None


def _end_reservation(release: Release) -> None:
    try:
        transitions.reject(release, [reserving.SUPERSEDED], sources=[State.RECEIVING], actor_id=release.created_by_id)
    except transitions.Moved:
        raise Unavailable(f"{release} was received just now.") from None
    staging.discard(release)


# --- The commit -------------------------------------------------------------------------------------------------------


def _publish(tag: Tag) -> Release:
    """Raises _NotFetched, Decided, GitFailed, RegistryError and _Refused."""
    place = places.of(tag.repository)
    database_availability.release_connection()
    fault_point("before:git-fetch", tag)
    with ExitStack() as stack:
        try:
            source = place.pinned(tag)
            with place.fetching(source):
                commit = stack.enter_context(git_calls.fetched(tag.repository, source))
        except GitFailed as failed:
            raise _NotFetched(failed, is_final=place.is_over(failed)) from failed
        fault_point("after:git-fetch", tag)
        folder = source.folder or tag.folder
        if reasons := refusals.reasons_of(commit, folder, tag.repository.submodules):
            raise _Refused(reasons[0].code, verdicts.sentences(reasons))
        return _hand_over(tag, body_of(tag, folder, commit), locating.facts_of(tag, source, commit))


def _hand_over(tag: Tag, body: dict[str, Any], origin: Fetched) -> Release:
    repository = tag.repository
    name, _, system = tag.module.partition("/")
    address = ModuleAddress(repository.namespace.name, name, system)
    try:
        release, _ = module_publishing.publish(
            viewer=Viewer(repository.user), address=address, version=tag.version, fetched=origin, **body
        )
    except transitions.Moved as moved:
        raise Unavailable(str(moved), hint=moved.hint) from moved
    except Conflict:
        # Whoever uploads the same version at this moment may fail.
        number = versions.parse(tag.version)
        rows = Release.objects.filter(namespace=repository.namespace, name=tag.module, sort_key=number.sort_key)
        if rows.filter(kind=ReleaseKind.MODULE, state=State.RECEIVING).exists():
            raise Unavailable(f"{tag.version} is being uploaded by someone else right now.") from None
        raise
    return release


def body_of(tag: Tag, folder: str, commit: Commit) -> dict[str, Any]:
    """Return the archive as the pipeline and its dry run take it."""
    return {
        "file_name": f"{tag.module.partition('/')[0]}-{tag.version}.tar.gz",
        "folders": [folder] if folder else [],
        "open_body": lambda: _gzipped(commit.archive(folder)),
    }


def _gzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Without a time in its header, so that the same commit gives the same bytes."""
    compressor = zlib.compressobj(wbits=_GZIP)
    for chunk in chunks:
        if packed := compressor.compress(chunk):
            yield packed
    yield compressor.flush()


# --- What becomes of the tag ------------------------------------------------------------------------------------------


def _link(claim: Claim, tag: Tag, release: Release) -> None:
    changes = {
        "verdict": Verdict.PUBLISHED,
        "code": "",
        "reason": "",
        "release": release,
        "published_commit": tag.commit,
        "changed_at": timezone.now(),
    }
    # Even if it was deleted or disconnected meanwhile: the release is there, and a listing says the rest.
    _write(claim, tag, Q(published_commit=""), **changes)
    tag.release = release
    pushing.note(tag)  # whom a webhook has named since the release was made
    fault_point("after:git-link", tag)
    log.info("git_tag_published", repository=tag.repository_id, tag=tag.name, release_id=release.pk)


def _end_without_release(claim: Claim, tag: Tag, problem: _Refused | _NotFetched | Decided | GitFailed) -> None:
    if isinstance(problem, _Refused):
        _write_refusal(claim, tag, problem)
    elif isinstance(problem, Decided):
        _decide(claim, tag, problem)
    elif isinstance(problem, _NotFetched):
        _wait_or_refuse(claim, tag, problem.failed, is_final=problem.is_final)
    else:
        _wait_or_refuse(claim, tag, problem, is_final=problem.is_final)


def _decide(claim: Claim, tag: Tag, decided: Decided) -> None:
    """Policy holds it back, or it is another commit than it was."""
    text, now = str(decided)[:MAX_REASON], timezone.now()
    log.warning("git_tag_not_published", repository=tag.repository_id, tag=tag.name, code=decided.code, reason=text)
    changes = {"verdict": decided.verdict, "code": decided.code, "reason": text, "tries": 0, "changed_at": now}
    with transaction.atomic():
        if _write(claim, tag, _WAITS, **changes) and decided.verdict == Verdict.MOVED:
            _raise_alarm(tag, decided)


def _raise_alarm(tag: Tag, decided: Decided) -> None:
    """Of a version that was never published, in the caller's transaction."""
    record(
        Kind.GIT_TAG_MOVED,
        actor_id=None,
        subject=tag.repository.namespace.name,
        release=None,
        repository=tag.repository_id,
        tag=tag.name,
        known=tag.commit,
        found=decided.found,
        reason=f"{tag.name} of {tag.repository.url}: {decided}"[:500],
    )
    log.warning("git_tags_alarm", repository=tag.repository_id, kind=str(Kind.GIT_TAG_MOVED), tags=[tag.name])


def _write_refusal(claim: Claim, tag: Tag, refused: _Refused) -> None:
    text, code = str(refused)[:MAX_REASON], refused.code[:MAX_CODE]
    log.warning("git_tag_refused", repository=tag.repository_id, tag=tag.name, code=refused.code, reason=text)
    now = timezone.now()
    with transaction.atomic():
        if _write(claim, tag, _WAITS, verdict=Verdict.REFUSED, code=code, reason=text, changed_at=now):
            record(
                Kind.GIT_TAG_REFUSED,
                actor_id=tag.repository.user_id,
                subject=f"{tag.repository.namespace.name}/{tag.module} {tag.version}",
                repository=tag.repository_id,
                tag=tag.name,
                commit=tag.commit,
                code=refused.code,
                reason=text[:500],
            )


def _wait_or_refuse(claim: Claim, tag: Tag, failed: GitFailed, *, is_final: bool) -> None:
    """If it may succeed later, the next listing that succeeds queues it again."""
    text = f"{failed} {failed.hint}".strip()
    was_tried = not isinstance(failed, LocationFailed) or failed.was_asked
    if is_final or (was_tried and tag.tries + 1 >= MAX_TRIES):
        tried = "" if is_final else f" Tried {tag.tries + 1} times."
        _write_refusal(claim, tag, _Refused(failed.code, f"{text}{tried}"))
        return
    with transaction.atomic():
        claim.guard()
        row = row_locks.locked(tag.repository_id)
        waiting = Tag.objects.filter(pk=tag.pk, verdict=Verdict.WAITING)
        code = failed.code[:MAX_CODE]
        waiting.update(code=code, reason=text[:MAX_REASON], tries=max(1, tag.tries + was_tried))
        if failed.code in _LISTED_AGAIN:
            at = timezone.now() + LIST_AGAIN_AFTER
            GitRepository.objects.filter(pk=row.pk, next_at__gt=at).update(next_at=at)
        # Eight tags that fail at once are one failure of the server. Of a registry's module, each has its own.
        elif row.failed_at is None and not isinstance(failed, LocationFailed):
            syncing.note_failure(row, failed)
            GitRepository.objects.filter(pk=row.pk).update(next_at=timezone.now() + syncing.backoff(row))


def _write(claim: Claim, tag: Tag, which: Q, **changes: object) -> bool:
    """Change the row if it still fits; return whether it did."""
    with transaction.atomic():
        claim.guard()
        row_locks.locked(tag.repository_id)
        return bool(Tag.objects.filter(which, pk=tag.pk).update(**changes))


def _text(problem: RegistryError) -> str:
    return f"{problem} {problem.hint}".strip()
