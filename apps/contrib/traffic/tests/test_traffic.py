"""Downloads and bytes by team, account and token: written with the counts, shown to staff."""

from datetime import UTC, date, datetime, timedelta

import pytest
import time_machine

from apps.accounts import erasure
from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.accounts.people import service_accounts, teams
from apps.contrib.traffic import recording
from apps.contrib.traffic.figures import Month
from apps.contrib.traffic.models import AccountTraffic, TeamTraffic
from apps.providers.models import Package
from apps.releases.catalogue.downloads import DownloadBuffer
from apps.releases.models import Release
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module
from tests.rows import for_each_row

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TOFU = "OpenTofu 1.12.6"


@pytest.fixture
def release(acme) -> Release:
    add_module(acme, "vpc/aws", "1.0.0")
    Release.objects.update(size=1_000)
    return Release.objects.get()


def today() -> date:
    return datetime.now(UTC).date()


def by_account():
    rows = AccountTraffic.objects.order_by("day", "account__username", "token")
    return list(rows.values_list("account__username", "token", "downloads", "bytes"))


@pytest.mark.both
def test_each_download_counts_for_its_account_its_token_and_its_team_of_that_time(release, alice, bob, olga):
    buffer, team = DownloadBuffer(), teams.create(name="cooks", actor=Viewer(olga))
    machine = service_accounts.create(team=team, name="ci", actor=Viewer(olga))
    with time_machine.travel(NOON, tick=False):
        for user, token in ((alice, 7), (alice, 8), (machine, 9), (None, None), (bob, None)):
            buffer.record_download(release.pk, user.pk if user else None, TOFU, token)
        buffer.flush()
        teams.add(team=team, user=alice, actor=Viewer(olga))
        for user, token in ((alice, 7), (None, None)):
            buffer.record_download(release.pk, user.pk if user else None, TOFU, token)
        buffer.flush()

    assert sorted(by_account(), key=str) == [
        ("alice", 7, 2, 2_000),
        ("alice", 8, 1, 1_000),
        ("bob", 0, 1, 1_000),
        ("cooks.ci[bot]", 9, 1, 1_000),
        (None, 0, 2, 2_000),
    ]
    assert list(TeamTraffic.objects.values_list("day", "team__name", "downloads", "bytes")) == [
        (date(2026, 11, 20), "cooks", 2, 2_000)
    ], "Alice was in no team at first"


def test_a_provider_counts_the_mean_of_its_packages(acme, alice):
    key = row_of_key(acme, 1)
    release = provider_version(acme, "dns", "1.0.0", key=key, platforms=("linux_amd64", "linux_arm64")).release
    for arch, size in (("amd64", 100), ("arm64", 301)):
        Package.objects.filter(arch=arch).update(size=size)
    buffer = DownloadBuffer()
    buffer.record_download(release.pk, alice.pk, TOFU, 7)
    buffer.flush()

    assert by_account() == [("alice", 7, 1, 200)]


def test_many_tokens_of_a_day_are_not_told_apart(release, alice, monkeypatch):
    monkeypatch.setattr(recording, "MAX_TOKENS", 2)
    buffer = DownloadBuffer()
    for tokens in ((1, 2, 3), (2, 4)):
        for token in tokens:
            buffer.record_download(release.pk, alice.pk, TOFU, token)
        buffer.flush()

    assert by_account() == [("alice", 0, 2, 2_000), ("alice", 1, 1, 1_000), ("alice", 2, 2, 2_000)]


def test_rows_go_with_a_person_who_is_erased_and_when_they_are_old(release, alice, bob, olga):
    buffer = DownloadBuffer()
    for user in (alice, bob):
        buffer.record_download(release.pk, user.pk, TOFU)
    buffer.flush()
    erasure.erase(user=bob, actor=Viewer(olga), hand_to=alice)
    assert by_account() == [("alice", 0, 1, 1_000)]

    AccountTraffic.objects.update(day=today() - recording.KEPT)
    assert recording.prune() == 0
    AccountTraffic.objects.update(day=today() - recording.KEPT - timedelta(days=2))
    assert recording.prune() == 1


@for_each_row(
    ("text", "first"),
    [
        ("2026-10", date(2026, 10, 1)),
        ("", date(2026, 11, 1)),
        ("2027-01", date(2026, 11, 1)),
        ("2026-13", date(2026, 11, 1)),
        ("x\0", date(2026, 11, 1)),
    ],
)
def test_a_month_is_read_and_none_is_in_the_future(text, first):
    assert Month.parse(text, today=NOON.date()).first == first


@pytest.mark.both
@for_each_row("many", [1, 60])
def test_staff_read_a_month_at_the_same_cost(olga, browser_of, many, django_assert_max_num_queries):
    team, day = teams.create(name="cooks", actor=Viewer(olga)), today().replace(day=1)
    accounts = User.objects.bulk_create(User(username=f"ci-{number}[bot]", is_service=True) for number in range(many))
    AccountTraffic.objects.bulk_create(
        AccountTraffic(day=day, account=account, token=5, downloads=3, bytes=10**10) for account in accounts
    )
    TeamTraffic.objects.create(day=day, team=team, downloads=3, bytes=10**10)
    client = browser_of(olga)
    for query, shown in (("", "cooks"), ("?by=account&measure=bytes", "ci-0[bot]"), ("?by=token", "number 5, deleted")):
        with django_assert_max_num_queries(20):
            page = client.get(f"/traffic{query}").content.decode()
        assert shown in page
        assert "10 GB" in page
    lines = b"".join(client.get("/traffic?by=token&format=csv")).decode().splitlines()
    assert len(lines) == many + 1
    assert lines[1] == f"{day},ci-0[bot],true,5,3,10000000000"
