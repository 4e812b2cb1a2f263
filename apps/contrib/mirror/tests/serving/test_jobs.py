"""The jobs: one for many askers, in threads of the worker, taken up again where a worker dies."""

import time
from dataclasses import replace
from datetime import timedelta
from threading import Event

import pytest
from django.conf import settings as site
from django.utils import timezone

from apps.blobs import ingest
from apps.contrib.mirror import tasks
from apps.contrib.mirror.models import Upstream, UpstreamPackage, UpstreamProvider
from apps.contrib.mirror.records import lists
from apps.contrib.mirror.serving import fetch_jobs, on_demand
from apps.contrib.mirror.tests import fetched
from apps.jobs import queue, targets
from apps.jobs.models import Job, State
from apps.jobs.waiting import NotYet
from apps.lib.errors import Unavailable
from registry_site.celery import app
from tests.builders import faults, misbehaving
from tests.threads import at_once

SOON = 20.0


def until(condition) -> None:
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def asking(package: UpstreamPackage):
    """A client's request, which waits."""
    try:
        return on_demand.package_with_bytes(package, by=None, until=time.monotonic() + SOON)
    except NotYet as waits:
        return waits


def wants(upstream: Upstream, name: str = "tool", namespace: str = "acme") -> None:
    """A client's request for a list, which waits."""
    with pytest.raises(NotYet):
        on_demand.provider_with_list(upstream, namespace, name, by=None, until=time.monotonic() + SOON)


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_100_clients_at_once_cause_one_job_and_one_download(upstream, registry, monkeypatch):
    tool = registry.add_provider()
    package = fetched.package(upstream)
    # Nobody sees the job of another one: the constraint alone decides.
    monkeypatch.setattr(fetch_jobs, "_is_queued", lambda *_: False)
    answers = []
    for _ in range(10):
        answers += at_once(*[lambda: asking(package)] * 10)
    assert all(isinstance(one, NotYet) for one in answers)
    assert fetched.jobs(fetch_jobs.PACKAGE) == 1
    at_once(*[fetched.work] * 4)
    assert registry.count(tool.zip_path("1.0.0")) == 1
    assert fetched.reread(package).blob is not None
    assert not any(one.waiting.states_of([package.pk])[package.pk] in one.waiting.states for one in answers)


def test_a_job_that_comes_after_the_bytes_downloads_nothing_and_one_of_a_row_that_is_gone_ends(upstream, registry):
    tool = registry.add_provider()
    package = fetched.stored(upstream)
    queue.enqueue(fetch_jobs.PACKAGE, target=package.pk, created_by_id=None)
    before = package.tries
    fetched.work()
    assert registry.count(tool.zip_path("1.0.0")) == 1
    assert fetched.reread(package).tries > before

    gone = queue.enqueue(fetch_jobs.LIST, target=987_654, created_by_id=None)
    fetched.work()
    assert Job.objects.get(pk=gone.pk).state == State.SUCCEEDED


def test_an_error_of_our_own_is_retried_then_given_up_with_a_clear_answer(upstream, registry, monkeypatch):
    registry.add_provider()
    monkeypatch.setattr("apps.contrib.mirror.serving.fetch_jobs.lists.refresh", lambda *_: 1 / 0)
    wants(upstream)
    for _ in range(site.JOB_ATTEMPTS + 1):
        fetched.due_again()
        fetched.work()
    assert Job.objects.get().state == State.FAILED
    with pytest.raises(Unavailable, match="internal error"):
        on_demand.provider_with_list(upstream, "acme", "tool", by=None, until=time.monotonic() + SOON)


def test_a_request_without_time_left_is_told_to_try_again(upstream, registry):
    registry.add_provider()
    with pytest.raises(Unavailable, match="still being fetched"):
        on_demand.provider_with_list(upstream, "acme", "tool", by=None, until=time.monotonic() - 1)
    assert fetched.jobs(fetch_jobs.LIST) == 1
    fetched.work()
    assert fetched.listed(upstream).listed_at is not None


@pytest.mark.both
def test_a_worker_that_lost_its_lease_writes_nothing(upstream, registry, monkeypatch):
    registry.add_provider()
    package = fetched.package(upstream)
    truth = ingest.mark_ready

    def slept(blob):
        Job.objects.filter(kind=fetch_jobs.PACKAGE).update(fence=99)
        truth(blob)

    monkeypatch.setattr(ingest, "mark_ready", slept)
    with pytest.raises(NotYet):
        on_demand.package_with_bytes(package, by=None, until=time.monotonic() + SOON)
    fetched.work()
    assert fetched.reread(package).blob is None


def test_nothing_is_asked_of_a_registry_that_was_switched_off_meanwhile(upstream, registry):
    registry.add_provider()
    wants(upstream)
    Upstream.objects.update(is_enabled=False)
    fetched.work()
    assert registry.requests == []
    assert UpstreamProvider.objects.get().failure["rule"] == "is_enabled"


