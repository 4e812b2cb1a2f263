"""Downloads: counted in memory, added up in the database by any number of processes at once."""

import threading
from datetime import UTC, date, datetime

import pytest
import time_machine
from django.db import OperationalError, connection

from apps.accounts.models import User
from apps.releases.catalogue import download_figures as figures
from apps.releases.catalogue import downloads, indexing
from apps.releases.catalogue.downloads import DownloadBuffer, client_of
from apps.releases.catalogue.indexing import Entry
from apps.releases.models import DownloadCount, Fetch, Release, SearchDoc
from tests.builders.outages import database_away
from tests.portal.rows import add_module
from tests.rows import for_each_row

__all__ = ["database_away"]

TOFU, TERRAFORM = "OpenTofu 1.12.6", "Terraform 1.11.4"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def releases(acme) -> list[Release]:
    add_module(acme, "vpc/aws", "1.0.0", "1.1.0")
    rows = list(Release.objects.order_by("pk"))
    indexing.put(release=rows[1], entry=Entry("", words={}), is_listed=True)
    return rows


@pytest.fixture
def notes() -> DownloadBuffer:
    return DownloadBuffer()


def counts() -> dict[tuple[str, str], int]:
    rows = DownloadCount.objects.order_by("release__version", "client").select_related("release")
    return {(row.release.version, row.client): row.count for row in rows}


@for_each_row(
    ("user_agent", "client"),
    [
        ("OpenTofu/1.12.6", TOFU),
        ("Terraform/1.11.4", TERRAFORM),
        ("HashiCorp Terraform/1.11.4 (+https://www.terraform.io)", TERRAFORM),
        ("OpenTofu/1.12.6 our-pipeline/7", TOFU),
        ("OpenTofu/1.13.0-dev", "OpenTofu 1.13.0"),
        ("OpenTofu/1.12", "OpenTofu 1.12"),
        ("OpenTofu/", "other"),
        ("OpenTofu/x", "other"),
        ("OpenTofu/1", "other"),
        ("OpenTofu/1.2.3.4.5", "other"),
        ("OpenTofu/12345.1.1", "other"),
        ("OpenTofu/1.٣.0", "other"),
        ("MyOpenTofu/1.12.6", "other"),
        ("opentofu/1.12.6", "other"),
        ("curl/7.88.1", "other"),
        ("", "other"),
    ],
)
def test_a_client_is_its_name_and_numbers(user_agent, client):
    assert client_of(user_agent) == client
    assert len(client) <= 40


@pytest.mark.both
def test_it_adds_up_by_release_day_and_client(notes, releases, alice, django_assert_num_queries):
    with time_machine.travel(NOON, tick=False) as clock:
        for _ in range(3):
            notes.record_download(releases[0].pk, alice.pk, TOFU)
        notes.record_download(releases[0].pk, None, TERRAFORM)
        notes.record_download(releases[1].pk, alice.pk, TOFU)
        assert notes.flush() == 5
        clock.move_to(datetime.fromisoformat("2026-11-20T23:30:00-05:00"))  # the day is that of UTC
        with django_assert_num_queries(0):
            notes.record_download(releases[0].pk, alice.pk, TOFU)
        assert notes.flush() == 1

    assert counts() == {("1.0.0", TOFU): 1, ("1.0.0", TERRAFORM): 1, ("1.1.0", TOFU): 1}
    days = DownloadCount.objects.filter(release=releases[0], client=TOFU).order_by("day").values_list("day", "count")
    assert list(days) == [(date(2026, 11, 20), 3), (date(2026, 11, 21), 1)]
    assert SearchDoc.objects.get().downloads == 6


def test_it_remembers_who_fetched_and_when_last(notes, releases, alice, bob):
    with time_machine.travel(NOON, tick=False) as clock:
        notes.record_download(releases[0].pk, alice.pk, TOFU)
        notes.record_download(releases[0].pk, alice.pk, TERRAFORM)
        notes.record_download(releases[0].pk, None, TOFU)
        notes.flush()
        clock.shift(86_400)
        notes.record_download(releases[0].pk, alice.pk, TOFU)
        notes.record_download(releases[0].pk, bob.pk, TOFU)
        clock.shift(86_400)
        notes.record_download(releases[0].pk, bob.pk, TOFU)
        notes.flush()

    rows = Fetch.objects.order_by("user__username").values_list("user__username", "last_on", "count")
    assert list(rows) == [("alice", date(2026, 11, 21), 3), ("bob", date(2026, 11, 22), 2)]


