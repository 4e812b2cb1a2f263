"""The teams and service accounts that downloaded it: for owners, of the teams that they see"""

from datetime import timedelta
from itertools import product

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Membership, Namespace, Role, Team, User
from apps.accounts.people import service_accounts, teams
from apps.releases.models import DownloadCount, Fetch, Release, TeamDownload
from tests import pages
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module

URL = "/modules/acme/vpc/aws/downloads"


@pytest.fixture
def cooks(acme, olga) -> Team:
    """A team with a role in acme, so that its owners see it."""
    team = teams.create(name="cooks", actor=Viewer(olga))
    Grant.objects.create(namespace=acme, team=team, role=Role.READER)
    return team


@pytest.fixture
def strangers(olga) -> Team:
    return teams.create(name="strangers", actor=Viewer(olga))


def fetched(release: Release, team: Team, count: int, *, account: User | None = None, days_ago: int = 0) -> None:
    day = timezone.now().date() - timedelta(days=days_ago)
    TeamDownload.objects.create(release=release, day=day, team=team, account=account, count=count)
    row, _ = DownloadCount.objects.get_or_create(release=release, day=day, client="other")
    DownloadCount.objects.filter(pk=row.pk).update(count=row.count + count)


@pytest.fixture
def used(acme, olga, cooks, strangers) -> User:
    add_module(acme, "vpc/aws", "1.0.0", "1.1.0")
    old, new = Release.objects.order_by("sort_key")
    machine = service_accounts.create(team=cooks, name="ci", actor=Viewer(olga))
    fetched(old, cooks, 3)
    fetched(new, cooks, 70, account=machine, days_ago=1)
    fetched(new, cooks, 5, days_ago=60)
    fetched(new, strangers, 11)
    return machine


def shown(response) -> list[tuple[str, int]]:
    return [(one.name, one.count) for one in response.context["teams"]]


@pytest.mark.both
def test_an_owner_alone_reads_which_teams_and_accounts_fetched_it(used, browser_of, alice, bob, dora, olga):
    response = browser_of(dora).get(URL)
    text = pages.shown(response)

    assert shown(response) == [("cooks.ci[bot]", 70), ("cooks", 3)]
    assert '<a href="/teams/cooks">cooks</a>' in text
    assert "strangers" not in text, "Dora does not see that team"
    assert shown(browser_of(dora).get(f"{URL}?days=90")) == [("cooks.ci[bot]", 70), ("cooks", 8)]
    assert shown(browser_of(dora).get(f"{URL}?version=1.0.0")) == [("cooks", 3)]
    assert ("strangers", 11) in shown(browser_of(olga).get(URL))
    for query, who in product(("", "?by=team"), (alice, bob)):
        text = pages.shown(browser_of(who).get(URL + query))
        for words in ("cooks", "By team", "Users of deprecated"):
            assert words not in text, (query, who)


@pytest.mark.both
def test_people_without_a_team_are_counted(used, cooks, browser_of, bob, charlie, dora):
    old, new = Release.objects.order_by("sort_key")
    Membership.objects.create(team=cooks, user=charlie, added_by=dora)
    today = timezone.now().date()
    for release, user, day in ((old, bob, today), (new, bob, today), (new, charlie, today), (old, used, today)):
        Fetch.objects.create(release=release, user=user, last_on=day, count=1)
    Release.objects.filter(pk=old.pk).update(lifecycle="yanked")
    owner, line = browser_of(dora), "<p>1 person without a team fetched it.</p>"

    for url in (URL, f"{URL}?version=1.1.0", "/modules/acme/vpc/aws/usage", "/modules/acme/vpc/aws/outdated"):
        assert line in pages.markup_of(owner.get(url)), url
    Fetch.objects.filter(user=bob).update(last_on=today - timedelta(days=60))
    assert line not in pages.markup_of(owner.get(URL))
    assert line in pages.markup_of(owner.get(f"{URL}?days=90"))


def test_bars_are_split_by_client_and_by_team(used, browser_of, dora):
    DownloadCount.objects.create(
        release=Release.objects.get(version="1.1.0"), day=timezone.now().date(), client="OpenTofu 1.12.6", count=4
    )
    by_team = browser_of(dora).get(f"{URL}?by=team").context["chart"]
    by_client = browser_of(dora).get(f"{URL}?by=client").context["chart"]

    assert [(one.name, one.total) for one in by_team.series] == [("cooks.ci[bot]", 70), ("cooks", 3)]
    assert by_team.series[0].values[-2:] == [70, 0]
    assert [(one.name, one.total) for one in by_client.series] == [("other", 84), ("OpenTofu 1.12.6", 4)]


def test_a_provider_has_the_same_page_and_card(pantry, client, browser_of, olga, cooks):
    release = provider_version(pantry, "dns", "1.0.0", key=row_of_key(pantry, 1)).release
    assert "This provider has not been downloaded yet" in pages.shown(client.get("/providers/pantry/dns"))
    fetched(release, cooks, 12)

    text = pages.shown(client.get("/providers/pantry/dns/downloads"))

    assert '<dd class="figure">12</dd>' in text
    assert "cooks" not in text
    assert shown(browser_of(olga).get("/providers/pantry/dns/downloads")) == [("cooks", 12)]
    card = pages.shown(client.get("/providers/pantry/dns"))
    assert 'href="/providers/pantry/dns/downloads"' in card
    assert client.get("/providers/pantry/dns/downloads?version=9.9.9").status_code == 404


def test_it_costs_the_same_for_one_team_and_for_many(used, acme, browser_of, dora, django_assert_max_num_queries):
    release = Release.objects.get(version="1.1.0")
    for number in range(60):
        team = Team.objects.create(name=f"team{number:02}")
        Grant.objects.create(namespace=Namespace.objects.get(pk=acme.pk), team=team, role=Role.READER)
        fetched(release, team, 1)
    browser = browser_of(dora)

    with django_assert_max_num_queries(19):
        text = pages.shown(browser.get(f"{URL}?by=team"))

    assert '<th scope="row">rarer teams and accounts</th><td class="number">12</td>' in text
