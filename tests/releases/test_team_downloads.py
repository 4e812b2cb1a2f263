"""Downloads by day, team and service account; people are never told apart"""

from datetime import UTC, date, datetime

import pytest
import time_machine

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Team, User
from apps.accounts.people import service_accounts, teams
from apps.releases.catalogue import downloads
from apps.releases.catalogue.downloads import DownloadBuffer
from apps.releases.models import Release, TeamDownload
from tests.portal.rows import add_module
from tests.rows import for_each_row

TOFU = "OpenTofu 1.12.6"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def release(acme) -> Release:
    add_module(acme, "vpc/aws", "1.0.0")
    return Release.objects.get()


def team_of(actor: User, name: str, *people: User) -> Team:
    team = teams.create(name=name, actor=Viewer(actor))
    for person in people:
        teams.add(team=team, user=person, actor=Viewer(actor))
    return team


def rows() -> list[tuple[date, str, str | None, int]]:
    fields = ("day", "team__name", "account__username", "count")
    return list(TeamDownload.objects.order_by("day", "team__name", "account__username").values_list(*fields))


@pytest.mark.both
def test_it_adds_up_by_day_team_and_service_account(release, alice, bob, charlie, olga):
    cooks = team_of(olga, "cooks", alice, bob)
    team_of(olga, "bakers", bob)
    machine = service_accounts.create(team=cooks, name="ci", actor=Viewer(olga))
    notes = DownloadBuffer()

    with time_machine.travel(NOON, tick=False) as clock:
        for who in (alice, alice, bob, charlie, machine, None):
            notes.record_download(release.pk, who.pk if who else None, TOFU)
        notes.flush()
        notes.record_download(release.pk, machine.pk, TOFU)
        notes.record_download(release.pk, alice.pk, "other")
        notes.flush()
        clock.shift(86_400)
        notes.record_download(release.pk, bob.pk, TOFU)
        notes.flush()

    first, second = date(2026, 11, 20), date(2026, 11, 21)
    assert set(rows()) == {
        (first, "cooks", None, 4),
        (first, "cooks", "cooks.ci[bot]", 2),
        (first, "bakers", None, 1),
        (second, "cooks", None, 1),
        (second, "bakers", None, 1),
    }, "Bob counts for both, Charlie for none"
    assert len(rows()) == 5


def test_they_go_with_the_team_and_the_next_member_brings_nothing_along(release, alice, olga):
    notes, team = DownloadBuffer(), team_of(olga, "cooks")
    notes.record_download(release.pk, alice.pk, TOFU)
    notes.flush()
    assert rows() == [], "Alice was in no team then"

    teams.add(team=team, user=alice, actor=Viewer(olga))
    notes.record_download(release.pk, alice.pk, TOFU)
    notes.flush()
    assert [row[1:] for row in rows()] == [("cooks", None, 1)]
    teams.delete(team=team, actor=Viewer(olga))
    assert rows() == []


@for_each_row("many", [1, 9])
def test_a_flush_is_few_statements_however_much_there_is(acme, alice, olga, many, django_assert_max_num_queries):
    downloads.flush()  # of other tests, before their keys are given again
    add_module(acme, "vpc/aws", *[f"1.{number}.0" for number in range(many)])
    for number in range(5):
        team_of(olga, f"team{number}", alice)
    notes = DownloadBuffer()
    for _ in range(2):  # the first inserts, the second changes
        for release in Release.objects.all():
            notes.record_download(release.pk, alice.pk, TOFU)
        with django_assert_max_num_queries(20):
            notes.flush()

    assert {row[1:] for row in rows()} == {(f"team{number}", None, 2) for number in range(5)}
    assert len(rows()) == 5 * many
