"""Complete lock files: the same bytes as `providers lock` of clients writes, for own and mirrored providers.

Hashes come from bytes that Larder has verified, and from signed SHA256SUMS. What was never fetched is fetched by the
jobs of `on_demand.py`; a run looks again until all of it is there.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.accounts.access import throttling
from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.ahead import choosing, lock_entries
from apps.contrib.mirror.ahead.choosing import LockedVersion
from apps.contrib.mirror.ahead.lock_requests import Request
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import LockRun, RunState, Upstream, UpstreamPackage, UpstreamVersion, Verdict
from apps.contrib.mirror.policy import evaluation
from apps.contrib.mirror.records import storage
from apps.contrib.mirror.serving import on_demand
from apps.jobs import queue, waiting
from apps.jobs.claims import Claim, Outage
from apps.jobs.waiting import NotYet, Waiting
from apps.lib.errors import Invalid, NotFound, RegistryError, Unavailable, UnknownOrPrivate
from apps.lib.formats import lock_files
from apps.lib.formats.lock_files import Client, LockedProvider, LockFile, written
from apps.lib.mirrored import HostedProvider
from apps.lib.net import hostnames

JOB = "lock-providers"
MAX_AT_ONCE = 8  # fetches of one run
MAX_SECONDS = 30 * 60
LOOK_SECONDS = 0.3
KEPT = timedelta(days=1)
MAX_PROBLEM_CHARACTERS = 4000
_EXCEPTIONS = "An operator can allow one version, with a reason."
SIGNED = (Verdict.PINNED, Verdict.FIRST_SEEN)

log = structlog.get_logger("larder.upstream")


@dataclass(slots=True)
class Progress:
    """One look at all providers. `found` has those that are complete."""

    found: dict[HostedProvider, LockedVersion] = field(default_factory=dict)
    problems: dict[HostedProvider, RegistryError] = field(default_factory=dict)
    waiting: list[Waiting] = field(default_factory=list)
    done: int = 0  # packages


def is_own(provider: HostedProvider) -> bool:
    return hostnames.is_one_of(provider.host, (settings.PUBLIC_HOST, *settings.HOSTNAMES))


# --- In the request ---------------------------------------------------------------------------------------------------


def lock(request: Request, *, viewer: Viewer, client: str) -> LockFile | LockRun:
    """The finished file, or a run where something must be fetched first. `client`: its address, for rate limits.

    Raises RegistryError, which names all problems.
    """
    own_found = own_versions(request, viewer)
    attempt = throttling.Attempt()
    if len(own_found) < len(request.required):
        attempt.count(throttling.by_account("fetch", viewer.user_id, client))
    done = at_once(request, own_found, by=viewer.user_id, since=timezone.now())
    if done is None:
        return start(request, own_found, viewer=viewer)
    attempt.give_back()
    return done


def own_versions(request: Request, viewer: Viewer) -> dict[HostedProvider, LockedVersion]:
    """Those of this registry, with the rights of the viewer. Raises RegistryError, and of several problems all."""
    found: dict[HostedProvider, LockedVersion] = {}
    problems: dict[HostedProvider, RegistryError] = {}
    for provider in _sorted(request.required):
        try:
            if not is_own(provider):
                _upstream_for(viewer, provider, request.locks.client)
            else:
                found[provider] = lock_entries.hashes_of(
                    viewer,
                    provider,
                    constraints=request.required[provider],
                    locked=request.locked_version(provider),
                    platforms=request.platforms,
                )
        except RegistryError as problem:
            problems[provider] = problem
    raise_for(problems)
    return found


def at_once(
    request: Request, own_found: Mapping[HostedProvider, LockedVersion], *, by: int | None, since: datetime
) -> LockFile | None:
    """The finished file if nothing must be fetched; otherwise fetches have begun. Raises RegistryError."""
    progress = look(request, own_found, by=by, since=since)
    if progress.waiting:
        return None
    raise_for(progress.problems)
    return finished(request, progress.found)


@transaction.atomic
def start(request: Request, own_found: Mapping[HostedProvider, LockedVersion], *, viewer: Viewer) -> LockRun:
    """Leave it to a worker."""
    run = LockRun.objects.create(
        request=request.as_json(),
        own=[_as_json(provider, version) for provider, version in own_found.items()],
        state=RunState.RUNNING,
        planned=request.packages,
        created_by=viewer.user,
    )
    queue.enqueue(JOB, target=run.pk, created_by_id=viewer.user_id)
    return run


def ended_run(request: Request, lock: LockFile, *, viewer: Viewer) -> LockRun:
    """The row of a lock that needed no worker, for its page."""
    return LockRun.objects.create(
        request=request.as_json(),
        state=RunState.DONE,
        planned=request.packages,
        done=request.packages,
        lock=str(lock),
        created_by=viewer.user,
        ended_at=timezone.now(),
    )


def run_for(viewer: Viewer, public_id: UUID | str) -> LockRun:
    """Return the run of this viewer; one that was started without an account belongs to everyone who knows its
    number.
    """
    with suppress(ValueError):
        public_id = UUID(str(public_id))
    run = LockRun.objects.filter(public_id=public_id).first() if isinstance(public_id, UUID) else None
    if run is None or run.created_by_id not in (None, viewer.user_id):
        if not viewer.is_identified:
            raise UnknownOrPrivate
        raise NotFound("There is no such lock.", hint="Finished lock files are kept for one day.")
    return run


def _upstream_for(viewer: Viewer | None, provider: HostedProvider, client: Client) -> Upstream:
    """The registry whose mirrored providers the viewer may read; None: that was asked before."""
    upstream = upstreams.enabled(provider.host)
    if upstream is None or not (viewer is None or upstreams.sees(viewer, upstream)):
        if viewer is not None and not viewer.is_identified:
            raise UnknownOrPrivate
        raise NotFound(
            f"Larder mirrors no providers of {provider.host}, which {written(provider)} needs.",
            hint="Ask an operator to mirror that registry, or lock this provider with the client itself.",
        )
    if upstream.terraform_only and client is not Client.TERRAFORM:
        raise Refused(
            f"Providers of {provider.host} are only for Terraform, by its terms, and this lock file is OpenTofu's.",
            hint='Say that the client is "terraform", or use another registry.',
        )
    return upstream


# --- One look ---------------------------------------------------------------------------------------------------------


class _Enough(Exception):
    """So many fetches have begun that the rest waits."""


def look(
    request: Request, own_found: Mapping[HostedProvider, LockedVersion], *, by: int | None, since: datetime
) -> Progress:
    """Collect what is verified and stored, and begin to fetch the rest, at most MAX_AT_ONCE at a time.

    A list that was read `since` is fresh enough, however short an upstream repeats its lists.
    """
    progress = Progress(dict(own_found), done=len(own_found) * len(request.platforms))
    for provider in _sorted(request.required):
        if provider in progress.found:
            continue
        try:
            progress.found[provider] = _mirrored(request, provider, progress, by, since)
        except NotYet as later:
            progress.waiting.append(later.waiting)
        except _Enough:
            pass
        except RegistryError as problem:
            progress.problems[provider] = problem
        if len(progress.waiting) >= MAX_AT_ONCE:
            break
    return progress


def finished(request: Request, found: Mapping[HostedProvider, LockedVersion]) -> LockFile:
    """The lock file: hashes that it had before of the same version are kept, others are added."""
    providers = dict(request.locks.providers)
    for provider, version in found.items():
        before = providers.get(provider)
        kept = before.hashes if before is not None else frozenset()
        providers[provider] = LockedProvider(version.version, request.required[provider], kept.union(version.hashes))
    return replace(request.locks, providers=providers)


def raise_for(problems: Mapping[HostedProvider, RegistryError]) -> None:
    """The problem itself if there is one, one error about all of them if there are more."""
    if len(problems) == 1:
        raise next(iter(problems.values()))
    if problems:
        raise Invalid(_problem_text(problems))


def _mirrored(
    request: Request, provider: HostedProvider, progress: Progress, by: int | None, since: datetime
) -> LockedVersion:
    """Raises NotYet, or _Enough where `progress.waiting` has what it waits for."""
    until = time.monotonic() + MAX_SECONDS
    upstream = _upstream_for(None, provider, request.locks.client)
    row = on_demand.provider_with_list(upstream, provider.namespace, provider.type, by=by, until=until, since=since)
    decisions = evaluation.decisions(row, now=timezone.now())
    locked = request.locked_version(provider)
    by_number = {version.version: version for version in decisions}
    if locked in by_number and not (decision := decisions[by_number[locked]]).is_visible:
        raise Refused(f"Locked: {decision.sentence}", hint=_EXCEPTIONS)
    offered = [version.version for version, decision in decisions.items() if decision.is_visible]
    chosen = by_number[choosing.choose(offered, request.required[provider], locked=locked, provider=provider)]
    version = UpstreamVersion.objects.select_related("provider__upstream").get(pk=chosen.pk)
    version = on_demand.version_with_record(version, by=by, until=until, since=since)
    fetch = partial(on_demand.package_with_bytes, by=by, until=until, since=since)
    return _hashes_of(version, _wanted_packages(request, provider, version), progress, fetch)


def _hashes_of(
    version: UpstreamVersion,
    wanted: Sequence[UpstreamPackage],
    progress: Progress,
    fetch: Callable[[UpstreamPackage], UpstreamPackage],
) -> LockedVersion:
    verified: list[UpstreamPackage] = []
    for package in wanted:
        if package.h1:  # its bytes were verified, and may be evicted since
            verified.append(package)
            continue
        if len(progress.waiting) >= MAX_AT_ONCE:
            break
        try:
            verified.append(fetch(package))
        except NotYet as later:
            progress.waiting.append(later.waiting)
    progress.done += len(verified)
    if len(verified) < len(wanted):
        raise _Enough
    return LockedVersion(version.version, tuple(_verified(version, verified)))


def _wanted_packages(request: Request, provider: HostedProvider, version: UpstreamVersion) -> list[UpstreamPackage]:
    """One for each platform. Raises NotFound, or Refused for what clients would not get either."""
    rows = version.packages.select_related("version__provider__upstream")
    packages = {package.platform: package for package in rows}
    if missing := [platform for platform in request.platforms if platform not in packages]:
        raise NotFound(
            f"{written(provider)} {version.version} has no package for {', '.join(missing)}.",
            hint=f"It has {', '.join(sorted(packages)) or 'none'}.",
        )
    for platform, decision in evaluation.platform_decisions(version, request.platforms, now=timezone.now()).items():
        if not decision.is_visible:
            raise Refused(f"{platform}: {decision.sentence}", hint=_EXCEPTIONS)
    wanted = [packages[platform] for platform in request.platforms]
    quarantined = storage.quarantined([package.digest for package in wanted])
    for package in wanted:
        if package.digest in quarantined:
            storage.refuse_quarantined(package)
    return wanted


def _verified(version: UpstreamVersion, packages: Iterable[UpstreamPackage]) -> Iterable[str]:
    """Of stored packages both hashes, and those of all lines of sums that a key has signed: others prove nothing."""
    for package in packages:
        if not package.h1:
            raise Unavailable(f"{package} is not verified.", hint="Try again in a moment.")
        yield package.h1
        yield package.zh
    if version.verdict in SIGNED:
        yield from choosing.zip_hashes(bytes(version.sums))


# --- In a worker ------------------------------------------------------------------------------------------------------


def work(held: Claim, is_ending: Callable[[], bool]) -> None:
    """Look until the file is complete. Raises Outage when this process must end: another one continues."""
    run = LockRun.objects.filter(pk=held.target, state=RunState.RUNNING).first()
    if run is None:
        return
    if held.exhausted:
        _end(held, run, problem="Larder could not complete it: each attempt failed with an internal error.")
        return
    request = Request.from_json(run.request)
    own_found = dict(_from_json(one) for one in run.own)
    while True:
        progress = look(request, own_found, by=run.created_by_id, since=run.created_at)
        if not progress.waiting:
            break
        LockRun.objects.filter(pk=run.pk).exclude(done=progress.done).update(done=progress.done)
        if timezone.now() - run.created_at > timedelta(seconds=MAX_SECONDS):
            _end(held, run, problem=f"It took longer than {MAX_SECONDS // 60} minutes. Fetched packages are kept.")
            return
        _wait(progress.waiting, is_ending)
    if progress.problems:
        _end(held, run, problem=_problem_text(progress.problems))
    else:
        _end(held, run, lock=str(finished(request, progress.found)))


def _wait(for_what: Sequence[Waiting], is_ending: Callable[[], bool]) -> None:
    until = min(one.until for one in for_what)
    while not waiting.with_news(for_what) and time.monotonic() < until:
        if is_ending():
            raise Outage("This worker is stopping; another one continues.")
        time.sleep(LOOK_SECONDS)


def _end(held: Claim, run: LockRun, *, lock: str = "", problem: str = "") -> None:
    with transaction.atomic():
        held.guard()
        LockRun.objects.filter(pk=run.pk, state=RunState.RUNNING).update(
            state=RunState.FAILED if problem else RunState.DONE,
            lock=lock,
            problem=problem[:MAX_PROBLEM_CHARACTERS],
            done=run.done if problem else run.planned,
            tries=F("tries") + 1,
            ended_at=timezone.now(),
        )
    log.info("lock_ended", run=run.pk, is_done=not problem)


def prune(*, before: timedelta = KEPT) -> int:
    """Delete answers after a day."""
    return LockRun.objects.filter(created_at__lt=timezone.now() - before).delete()[0]


# --- Words ------------------------------------------------------------------------------------------------------------


def _problem_text(problems: Mapping[HostedProvider, RegistryError]) -> str:
    return "\n".join(f"{error} {error.hint}".strip() for error in dict.fromkeys(problems.values()))


def _sorted(providers: Iterable[HostedProvider]) -> list[HostedProvider]:
    return sorted(providers, key=lambda one: (one.host, one.namespace, one.type))


def _as_json(provider: HostedProvider, version: LockedVersion) -> dict[str, Any]:
    return {"address": written(provider), "version": version.version, "hashes": list(version.hashes)}


def _from_json(data: Mapping[str, Any]) -> tuple[HostedProvider, LockedVersion]:
    provider = lock_files.parse_source(data["address"], default_host="")
    return provider, LockedVersion(data["version"], tuple(data["hashes"]))
