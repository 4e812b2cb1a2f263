"""/modules/<namespace>/<name>/<system>/downloads, and the card on a version's page"""

from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone

from apps.modules.models import Module
from apps.portal.versions.downloads import downloads_card
from apps.releases.models import DownloadCount, Release, SearchDoc
from tests import pages
from tests.portal.rows import add_module
from tests.rows import for_each_row

URL = "/modules/acme/vpc/aws/downloads"
NUMBERS = [f"1.{minor}.0" for minor in range(8)]


@pytest.fixture
def vpc(acme) -> Module:
    return add_module(acme, "vpc/aws", *NUMBERS)


def fetched(version: str, days_ago: int, count: int, client: str = "OpenTofu 1.12.6") -> None:
    day = timezone.now().date() - timedelta(days=days_ago)
    release = Release.objects.get(version=version)
    DownloadCount.objects.create(release=release, day=day, client=client, count=count)
    doc = SearchDoc.objects.get(name=release.name)
    SearchDoc.objects.filter(pk=doc.pk).update(downloads=doc.downloads + count)


def test_what_nobody_fetched_says_so_and_how_it_would(browser_of, bob, vpc):
    page = pages.text_of(browser_of(bob).get(URL))
    assert "No downloads yet" in page
    assert 'href="/how-to-use"' in page
    assert '<svg class="chart__picture' not in page
    assert "This module has not been downloaded yet" in card(vpc)
    assert "Version 1.0.0 has not been downloaded yet" in card(Release.objects.get(version="1.0.0"))

    Release.objects.update(quarantined_at=timezone.now())
    assert browser_of(bob).get(URL).status_code == 404, "nothing of the module can be read"


@pytest.mark.both
def test_it_sums_up_days_weeks_and_years_and_the_most_frequent_come_first(browser_of, bob, vpc):
    for days_ago, count in ((0, 1), (6, 2), (7, 10), (29, 20), (30, 100), (364, 200), (365, 1000)):
        fetched("1.0.0", days_ago, count)
    fetched("1.1.0", 1, 65)
    fetched("1.1.0", 1, 5, "other")

    context = browser_of(bob).get(URL).context
    totals = context["totals"]
    assert (totals.week, totals.month, totals.year, totals.ever) == (73, 103, 403, 1403)
    assert [(one.version, one.count) for one in context["by_version"]] == [("1.1.0", 70), ("1.0.0", 33)]
    assert [tuple(one.values()) for one in context["clients"]] == [("OpenTofu 1.12.6", 98), ("other", 5)]


@for_each_row(("asked", "days"), [("", 30), ("30", 30), ("90", 90), ("9999", 30), ("x", 30), ("٣٠", 30)])
def test_a_period_is_30_or_90_days(browser_of, bob, vpc, asked, days):
    fetched("1.0.0", 0, 5)
    fetched("1.0.0", 89, 7)

    response = browser_of(bob).get(URL, {"days": asked})

    chart = response.context["chart"]
    assert len(chart.days) == days
    assert sum(chart.series[0].values) == (12 if days == 90 else 5)
    assert chart.series[0].values[-1] == 5


def test_the_picture_and_the_table_say_the_same(browser_of, bob, vpc):
    fetched("1.0.0", 0, 1234)
    today = timezone.now().date()

    page = pages.text_of(browser_of(bob).get(URL))

    assert f"<title>{today:%-d %b %Y}: 1,234</title>" in page
    assert f'<th scope="row" class="nowrap">{today:%-d %b %Y}</th><td class="number">1,234</td>' in page
    assert page.count('<th scope="row" class="nowrap">') == 30


@pytest.mark.both
def test_versions_are_split_into_five_and_the_rest(browser_of, bob, vpc):
    for minor in range(8):
        fetched(f"1.{minor}.0", minor, 10 * (minor + 1))

    chart = browser_of(bob).get(URL, {"by": "version"}).context["chart"]

    assert [(one.name, one.total) for one in chart.series] == [
        ("1.7.0", 80), ("1.6.0", 70), ("1.5.0", 60), ("1.4.0", 50), ("1.3.0", 40), ("others", 60)
    ]  # fmt: skip


def test_one_version_has_figures_of_its_own_and_in_quarantine_counts_without_its_name(browser_of, bob, vpc):
    fetched("1.0.0", 0, 30)
    fetched("1.1.0", 0, 5)
    browser = browser_of(bob)
    response = browser.get(URL, {"version": "1.0.0"})
    assert response.context["totals"].ever == 30
    assert "show all versions" in pages.text_of(response)
    for unknown in ("9.9.9", "x\0"):
        assert browser.get(URL, {"version": unknown}).status_code == 404

    Release.objects.filter(version="1.0.0").update(quarantined_at=timezone.now())
    response = browser.get(URL, {"by": "version"})
    assert response.context["totals"].ever == 35
    assert response.context["more_versions"] == 30
    assert "1.0.0" not in pages.text_of(response)
    assert browser.get(URL, {"version": "1.0.0"}).status_code == 404


@pytest.mark.slow
@for_each_row("query", ["", "?by=version&days=90", "?version=1.0.0"])
@for_each_row("many", [1, 400])
def test_it_costs_the_same_for_one_count_and_for_hundreds(
    browser_of, bob, vpc, many, query, django_assert_max_num_queries
):
    today, releases = timezone.now().date(), list(Release.objects.all())
    DownloadCount.objects.bulk_create(
        [
            DownloadCount(release=releases[at % 8], day=today - timedelta(days=at // 20), client=f"c{at % 20}", count=1)
            for at in range(many)
        ]
    )
    browser = browser_of(bob)

    with django_assert_max_num_queries(15):
        assert browser.get(URL + query).status_code == 200


def card(of: Module | Release) -> str:
    shown = render_to_string("portal/version/downloads_card.html", {"card": downloads_card(of)})
    return pages.text_of(HttpResponse(shown))


def test_the_card_tells_of_a_version_or_of_the_whole_module(vpc, django_assert_num_queries):
    fetched("1.0.0", 0, 1000)
    fetched("1.0.0", 40, 234)
    fetched("1.1.0", 0, 7)
    release = Release.objects.select_related("namespace").get(version="1.0.0")

    with django_assert_num_queries(2):
        one = card(release)
    with django_assert_num_queries(2):
        whole = card(vpc)

    assert "1,234</strong>" in one
    assert "1,000 in the last 30 days" in one
    assert f'href="{URL}?version=1.0.0"' in one
    assert "1,241</strong>" in whole
    assert f'href="{URL}"' in whole
    assert "<polyline" in whole
