"""Fetching in advance: what is planned, fetched, pinned and recorded, and how it continues after a stop."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import NOBODY, Viewer
from apps.audit.models import AuditEvent
from apps.contrib.mirror.ahead import run_threads, sync_requests, syncing
from apps.contrib.mirror.models import Effect, PolicyRule, RunState, Schedule, SyncRun, Upstream, UpstreamPackage
from apps.contrib.mirror.serving import fetch_jobs
from apps.contrib.mirror.tests.fetched import without_pauses
from apps.contrib.mirror.tests.locks import HOST, PLATFORMS, complete, entry
from apps.jobs.models import Job
from apps.lib.errors import Conflict, Invalid
from tests.builders import faults
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
ADDRESS = f"{HOST}/acme/tool"


@pytest.fixture
def tool(registry, upstream):
    return registry.add_provider(
        versions=["1.0.0", "1.1.0", "2.0.0", "3.0.0-rc1"], platforms=[*PLATFORMS, "windows_amd64"], size=1000
    )


def asked(*patterns, platforms=PLATFORMS, **more):
    return sync_requests.read(patterns=patterns, platforms=platforms, **more)


def work(run: SyncRun) -> SyncRun:
    job = Job.objects.filter(kind=syncing.JOB, target=run.pk).latest("pk")
    assert run_threads.run_here(job.pk)
    run.refresh_from_db()
    return run


def synced(*patterns, viewer=NOBODY, **more) -> SyncRun:
    run = work(syncing.start(asked(*patterns, **more), viewer=viewer))
    assert run.state == RunState.PLANNED, run.problems
    syncing.confirm(run, viewer=viewer)
    return work(run)


def stored() -> set[str]:
    rows = UpstreamPackage.objects.filter(blob__isnull=False).select_related("version__provider")
    return {f"{row.version.provider.type} {row.version.version} {row.platform}" for row in rows}


@pytest.mark.both
def test_first_a_plan_then_the_packages(tool, registry, upstream, olga):
    run = work(syncing.start(asked(ADDRESS), viewer=Viewer(olga)))
    assert (run.state, run.planned, run.done) == (RunState.PLANNED, 2, 0)
    sizes = [len(tool.zip("2.0.0", platform)) for platform in PLATFORMS]
    assert run.planned_bytes == sum(sizes)
    assert {(one["provider"], one["version"], one["platform"]) for one in run.plan} == {
        (ADDRESS, "2.0.0", platform) for platform in PLATFORMS
    }
    assert stored() == set()
    # Sizes come from HEAD: no zip was read.
    zips = [one for one in registry.requests if one.path.endswith(".zip")]
    assert {one.method for one in zips} == {"HEAD"}

    syncing.confirm(run, viewer=Viewer(olga))
    work(run)
    assert (run.state, run.done, run.done_bytes, run.problems) == (RunState.DONE, 2, sum(sizes), [])
    assert stored() == {f"tool 2.0.0 {platform}" for platform in PLATFORMS}
    requested, confirmed, event = AuditEvent.objects.filter(kind="operation:upstream:synced").order_by("pk")
    assert {one.actor_id for one in (requested, confirmed, event)} == {olga.pk}
    assert (requested.detail["change"], confirmed.detail["change"]) == ("requested", "confirmed")
    assert (event.detail["packages"], event.detail["state"]) == (2, "done")
    assert UpstreamPackage.objects.filter(fetched_by=olga).count() == 2
    with pytest.raises(Conflict):
        syncing.confirm(run, viewer=Viewer(olga))


@pytest.mark.slow
def test_patterns_choose_versions_and_known_providers(tool, registry, upstream):
    registry.add_provider(kind="other", versions=["1.0.0", "1.5.0"], platforms=PLATFORMS)
    registry.add_provider(namespace="hall", versions=["7.0.0"], platforms=PLATFORMS)
    one = ("linux_amd64",)
    assert synced(f"{ADDRESS}@>= 1.1", platforms=one).planned == 2
    assert stored() == {"tool 1.1.0 linux_amd64", "tool 2.0.0 linux_amd64"}
    # With one upstream its host may be left out.
    assert synced("acme/other", platforms=one).planned == 1
    assert synced("hall/tool", platforms=one).planned == 1
    # A wildcard matches what is known by now.
    run = synced("acme/*@1.0.0", platforms=one)
    assert {entry["provider"] for entry in run.plan} == {ADDRESS, f"{HOST}/acme/other"}
    assert {entry["version"] for entry in run.plan} == {"1.0.0"}
    assert synced(f"{HOST}/*/*", platforms=one).planned == 3
    # A pre-release only where it is named.
    assert synced(f"{ADDRESS}@3.0.0-rc1", platforms=one).planned == 1


def test_a_plan_says_what_matches_nothing_and_has_a_limit(tool, upstream, monkeypatch):
    run = work(syncing.start(asked("hashicorp/*", "other.example/a/b"), viewer=NOBODY))
    assert (run.state, run.planned) == (RunState.PLANNED, 0)
    assert "Registries cannot be listed" in run.problems[0]
    assert "other.example is not an enabled upstream" in run.problems[1]
    Upstream.objects.create(host="second.example", is_enabled=True)
    run = work(syncing.start(asked("acme/tool"), viewer=NOBODY))
    assert "name its host" in run.problems[0]

    monkeypatch.setattr(syncing, "MAX_PACKAGES", 3)
    run = work(syncing.start(asked(f"{ADDRESS}@>= 1.0"), viewer=NOBODY))
    assert run.state == RunState.FAILED
    assert "more than 3 packages" in run.problems[-1]


def test_lock_files_and_blocks_name_versions(tool, registry, upstream, settings):
    registry.add_provider(kind="other", versions=["1.0.0", "1.5.0"], platforms=PLATFORMS)
    lock = complete(block=entry("tool", ADDRESS, "1.0.0"), platforms=["windows_amd64"])
    block = f"{entry('other', f'{HOST}/acme/other', '< 1.5')}\n{entry('own', f'{settings.PUBLIC_HOST}/acme/dns')}"
    run = synced(lock=lock, required_providers=block)
    assert run.problems == []  # of our own there is nothing to fetch
    assert {(one["provider"], one["version"]) for one in run.plan} == {
        (ADDRESS, "1.0.0"),
        (f"{HOST}/acme/other", "1.0.0"),
    }


def test_it_fetches_what_policy_lets_through(tool, upstream):
    PolicyRule.objects.create(upstream=upstream, position=1, pattern="*", effect=Effect.DENY, versions=">= 2.0")
    run = synced(ADDRESS)
    assert {entry["version"] for entry in run.plan} == {"1.1.0"}
    lock = f'provider "{ADDRESS}" {{ version = "2.0.0" }}'
    run = work(syncing.start(asked(lock=lock), viewer=NOBODY))
    assert run.planned == 0
    assert "refused by rule 1" in run.problems[0]
    # A rule that comes between plan and fetch holds too.
    PolicyRule.objects.all().delete()
    run = work(syncing.start(asked(f"{ADDRESS}@2.0.0"), viewer=NOBODY))
    PolicyRule.objects.create(upstream=upstream, position=1, pattern="*", effect=Effect.DENY)
    syncing.confirm(run, viewer=NOBODY)
    work(run)
    assert not any("2.0.0" in one for one in stored())
    assert "refused by rule 1" in run.problems[0]


def test_a_sealed_upstream_is_synced_and_pinned_and_fetches_nothing_else(tool, upstream, registry):
    Upstream.objects.update(is_sealed=True)
    run = synced(ADDRESS, is_pinned=True, platforms=["linux_amd64"])
    assert (run.state, run.done, run.problems) == (RunState.DONE, 1, [])
    rows = UpstreamPackage.objects.filter(blob__isnull=False)
    assert {(row.arch, row.is_pinned) for row in rows} == {("amd64", True)}
    assert not UpstreamPackage.objects.filter(arch="arm64", is_pinned=True).exists()
    before = len(registry.requests)
    assert 'version = "2.0.0"' in complete(block=entry("tool", ADDRESS), platforms=["linux_amd64"])
    assert len(registry.requests) == before


def test_a_short_pause_of_the_registry_is_waited_for_then_it_is_a_problem_and_the_rest_comes(
    tool, registry, upstream, monkeypatch
):
    slept: list[float] = []

    def sleep(seconds, _):
        slept.append(seconds)
        without_pauses()

    monkeypatch.setattr(syncing, "_sleep", sleep)
    registry.misbehave(tool.list_path, faults.says(404), times=1)
    run = work(syncing.start(asked(ADDRESS), viewer=NOBODY))
    assert run.planned == 0  # 404 is an answer
    assert not slept
    without_pauses()
    registry.misbehave(tool.zip_path("2.0.0"), faults.truncated())
    run = synced(ADDRESS)
    assert len(slept) == syncing.TRIES - 1
    assert len(run.problems) == 1
    assert "linux_amd64" in run.problems[0]
    assert run.state == RunState.DONE
    assert stored() == {"tool 2.0.0 darwin_arm64"}


@pytest.mark.both
def test_another_worker_goes_on_where_one_stopped(tool, registry, upstream, monkeypatch):
    run = work(syncing.start(asked(f"{ADDRESS}@>= 1.0"), viewer=NOBODY))
    assert run.planned == 6
    syncing.confirm(run, viewer=NOBODY)
    fetched: list[int] = []
    real = fetch_jobs.run_now

    def dies(kind, pk, *, by=None):
        if len(fetched) == 2:
            raise KeyboardInterrupt
        fetched.append(pk)
        real(kind, pk, by=by)

    monkeypatch.setattr(syncing, "run_now", dies)
    with pytest.raises(KeyboardInterrupt):
        work(run)
    run.refresh_from_db()
    assert (run.state, run.done) == (RunState.RUNNING, 2)
    monkeypatch.setattr(syncing, "run_now", real)
    Job.objects.update(not_before=None)
    before = len(registry.requests)
    work(run)
    assert (run.state, run.done) == (RunState.DONE, 6)
    assert len(stored()) == 6
    assert sum(one.path.endswith(".zip") and one.method == "GET" for one in registry.requests[before:]) == 4


@pytest.mark.both
def test_staff_cancel_it(tool, upstream, monkeypatch):
    run = work(syncing.start(asked(f"{ADDRESS}@>= 1.0"), viewer=NOBODY))
    syncing.confirm(run, viewer=NOBODY)
    real = fetch_jobs.run_now

    def cancelled(kind, pk, *, by=None):
        real(kind, pk, by=by)
        syncing.cancel(SyncRun.objects.get(), viewer=NOBODY)

    monkeypatch.setattr(syncing, "run_now", cancelled)
    work(run)
    assert (run.state, run.done) == (RunState.CANCELLED, 0)
    assert len(stored()) == 1
    with pytest.raises(Conflict):
        syncing.cancel(run, viewer=NOBODY)


@pytest.mark.both
def test_a_schedule_starts_again_and_again(tool, upstream, olga):
    schedule = syncing.repeat(asked(ADDRESS), every_hours=6, viewer=Viewer(olga))
    now = timezone.now()
    assert syncing.start_due(now=now) == 1
    assert syncing.start_due(now=now) == 0
    run = work(SyncRun.objects.get())
    assert (run.state, run.done, run.schedule) == (RunState.DONE, 2, schedule)
    tool.versions.append("2.1.0")
    Upstream.objects.update(list_seconds=0)
    assert syncing.start_due(now=now + timedelta(hours=5)) == 0
    assert syncing.start_due(now=now + timedelta(hours=7)) == 1
    work(SyncRun.objects.latest("pk"))
    assert "tool 2.1.0 linux_amd64" in stored()
    # While one works there is no second one.
    assert syncing.start_due(now=now + timedelta(hours=14)) == 1
    assert syncing.start_due(now=now + timedelta(hours=21)) == 0
    syncing.end_schedule(Schedule.objects.get(), viewer=Viewer(olga))
    assert syncing.start_due(now=now + timedelta(hours=28)) == 0
    with pytest.raises(Invalid):
        syncing.repeat(asked(ADDRESS), every_hours=0, viewer=Viewer(olga))


@for_each_row("pattern", ["tool", "a/b/c/d", "acme/to_ol", "acme/tool@latest", "acme/", "/tool", "a b/c", "x/(a+)+"])
def test_it_refuses_other_patterns(pattern):
    assert asked("acme/tool@"), "every release"
    with pytest.raises(Invalid):
        asked(pattern)


def test_the_rest_of_a_sync_is_estimated_by_what_was_fetched(db):
    entries = [{"package": number, "is_stored": number < 3} for number in range(11)]
    run = SyncRun.objects.create(request={}, state=RunState.RUNNING, plan=entries, planned=11, done=5)
    began = Job.objects.create(kind=syncing.JOB, target=run.pk).created_at
    now = began + timedelta(seconds=30)

    assert syncing.seconds_left(run, now=now) == 90, "six are left, and two took 30 seconds: three were stored before"
    run.done = 3
    assert syncing.seconds_left(run, now=now) is None
    run.done, run.state = 5, RunState.DONE
    assert syncing.seconds_left(run, now=now) is None