@pytest.mark.both
def test_a_release_or_person_that_is_gone_costs_nobody_elses_counts(notes, releases, alice, bob):
    notes.record_download(releases[0].pk, alice.pk, TOFU)
    notes.record_download(releases[1].pk, alice.pk, TOFU)
    notes.record_download(releases[1].pk, bob.pk, TOFU)
    notes.record_download(999_999, bob.pk, TOFU)
    releases[0].module_version.delete()
    Release.objects.filter(pk=releases[0].pk).delete()
    User.objects.filter(pk=alice.pk).delete()

    assert notes.flush() == 2

    assert counts() == {("1.1.0", TOFU): 2}
    assert list(Fetch.objects.values_list("user", "count")) == [(bob.pk, 1)]


def test_a_hostile_client_makes_no_rows_without_bound(notes, releases):
    for number in range(40):
        notes.record_download(releases[0].pk, None, f"OpenTofu 1.{number}.0")
    notes.flush()
    notes.record_download(releases[0].pk, None, "OpenTofu 1.7.0")
    for number in range(400):
        notes.record_download(releases[0].pk, None, f"OpenTofu 2.{number}.0")
    notes.record_download(releases[1].pk, None, TOFU)
    notes.flush()

    found = counts()
    assert len(found) == downloads.MAX_CLIENTS + 1 + 1  # the rest, and the other release
    assert found["1.0.0", "OpenTofu 1.7.0"] == 2
    assert found["1.0.0", "other"] == 390
    assert found["1.1.0", TOFU] == 1
    assert sum(found.values()) == 442


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_while_the_database_is_away_counts_are_kept(notes, releases, database_away):
    notes.record_download(releases[0].pk, None, TOFU)
    with database_away():
        assert notes.flush() == 0
        notes.record_download(releases[0].pk, None, TOFU)
        assert notes.flush() == 0

    assert notes.flush() == 2
    assert counts() == {("1.0.0", TOFU): 2}


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_a_write_that_breaks_off_in_the_middle_counts_nothing_twice(notes, releases, alice):
    def refuse_fetches(execute, sql, params, many, context):
        if "releases_fetch" in sql:
            raise OperationalError("the connection broke")
        return execute(sql, params, many, context)

    notes.record_download(releases[0].pk, alice.pk, TOFU)
    with connection.execute_wrapper(refuse_fetches):
        assert notes.flush() == 0
    assert counts() == {}

    assert notes.flush() == 1
    assert counts() == {("1.0.0", TOFU): 1}


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_processes_that_write_at_once_lose_nothing(releases, alice):
    """Each thread is a process here: notes and a connection of its own, and all begin with rows that nobody has."""
    barrier = threading.Barrier(6)

    def process() -> None:
        mine = DownloadBuffer()
        barrier.wait(30)
        for turn in range(8):
            for release in releases:
                mine.record_download(release.pk, alice.pk, TOFU)
                mine.record_download(release.pk, None, f"OpenTofu 1.{turn}.0")
            mine.flush()
        connection.close()

    threads = [threading.Thread(target=process) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sum(counts().values()) == 6 * 8 * 2 * 2
    assert [row.count for row in Fetch.objects.all()] == [6 * 8] * 2
    assert SearchDoc.objects.get().downloads == 6 * 8 * 2 * 2


@pytest.mark.both
def test_versions_of_a_name_are_summed_without_a_list_of_all_releases(releases, django_assert_num_queries):
    """SQLite would make that list for each page, of half a million."""
    day = date(2026, 11, 20)
    DownloadCount.objects.bulk_create(
        DownloadCount(release=release, day=day, client=TOFU, count=2 + release.pk) for release in releases
    )
    Release.objects.filter(pk=releases[0].pk).update(quarantined_at=NOON)
    counts_of_name = figures.counts_of_name(kind="module", namespace=releases[0].namespace, name="vpc/aws")

    with django_assert_num_queries(1) as queries:
        found = figures.by_version(counts_of_name, figures.last_days(day, 30))

    assert [one.version for one in found] == ["1.1.0"]
    assert queries[0]["sql"].count("SELECT") == 1
