"""Fetch packages in advance: first a plan of versions, platforms and bytes, then one package after another.

A run records what it has done after each package, so that after a stop, or the death of its worker, another one
continues from there. Syncs fetch from sealed upstreams too.
"""

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.contrib.mirror.ahead import choosing
from apps.contrib.mirror.ahead.sync_requests import Request, Wanted, wanted
from apps.contrib.mirror.models import RunState, Schedule, SyncRun, UpstreamPackage, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.policy import evaluation
from apps.contrib.mirror.records import failures
from apps.contrib.mirror.records.failures import Row
from apps.contrib.mirror.serving.fetch_jobs import LIST, PACKAGE, SIZES, VERSION, run_now
from apps.jobs import queue
from apps.jobs.claims import Claim, Outage
from apps.jobs.models import Job
from apps.lib import versions
from apps.lib.errors import Conflict, Invalid, NotFound, RegistryError
from apps.lib.mirrored import HostedProvider

JOB = "sync-upstream"
MAX_PACKAGES = 5000
MAX_PROBLEMS = 200
TRIES = 3  # of one step: registries say for how long they want to be left alone
MAX_PAUSE = 60.0
KEPT = timedelta(days=90)
MAX_HOURS = 24 * 366
WORKING = (RunState.PLANNING, RunState.RUNNING)

log = structlog.get_logger("larder.upstream")

IsEnding = Callable[[], bool]


class Stopped(Exception):
    """Staff cancelled the run."""


# --- Verbs ------------------------------------------------------------------------------------------------------------


@transaction.atomic
def start(request: Request, *, viewer: Viewer, schedule: Schedule | None = None) -> SyncRun:
    """Have a worker plan it; what is confirmed is fetched after that. The caller has asked the gate."""
    run = SyncRun.objects.create(request=request.as_json(), schedule=schedule, created_by=viewer.user)
    queue.enqueue(JOB, target=run.pk, created_by_id=viewer.user_id)
    viewer.record(Kind.UPSTREAM_SYNCED, subject=str(request)[:300], run=run.pk, change="requested")
    return run


@transaction.atomic
def confirm(run: SyncRun, *, viewer: Viewer) -> None:
    """Fetch what was planned. Raises Conflict."""
    if not SyncRun.objects.filter(pk=run.pk, state=RunState.PLANNED).update(state=RunState.RUNNING):
        raise Conflict("This sync has no plan to confirm.", hint="Check its state, or start another one.")
    queue.enqueue(JOB, target=run.pk, created_by_id=viewer.user_id)
    subject = str(Request.from_json(run.request))[:300]
    viewer.record(Kind.UPSTREAM_SYNCED, subject=subject, run=run.pk, change="confirmed", packages=run.planned)
    run.refresh_from_db()


@transaction.atomic
def cancel(run: SyncRun, *, viewer: Viewer) -> None:
    """Stop before the next package. What was fetched stays. Raises Conflict."""
    working = SyncRun.objects.filter(pk=run.pk, state__in=[*WORKING, RunState.PLANNED])
    if not working.update(state=RunState.CANCELLED, ended_at=timezone.now()):
        raise Conflict("This sync has ended.")
    run.refresh_from_db()
    _record(run, by=viewer.user_id, state="cancelled")


@transaction.atomic
def repeat(request: Request, *, every_hours: int, viewer: Viewer) -> Schedule:
    """Sync again and again, for the first time now. Raises Invalid."""
    if not 1 <= every_hours <= MAX_HOURS:
        raise Invalid(f"Found {every_hours} hours between two syncs, expected 1 to {MAX_HOURS:,}.")
    schedule = Schedule.objects.create(
        request=request.as_json() | {"is_confirmed": True},
        every_hours=every_hours,
        next_at=timezone.now(),
        created_by=viewer.user,
    )
    viewer.record(Kind.UPSTREAM_SYNCED, subject=str(request)[:300], change="scheduled", every_hours=every_hours)
    return schedule


@transaction.atomic
def end_schedule(schedule: Schedule, *, viewer: Viewer) -> None:
    subject = str(Request.from_json(schedule.request))[:300]
    viewer.record(Kind.UPSTREAM_SYNCED, subject=subject, change="schedule ended", every_hours=schedule.every_hours)
    schedule.delete()


def start_due(*, now: datetime) -> int:
    """Start what its schedule asks for, unless its last run still works; return how many."""
    started = 0
    for schedule in Schedule.objects.filter(is_enabled=True, next_at__lte=now).order_by("next_at"):
        following = now + timedelta(hours=schedule.every_hours)
        with transaction.atomic():
            # Of two processes that see it, the second finds another time in it.
            mine = Schedule.objects.filter(pk=schedule.pk, next_at=schedule.next_at)
            if not mine.update(next_at=following) or schedule.runs.filter(state__in=WORKING).exists():
                continue
            start(Request.from_json(schedule.request), viewer=Viewer(schedule.created_by), schedule=schedule)
            started += 1
    return started


