"""Blobs are read again in turn; findings stay on their rows until they are repaired. On both backends."""

import itertools
from datetime import timedelta
from types import SimpleNamespace

import pytest
import structlog

from apps.blobs import store
from apps.blobs.backends.objects import ObjectBackend
from apps.blobs.care import scrub
from apps.blobs.models import Blob, Problem, State
from apps.blobs.tasks import scrub as task
from registry_site.celery import app
from tests.blobs.conftest import on_disk
from tests.postgres import free_port
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def kept(data: bytes) -> Blob:
    staged = store.stage("one", [data])
    blob = store.store_staged("one", digest=staged.digest, size=staged.size)
    store.discard_staged("one")
    return blob


def key_of(blob: Blob) -> str:
    return f"sha256/{blob.digest[:2]}/{blob.digest}"


def problems() -> list[str]:
    return list(Blob.objects.order_by("pk").values_list("problem", flat=True))


def figures(report: scrub.Report) -> tuple[int, int, int, int]:
    return report.checked, report.missing, report.damaged, report.healed


@pytest.fixture
def three(backend) -> list[Blob]:
    return [kept(b"%d" % number * 1000) for number in range(3)]


@pytest.fixture
def read_of(backend, monkeypatch):
    """Have something happen at each read; returns the digests that are read."""

    def install(happens=lambda _digest: None) -> list[str]:
        seen: list[str] = []
        real = type(backend).read

        def read(self, key, start, stop):
            digest = key.rpartition("/")[2]
            seen.append(digest)
            happens(digest)
            return real(self, key, start, stop)

        monkeypatch.setattr(type(backend), "read", read)
        return seen

    return install


def test_what_is_whole_is_known_to_be_and_what_is_not_there_is_found(three, backend, tomorrow):
    report = scrub.scrub(now=tomorrow)
    assert figures(report) == (3, 0, 0, 0)
    assert (report.bytes, report.is_complete, report.outage) == (3000, True, "")
    assert set(Blob.objects.values_list("checked_at", "problem")) == {(tomorrow, "")}

    backend.delete(key_of(three[2]))
    assert figures(scrub.scrub(now=tomorrow + HOUR)) == (3, 1, 0, 0)
    assert problems() == ["", "", Problem.MISSING]


@for_each_row("damage", [b"1" * 999 + b"2", b"1" * 999, b"1" * 1001, b""], ids=["flip", "cut", "long", "empty"])
def test_damage_is_found_named_and_kept_on_the_row(three, backend, tomorrow, damage):
    backend.write(key_of(three[1]), [damage])
    with structlog.testing.capture_logs() as logged:
        report = scrub.scrub(now=tomorrow)

    assert figures(report) == (3, 0, 1, 0)
    assert problems() == ["", Problem.DAMAGED, ""]
    warned = [entry for entry in logged if entry["log_level"] == "warning"]
    assert [(entry["digest"], entry["problem"]) for entry in warned] == [(three[1].digest, "damaged")]
    assert logged[-1]["event"] == "storage_scrubbed"


def test_a_finding_heals_and_what_has_one_is_read_first(three, backend, tomorrow, read_of):
    backend.delete(key_of(three[1]))
    backend.write(key_of(three[2]), [b"?"])
    scrub.scrub(now=tomorrow)
    backend.write(key_of(three[1]), [b"1" * 1000])
    backend.write(key_of(three[2]), [b"2" * 1000])
    seen = read_of()

    assert figures(scrub.scrub(now=tomorrow + HOUR)) == (3, 0, 0, 2)
    assert problems() == ["", "", ""]
    assert seen == [three[number].digest for number in (1, 2, 0)]


def test_an_outage_is_no_finding(three, backend, tomorrow, settings, tmp_path):
    (tmp_path / "in the way").write_bytes(b"no folder")
    settings.STORAGE_URL = f"file://{tmp_path / 'in the way'}"
    if isinstance(backend, ObjectBackend):
        settings.STORAGE_URL = f"s3://larder?endpoint=http://127.0.0.1:{free_port()}&region=us-east-1"
    report = scrub.scrub(now=tomorrow)

    assert (figures(report), report.is_complete) == ((0, 0, 0, 0), False)
    assert "storage" in report.outage.lower() or "disk" in report.outage
    assert set(Blob.objects.values_list("checked_at", "problem")) == {(None, "")}


