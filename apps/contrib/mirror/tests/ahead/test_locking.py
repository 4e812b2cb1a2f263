"""Lock files of mirrored and own providers: which versions and hashes, with whose rights, and what is refused."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import NOBODY, Viewer
from apps.contrib.mirror.ahead import lock_requests, locking, run_threads
from apps.contrib.mirror.ahead.choosing import zip_hashes
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import Effect, LockRun, PolicyRule, RunState, Upstream, UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.records import trust
from apps.contrib.mirror.serving import fetch_jobs
from apps.contrib.mirror.tests.fetched import work
from apps.contrib.mirror.tests.locks import HOST, PLATFORMS, complete, entry, finish
from apps.jobs.models import Job
from apps.jobs.models import State as JobState
from apps.lib.errors import CredentialsRequired, Invalid, NotFound, RegistryError, Unavailable
from apps.lib.formats.lock_files import parse_lock
from tests.builders import faults
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
BLOCK = entry("tool", f"{HOST}/acme/tool")


@pytest.fixture
def tool(registry, upstream):
    return registry.add_provider(versions=["1.0.0", "1.1.0", "2.0.0"], platforms=[*PLATFORMS, "windows_amd64"])


def hashes(lock: str, scheme: str) -> set[str]:
    (locked,) = parse_lock(lock).providers.values()
    return {one for one in locked.hashes if one.startswith(scheme)}


@pytest.mark.both
def test_hashes_of_all_platforms_come_from_verified_bytes(tool, registry):
    lock = complete(block=BLOCK)
    rows = UpstreamPackage.objects.filter(h1__gt="")
    assert {row.platform for row in rows} == set(PLATFORMS)
    assert hashes(lock, "h1:") == {row.h1 for row in rows}
    # Of all lines that the key has signed, as clients record them, although one package was never fetched.
    assert hashes(lock, "zh:") == set(zip_hashes(tool.sums("2.0.0")))
    assert len(hashes(lock, "zh:")) == 3
    assert registry.count(tool.zip_path("2.0.0", "windows_amd64")) == 0


def test_sums_without_a_signature_prove_no_hash(tool, upstream, olga):
    """A registry that names no key: it is refused, and once staff allow that, only of bytes that were fetched."""
    tool.name_no_key()
    with pytest.raises(Refused, match="no key"):
        complete(block=BLOCK)
    trust.allow_unsigned(upstream, "acme", actor=Viewer(olga), reason="It is ours.")
    lock = complete(block=BLOCK, platforms=["linux_amd64"])
    (package,) = UpstreamPackage.objects.filter(h1__gt="")
    assert hashes(lock, "zh:") == {package.zh}
    assert hashes(lock, "h1:") == {package.h1}


@for_each_row("fault", [faults.wrong_bytes(), faults.truncated()], ids=["other bytes", "a cut body"])
def test_wrong_bytes_give_no_hash(tool, registry, fault):
    registry.misbehave(tool.zip_path("2.0.0", "darwin_arm64"), fault)
    with pytest.raises(RegistryError):
        complete(block=BLOCK)
    assert not UpstreamPackage.objects.filter(arch="arm64").exclude(h1="").exists()
    assert not LockRun.objects.exclude(lock="").exists()


def test_a_package_without_its_hash_is_never_written(tool, registry):
    lock = complete(block=BLOCK)
    UpstreamPackage.objects.update(blob=None)
    before = len(registry.requests)
    assert complete(block=BLOCK) == lock, "evicted packages keep their hashes"
    assert len(registry.requests) == before

    version = UpstreamVersion.objects.get(version="2.0.0")
    package = version.packages.get(arch="arm64")
    package.h1 = ""
    with pytest.raises(Unavailable):
        list(locking._verified(version, [package]))  # the last guard


@pytest.mark.both
def test_what_policy_hides_is_never_chosen(tool, upstream):
    UpstreamVersion.objects.all().delete()
    PolicyRule.objects.create(upstream=upstream, position=1, pattern="acme/*", effect=Effect.DENY, versions=">= 2.0")
    assert 'version = "1.1.0"' in complete(block=BLOCK)
    lock = f'provider "{HOST}/acme/tool" {{ version = "2.0.0" }}'
    with pytest.raises(Refused, match=r"Locked: .*2\.0\.0 is refused by rule 1"):
        complete(lock=lock)


def test_policy_holds_for_each_platform(tool, upstream):
    PolicyRule.objects.create(
        upstream=upstream, position=1, pattern="*", effect=Effect.DENY, platforms=["darwin_arm64"], reason="No Macs"
    )
    with pytest.raises(Refused, match=r"darwin_arm64: .*No Macs"):
        complete(block=BLOCK)
    complete(block=BLOCK, platforms=["linux_amd64"])


def test_a_young_version_is_named_with_its_date(tool, upstream):
    complete(block=BLOCK)
    tool.versions.append("3.0.0")
    UpstreamVersion.objects.update(first_seen_at=timezone.now() - timedelta(days=6))
    Upstream.objects.update(cooldown_days=5, list_seconds=0)
    assert 'version = "2.0.0"' in complete(block=BLOCK)
    lock = f'provider "{HOST}/acme/tool" {{ version = "3.0.0" }}'
    with pytest.raises(Refused, match="held back until"):
        complete(lock=lock)


def test_a_sealed_upstream_gives_what_is_stored_and_no_more(tool, upstream, registry):
    lock = complete(block=BLOCK, platforms=["linux_amd64"])
    Upstream.objects.update(is_sealed=True)
    before = len(registry.requests)
    assert complete(block=BLOCK, platforms=["linux_amd64"]) == lock
    with pytest.raises(Refused, match="not stored"):
        complete(block=BLOCK)
    with pytest.raises(NotFound, match="not stored"):
        complete(block=entry("other", f"{HOST}/acme/other"))
    assert len(registry.requests) == before
    assert not Job.objects.filter(state=JobState.QUEUED, kind__in=fetch_jobs.KINDS).exists()


def test_visibility_and_terms_hold(tool, upstream, bob):
    Upstream.objects.update(visibility="internal")
    with pytest.raises(CredentialsRequired):
        complete(block=BLOCK)
    complete(block=BLOCK, viewer=Viewer(bob))
    Upstream.objects.update(visibility="private")
    with pytest.raises(NotFound, match="mirrors no providers"):
        complete(block=BLOCK, viewer=Viewer(bob))
    Upstream.objects.update(visibility="public", terraform_only=True)
    with pytest.raises(Refused, match="only for Terraform"):
        complete(block=BLOCK)
    assert '"terraform init"' in complete(block=BLOCK, client="terraform")
    Upstream.objects.update(is_enabled=False)
    with pytest.raises(CredentialsRequired):
        complete(block=BLOCK)


def test_all_problems_are_told_at_once_and_a_missing_platform_with_those_there_are(tool):
    block = "\n".join([BLOCK, entry("a", f"{HOST}/acme/none"), entry("b", f"{HOST}/acme/gone")])
    with pytest.raises(Invalid) as refused:
        complete(block=block)
    assert "acme/none" in str(refused.value)
    assert "acme/gone" in str(refused.value)
    with pytest.raises(NotFound, match="no package for plan9_386") as missing:
        complete(block=BLOCK, platforms=["plan9_386", "linux_amd64"])
    assert "windows_amd64" in missing.value.hint


def test_the_number_of_providers_and_platforms_is_limited():
    many = "\n".join(entry(f"a{number}", f"{HOST}/acme/a{number}") for number in range(lock_requests.MAX_PROVIDERS + 1))
    with pytest.raises(Invalid, match="expected at most 100"):
        lock_requests.read(required_providers=many, platforms=PLATFORMS)
    with pytest.raises(Invalid, match="expected at most 16"):
        lock_requests.read(required_providers=BLOCK, platforms=[f"linux_a{number}" for number in range(17)])
    for wrong in ("linux", "linux_amd64_x", "linux/amd64", "", "Linux_amd64", "../x_y"):
        with pytest.raises(Invalid, match="operating system"):
            lock_requests.read(required_providers=BLOCK, platforms=[wrong])
    with pytest.raises(Invalid, match="No platform"):
        lock_requests.read(required_providers=BLOCK, platforms=[])
    with pytest.raises(Invalid, match="neither"):
        lock_requests.read(lock=" \n", platforms=PLATFORMS)


@pytest.mark.slow
@for_each_row(
    ("kinds", "platforms"),
    [
        ([f"tool{number}" for number in range(12)], PLATFORMS),
        (
            ["tool"],
            [f"{os}_{arch}" for os in ("linux", "freebsd", "windows") for arch in ("amd64", "arm64", "386", "arm")],
        ),
    ],
    ids=["many providers", "many platforms"],
)
def test_only_so_many_fetches_begin_at_once(registry, upstream, kinds, platforms):
    for kind in kinds:
        registry.add_provider(kind=kind, platforms=platforms)
    block = "\n".join(entry(kind, f"{HOST}/acme/{kind}") for kind in kinds)
    request = lock_requests.read(required_providers=block, platforms=platforms)
    since = timezone.now() - timedelta(minutes=1)
    while (progress := locking.look(request, {}, by=None, since=since)).waiting:
        assert len(progress.waiting) <= locking.MAX_AT_ONCE
        fetches = Job.objects.filter(state=JobState.QUEUED, kind__startswith="fetch-")
        assert fetches.count() <= locking.MAX_AT_ONCE
        work()
    assert progress.done == len(kinds) * len(platforms)
    assert len(progress.found) == len(kinds)


# --- Runs ---


def begun(block: str = BLOCK, viewer: Viewer = NOBODY) -> LockRun:
    found = locking.lock(lock_requests.read(required_providers=block, platforms=PLATFORMS), viewer=viewer, client="")
    assert isinstance(found, LockRun)
    return found


def job_of(run: LockRun) -> Job:
    return Job.objects.filter(kind=locking.JOB, target=run.pk).latest("pk")


def test_a_run_completes_the_file_and_goes_on_in_another_worker(tool, monkeypatch):
    run = begun()
    assert (run.state, run.planned, run.done) == (RunState.RUNNING, 2, 0)
    with monkeypatch.context() as patch:
        patch.setattr(run_threads.threads, "is_ending", lambda: True)  # its process must end
        run_threads.run_here(job_of(run).pk)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    assert job_of(run).state == JobState.QUEUED

    Job.objects.filter(pk=job_of(run).pk).update(not_before=None)
    finish(monkeypatch)
    run.refresh_from_db()
    assert (run.state, run.done, run.problem) == (RunState.DONE, 2, "")
    assert run.lock == complete(block=BLOCK)
    assert job_of(run).state == JobState.SUCCEEDED


def test_a_run_ends_with_what_is_wrong(tool, registry, monkeypatch):
    registry.misbehave(tool.zip_path("2.0.0", "linux_amd64"), faults.says(404))
    run = begun()
    finish(monkeypatch)
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert "linux_amd64 was not found" in run.problem
    assert run.lock == ""


@pytest.mark.both
def test_a_run_is_only_for_who_asked_and_for_a_day(tool, alice, bob):
    run = begun(viewer=Viewer(alice))
    assert locking.run_for(Viewer(alice), run.public_id) == run
    with pytest.raises(NotFound):
        locking.run_for(Viewer(bob), run.public_id)
    with pytest.raises(CredentialsRequired):
        locking.run_for(NOBODY, run.public_id)
    assert locking.run_for(Viewer(bob), begun().public_id) != run
    LockRun.objects.update(created_at=timezone.now() - timedelta(hours=25))
    job = job_of(run)
    locking.prune()
    assert not LockRun.objects.exists()
    run_threads.run_here(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED, "there is nothing left to do"