def prune(*, before: timedelta = KEPT) -> int:
    rows = SyncRun.objects.filter(created_at__lt=timezone.now() - before).exclude(state__in=WORKING)
    return rows.delete()[0]


def seconds_left(run: SyncRun, *, now: datetime) -> int | None:
    """Estimate the rest from what was fetched so far; None if nothing tells."""
    began = Job.objects.filter(kind=JOB, target=run.pk).order_by("-pk").values_list("created_at", flat=True).first()
    fetched = sum(not entry["is_stored"] for entry in run.plan[: run.done])
    left = sum(not entry["is_stored"] for entry in run.plan[run.done :])
    if run.state != RunState.RUNNING or began is None or not fetched:
        return None
    return round((now - began).total_seconds() / fetched * left)


# --- In a worker ------------------------------------------------------------------------------------------------------


def work(held: Claim, is_ending: IsEnding) -> None:
    """Plan, then fetch. Raises Outage when this process must end: another one continues."""
    run = SyncRun.objects.select_related("created_by").filter(pk=held.target, state__in=WORKING).first()
    if run is None:
        return
    if held.exhausted:
        _end(held, run, RunState.FAILED, "Each attempt failed with an internal error; see the log.")
        return
    try:
        if run.state == RunState.PLANNING:
            _plan(held, run, is_ending)
        if run.state == RunState.RUNNING:
            _fetch(held, run, is_ending)
    except Stopped:
        log.info("sync_cancelled", run=run.pk)
    except RegistryError as problem:
        _end(held, run, RunState.FAILED, f"{problem} {problem.hint}".strip())


def _plan(held: Claim, run: SyncRun, is_ending: IsEnding) -> None:
    request = Request.from_json(run.request)
    providers, problems = wanted(request)
    plan: dict[int, dict[str, Any]] = {}
    for one in providers:
        try:
            for version in _versions(one, is_ending):
                for package in _packages(one, version, request, problems, is_ending):
                    plan[package.pk] = _entry(package)
        except RegistryError as problem:
            said = f"{problem} {problem.hint}".strip()
            problems.append(said if said.startswith(str(one)) else f"{one}: {said}")
        if len(plan) > MAX_PACKAGES:
            raise Invalid(f"The plan has more than {MAX_PACKAGES:,} packages.", hint="Narrow it down, or split it.")
        _note(run, planned=len(plan))
    entries = list(plan.values())
    missing = [entry for entry in entries if not entry["is_stored"]]
    run.state = RunState.RUNNING if request.is_confirmed else RunState.PLANNED
    with transaction.atomic():
        held.guard()
        if not SyncRun.objects.filter(pk=run.pk, state=RunState.PLANNING).update(
            state=run.state,
            plan=entries,
            planned=len(entries),
            planned_bytes=sum(entry["size"] or 0 for entry in missing),
            problems=problems[:MAX_PROBLEMS],
        ):
            raise Stopped
    run.refresh_from_db()


def _fetch(held: Claim, run: SyncRun, is_ending: IsEnding) -> None:
    request = Request.from_json(run.request)
    for entry in run.plan[run.done :]:
        package = _fetched(run, entry, is_ending)
        with transaction.atomic():
            held.guard()
            run.done += 1
            if package is None or package.blob_id is None:
                run.problems = [*run.problems, _why(entry, package)][:MAX_PROBLEMS]
            else:
                run.done_bytes += 0 if entry["is_stored"] else package.size or 0
                if request.is_pinned:
                    UpstreamPackage.objects.filter(pk=package.pk).update(is_pinned=True)
            _note(run, done=run.done, done_bytes=run.done_bytes, problems=run.problems)
    _end(held, run, RunState.DONE)


def _fetched(run: SyncRun, entry: dict[str, Any], is_ending: IsEnding) -> UpstreamPackage | None:
    """The package after it was fetched, if it was; None if its record is gone."""
    rows = UpstreamPackage.objects.select_related("version__provider__upstream")
    package = rows.filter(pk=entry["package"]).first()
    if package is None or package.blob_id is not None:
        return package
    if evaluation.decide(package.version, now=timezone.now(), platform=package.platform).is_visible:
        _run(PACKAGE, package, is_ending, by=run.created_by_id)
    return rows.filter(pk=package.pk).first()


def _end(held: Claim, run: SyncRun, state: RunState, problem: str = "") -> None:
    problems = [*run.problems, problem] if problem else run.problems
    with transaction.atomic():
        held.guard()
        won = SyncRun.objects.filter(pk=run.pk, state__in=WORKING).update(
            state=state, problems=problems[-MAX_PROBLEMS:], ended_at=timezone.now()
        )
        if won:
            run.refresh_from_db()
            _record(run, by=run.created_by_id, state=str(state))