@pytest.fixture
def threads():
    made = fetch_jobs.threads_for(fetch_jobs.run_job)
    yield made
    made.finish(SOON)


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_a_registry_that_hangs_takes_its_share_of_the_threads_and_others_go_on(upstream, registry, threads):
    registry.misbehave("/v1/providers/*", faults.hangs())
    most = site.UPSTREAM.connections
    for number in range(most + 2):
        registry.add_provider("slow", f"tool{number}")
        wants(upstream, f"tool{number}", "slow")
    with misbehaving.running() as good:
        good.add_provider()
        other = Upstream.objects.create(host="other.acme.example", url=good.url, is_enabled=True)
        wants(other, "tool")
        threads.wake()
        until(lambda: UpstreamProvider.objects.get(upstream=other).listed_at is not None)
        until(lambda: threads.busy() == most)
        # A thread that has begun may not have claimed its job yet.
        until(lambda: Job.objects.filter(state=State.QUEUED).count() == 2)
    registry.behave()
    registry.stop()  # what hangs ends
    until(lambda: not Job.objects.filter(state__in=[State.QUEUED, State.RUNNING]).exists())


@pytest.mark.django_db(transaction=True)
def test_what_found_no_thread_is_started_when_one_is_free(upstream, registry, settings):
    settings.UPSTREAM = replace(settings.UPSTREAM, connections=1)
    gate, done = Event(), []

    def run(job_id: int) -> None:
        gate.wait(SOON)
        done.append(job_id)
        Job.objects.filter(pk=job_id).update(state=State.SUCCEEDED)

    threads = fetch_jobs.threads_for(run)
    for number in range(3):
        wants(upstream, f"tool{number}")
    threads.wake()
    assert threads.busy() == 1
    gate.set()
    until(lambda: len(done) == 3)
    threads.finish(SOON)
    assert done == sorted(done)


@pytest.mark.django_db(transaction=True)
def test_a_process_that_ends_finishes_what_runs_and_starts_nothing_more(upstream, registry):
    started, gate, done = Event(), Event(), []

    def run(job_id: int) -> None:
        started.set()
        gate.wait(SOON)
        done.append(job_id)

    threads = fetch_jobs.threads_for(run)
    first = queue.enqueue(fetch_jobs.LIST, target=1, created_by_id=None)
    threads.wake()
    assert started.wait(SOON)
    queue.enqueue(fetch_jobs.LIST, target=2, created_by_id=None)
    gate.set()
    threads.finish(SOON)
    threads.wake()
    assert (done, threads.busy()) == ([first.pk], 0)


def test_each_kind_has_its_task_on_the_queue_for_other_registries_and_a_ring_wakes_the_threads(monkeypatch):
    for kind in fetch_jobs.KINDS:
        assert kind in app.tasks
        assert app.amqp.router.route({}, kind)["queue"].name == "upstream"

    woken = []
    for threads in (fetch_jobs.threads, fetch_jobs.package_threads):
        monkeypatch.setattr(threads, "wake", lambda: woken.append(1))
    for ring in (tasks.fetch_list, tasks.fetch_version, tasks.fetch_package, tasks.fetch_sizes):
        ring(job_id=1)
    assert len(woken) == 4


@pytest.mark.both
def test_operators_find_a_job_by_host_and_address(upstream, registry):
    registry.add_provider()
    fetched.stored(upstream)
    host = upstream.host
    for word, count in ((host, 3), (f"{host}/acme", 3), (f"{host}/acme/tool", 3), (f"{host}/acme/other", 0)):
        assert Job.objects.filter(targets.matching(word)).count() == count
    [shown] = targets.attach(Job.objects.filter(kind=fetch_jobs.VERSION))
    assert str(shown) == f"fetch-upstream-version {host}/acme/tool 1.0.0"


def test_made_up_names_do_not_stay(upstream, registry):
    registry.add_provider()
    fetched.listed(upstream)
    for name in ("nothing", "neither"):
        with pytest.raises(Exception, match="not found"):
            fetched.listed(upstream, f"acme/{name}")
    old = timezone.now() - timedelta(days=2)
    UpstreamProvider.objects.update(created_at=old)
    UpstreamProvider.objects.filter(type="nothing").update(tried_at=old)
    assert lists.prune_unknown() == 1
    assert sorted(UpstreamProvider.objects.values_list("type", flat=True)) == ["neither", "tool"]


def test_the_sizes_of_all_packages_give_the_digests_of_the_oci_mirror(upstream, registry):
    tool = registry.add_provider(platforms=["linux_amd64", "darwin_arm64"])
    version = fetched.recorded(upstream)
    assert not version.index_digest
    packages = fetched.ask(on_demand.package_sizes, version)
    assert [one.size for one in packages] == [len(tool.zip("1.0.0", one.platform)) for one in packages]
    assert all(one.manifest_digest.startswith("sha256:") for one in packages)
    known = fetched.reread(version).index_digest
    assert known.startswith("sha256:")
    assert registry.count("*.zip") == 2, "asked for its size alone"
    fetched.stored(upstream)
    assert fetched.reread(version).index_digest == known