@on_disk
def test_one_blob_that_cannot_be_read_does_not_stop_the_others(three, tomorrow, read_of):
    def refuses(digest: str) -> None:
        if digest == three[0].digest:
            raise store.StorageUnavailable("a bad sector")

    read_of(refuses)
    with structlog.testing.capture_logs() as logged:
        report = scrub.scrub(now=tomorrow)

    assert (figures(report), report.unread) == ((2, 0, 0, 0), 1)
    assert [entry["digest"] for entry in logged if entry["event"] == "blob_not_read"] == [three[0].digest]
    assert problems() == ["", "", ""]


@on_disk
def test_storage_that_refuses_every_blob_is_away(backend, tomorrow, read_of):
    for number in range(5):
        kept(b"%d" % number)

    def refuses(_digest: str) -> None:
        raise store.StorageUnavailable("no")

    seen = read_of(refuses)
    report = scrub.scrub(now=tomorrow)

    assert (len(seen), report.is_complete, report.outage) == (scrub.MAX_UNREAD, False, "no")
    assert problems() == [""] * 5


@on_disk
def test_what_is_removed_meanwhile_is_no_finding(three, tomorrow, read_of):
    seen = read_of(lambda digest: store.remove(digest) if digest == three[1].digest else None)

    assert figures(scrub.scrub(now=tomorrow)) == (2, 0, 0, 0)
    assert len(seen) == 3
    assert problems() == ["", ""]


@on_disk
def test_what_somebody_is_removing_is_no_finding(three, backend, tomorrow, read_of):
    def half_removed(digest: str) -> None:
        Blob.objects.filter(digest=digest).update(state=State.DELETING)
        backend.delete(key_of(Blob(digest=digest)))

    read_of(half_removed)

    assert figures(scrub.scrub(now=tomorrow)) == (0, 0, 0, 0)
    assert problems() == ["", "", ""]


@on_disk
def test_what_is_not_ready_is_not_looked_at_and_nothing_without_any_time(three, tomorrow, read_of):
    seen = read_of()
    report = scrub.scrub(now=tomorrow, most=timedelta(0))
    assert (figures(report), report.is_complete) == ((0, 0, 0, 0), False)
    for state in (State.PENDING, State.DELETING):
        Blob.objects.update(state=state)
        assert figures(scrub.scrub(now=tomorrow)) == (0, 0, 0, 0), state

    assert seen == []


@pytest.mark.both
@on_disk
def test_a_run_goes_on_where_the_last_one_stopped(backend, tomorrow, read_of, monkeypatch):
    digests = [kept(b"%d" % number).digest for number in range(5)]
    monkeypatch.setattr(scrub, "BATCH_SIZE", 2)
    monkeypatch.setattr(scrub, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    seen = read_of()
    reports = [scrub.scrub(now=tomorrow + number * HOUR, most=timedelta(seconds=9)) for number in range(2)]

    assert [report.is_complete for report in reports] == [False] * 2
    # One run has time for some of them: nobody is read twice before everybody was read once.
    assert seen[:5] == digests
    assert seen[5:] == digests[: len(seen) - 5]
    assert len(seen) == sum(report.checked for report in reports) > 5 > reports[0].checked


def test_a_blob_that_takes_too_long_leaves_the_others_their_turn(backend, tomorrow, monkeypatch):
    large = kept(bytes(4 * 1024 * 1024))  # five steps
    kept(b"small")
    monkeypatch.setattr(scrub, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    first = scrub.scrub(now=tomorrow, most=timedelta(seconds=4))
    second = scrub.scrub(now=tomorrow + HOUR, most=timedelta(seconds=4))

    assert (first.checked, first.unread) == (0, 1)
    assert second.checked == 1
    assert Blob.objects.get(pk=large.pk).problem == ""


@pytest.mark.both
@on_disk
def test_two_runs_at_once_do_no_harm(three, backend, tomorrow, read_of):
    backend.delete(key_of(three[0]))
    others = iter([tomorrow + HOUR])

    def meets(_digest: str) -> None:
        for now in others:
            scrub.scrub(now=now)

    read_of(meets)
    report = scrub.scrub(now=tomorrow)

    assert (report.missing, report.damaged) == (1, 0)
    assert problems() == [Problem.MISSING, "", ""]


@on_disk
def test_the_beat_runs_it_below_the_time_that_a_task_has(three):
    assert [entry["task"] for entry in app.conf.beat_schedule.values()].count("blobs.scrub") == 1
    assert 2 * scrub.MAX_DURATION.total_seconds() < app.conf.task_soft_time_limit
    task()

    assert Blob.objects.filter(checked_at=None).count() == 0