# --- What to fetch ----------------------------------------------------------------------------------------------------


def _versions(one: Wanted, is_ending: IsEnding) -> Iterator[UpstreamVersion]:
    """Those that policy lets through. Raises RegistryError."""
    provider, _ = UpstreamProvider.objects.get_or_create(upstream=one.upstream, namespace=one.namespace, type=one.type)
    _run(LIST, provider, is_ending)
    if provider.listed_at is None:
        raise failures.error_of(provider, str(one))
    decisions = evaluation.decisions(provider, now=timezone.now())
    visible = {version.version: version for version, decision in decisions.items() if decision.is_visible}
    hidden = {version.version: decision for version, decision in decisions.items() if not decision.is_visible}
    if one.every:
        chosen = [number for number in visible if one.constraints.allows(versions.parse(number))]
        if not chosen:
            raise Invalid(f"No version meets {str(one.constraints)!r}, or policy holds all of them back.")
    elif one.version in hidden:
        raise Invalid(hidden[one.version].sentence)
    else:
        named = HostedProvider(one.upstream.host, one.namespace, one.type)
        chosen = [choosing.choose(visible, one.constraints, locked=one.version, provider=named)]
    for number in chosen:
        version = UpstreamVersion.objects.select_related("provider__upstream").get(pk=visible[number].pk)
        if not version.verdict:
            _run(VERSION, version, is_ending)
        if not version.verdict:
            raise failures.error_of(version, f"{one} {number}")
        yield version


def _packages(
    one: Wanted, version: UpstreamVersion, request: Request, problems: list[str], is_ending: IsEnding
) -> Iterator[UpstreamPackage]:
    """The packages for the platforms of the request, with their sizes where the registry says them."""
    rows = {row.platform: row for row in version.packages.select_related("version__provider__upstream")}
    found = [platform for platform in request.platforms if platform in rows]
    if missing := [platform for platform in request.platforms if platform not in rows]:
        problems.append(f"{one} {version.version} has no package for {', '.join(missing)}.")
    if any(rows[platform].size is None for platform in found):
        _run(SIZES, version, is_ending)
        rows = {row.platform: row for row in version.packages.select_related("version__provider__upstream")}
    decisions = evaluation.platform_decisions(version, found, now=timezone.now())
    for platform in found:
        if decisions[platform].is_visible:
            yield rows[platform]
        else:
            problems.append(decisions[platform].sentence)


def _run(kind: str, row: Row, is_ending: IsEnding, *, by: int | None = None) -> None:
    """Do a fetch in this thread; wait and try again where the registry wants to be left alone for a moment.

    How it ended is in the row. Raises NotFound if that is gone.
    """
    for attempt in range(1, TRIES + 1):
        if is_ending():
            raise Outage("This worker is stopping; another one continues.")
        run_now(kind, row.pk, by=by)
        try:
            row.refresh_from_db()
        except type(row).DoesNotExist:
            raise NotFound("The record was removed in the meantime.") from None
        if not failures.is_paused(row) or row.retry_at is None or attempt == TRIES:
            return
        is_final = row.failure.get("is_refused") or row.failure.get("status") in failures.MISSING
        pause = (row.retry_at - timezone.now()).total_seconds()
        if is_final or pause > MAX_PAUSE:
            return
        _sleep(pause, is_ending)


def _sleep(seconds: float, is_ending: IsEnding) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not is_ending():
        time.sleep(0.2)


def _entry(package: UpstreamPackage) -> dict[str, Any]:
    version = package.version
    return {
        "package": package.pk,
        "provider": str(version.provider),
        "version": version.version,
        "platform": package.platform,
        "size": package.size,
        "is_stored": package.blob_id is not None,
    }


def _why(entry: dict[str, Any], package: UpstreamPackage | None) -> str:
    what = f"{entry['provider']} {entry['version']} {entry['platform']}"
    if package is None:
        return f"{what}: staff have replaced its record meanwhile."
    decision = evaluation.decide(package.version, now=timezone.now(), platform=package.platform)
    return str(failures.error_of(package, what)) if decision.is_visible else decision.sentence


def _note(run: SyncRun, **fields: Any) -> None:
    """Raises Stopped if staff cancelled it."""
    if not SyncRun.objects.filter(pk=run.pk, state__in=WORKING).update(**fields):
        raise Stopped


def _record(run: SyncRun, *, by: int | None, state: str) -> None:
    request = Request.from_json(run.request)
    record(
        Kind.UPSTREAM_SYNCED,
        actor_id=by,
        subject=str(request)[:300],
        run=run.pk,
        state=state,
        packages=run.done,
        bytes=run.done_bytes,
        problems=len(run.problems),
        is_pinned=request.is_pinned,
        platforms=list(request.platforms),
    )
