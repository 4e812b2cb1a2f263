"""The overview of Operate: what needs an operator, with the act in the row; tiles, charts and recent changes."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Grant, Membership, Namespace, Team, User
from apps.audit.models import AuditEvent
from apps.blobs import store
from apps.blobs.models import Blob
from apps.jobs import heartbeats
from apps.jobs.models import Job
from apps.releases.models import DownloadCount, Release
from apps.signing.models import SigningKey
from registry_site.admin import setup, trends
from registry_site.server import probes
from tests import pages
from tests.admin import rows
from tests.admin.lists import list_of, page_of
from tests.admin.releases import provider_rows

INDEX = "/admin/"


def tiles(client):
    return {tile["label"]: tile for _, tiles in client.get(INDEX).context["groups"] for tile in tiles}


def lines(client):
    return {line.title: line for line in client.get(INDEX).context["needs"]}


@pytest.fixture
def trouble(db):
    """Of three of everything one is quarantined, one held, one without an owner, one without a manager. One provider
    is in quarantine too, and the keys of all three end soon.
    """
    rows.make(0, 3)
    provider_rows.make(0, 3)
    provider = Release.objects.filter(kind="provider").order_by("pk").values("pk")[:1]
    Release.objects.filter(pk__in=list(provider.values_list("pk", flat=True))).update(
        quarantined_at=timezone.now(), quarantine_reason="It leaks."
    )
    SigningKey.objects.update(expires_at=timezone.now() + timedelta(days=9))
    first, second, _ = Release.objects.filter(kind="module").order_by("pk")
    Release.objects.filter(pk=first.pk).update(quarantined_at=timezone.now(), quarantine_reason="It leaks.")
    Release.objects.filter(pk=second.pk).update(state="held")
    Membership.objects.update(is_manager=True)
    Grant.objects.bulk_create(
        Grant(namespace=one, user=User.objects.get(username="person0"), role=3)
        for one in Namespace.objects.exclude(name__startswith="team")
    )
    for number in range(3):
        namespace = Namespace.objects.get(name=f"team{number}")
        namespace.grants.filter(team=None).update(role=3)
    User.objects.filter(username="person2").update(is_active=False)
    User.objects.create(username="crew0.ci[bot]", is_service=True, service_of=Team.objects.get(name="crew0"))


@pytest.mark.both
def test_each_tile_counts_and_leads_to_just_those_and_none_says_zero(operator_client, trouble):
    found = tiles(operator_client)
    expected = {
        "Providers": "3",
        "Provider versions": "3",
        "Releases held": "1",
        "Inspected by an older version": "3",
        "People": "6",  # cooks, Olga and those who are active
        "Service accounts": "1",
    }

    assert {label: found[label]["count"] for label in expected} == expected
    assert "0" not in [tile["count"] for tile in found.values()]
    for label, tile in found.items():
        assert str(operator_client.get(tile["url"]).context["cl"].result_count) == tile["count"], label


@pytest.mark.both
def test_what_needs_an_operator_is_told_in_order_with_what_can_be_done(operator_client, trouble):
    found = lines(operator_client)
    quarantined = Release.objects.filter(quarantined_at__isnull=False).order_by("pk")
    ownerless, managerless = Namespace.objects.get(name="team2"), Team.objects.get(name="crew2")

    assert [line.tone for line in found.values()] == sorted(line.tone for line in found.values())
    assert "No worker is running" in found
    for release in quarantined:
        line = found[f"{release} is in quarantine"]
        assert line.text.endswith("It leaks.")
        assert f'value="restore:{release.pk}" formaction="{list_of(Release)}"' in line.acts
    for job in Job.objects.all():
        assert f'value="retry:{job.pk}"' in "".join(line.acts for line in found.values())
    assert found["Namespace team2 has no active owner"].url == page_of(ownerless)
    assert found["Team crew2 has no active manager"].url == page_of(managerless)
    assert len([title for title in found if title.startswith("The key ")]) == 3


def test_the_rest_of_a_kind_is_one_line_and_may_be_done_at_once(operator_client, db):
    rows.make(0, 5)
    line = lines(operator_client)["5 failed jobs"]
    form = {"action": line.repeat["act"], "select_across": "1", "index": "0", "_selected_action": line.repeat["key"]}

    assert operator_client.get(line.url).context["cl"].result_count == 5
    assert operator_client.post(line.url, form).status_code == 302
    assert set(Job.objects.values_list("state", flat=True)) == {"queued"}


def test_an_act_of_the_overview_is_done_and_leads_back(operator_client, db):
    rows.make(0, 1)
    job = Job.objects.get()
    answer = operator_client.post(list_of(Job), {"row_act": f"retry:{job.pk}", "overview": "1"}, follow=True)

    assert answer.redirect_chain[-1][0] == INDEX
    assert "Queued again: 1." in answer.text
    assert f"{job} failed" not in lines(operator_client)


def test_nothing_that_needs_attention_is_one_line_with_a_jar(operator_client, monkeypatch):
    monkeypatch.setattr(setup, "STEPS", ())
    heartbeats.beat("here:1")
    page = operator_client.get(INDEX)

    assert page.context["needs"] == []
    assert "Nothing needs attention." in page.text
    assert "jar-full.svg" in page.text


def test_workers_the_longest_wait_and_the_oldest_running_job_are_told(operator_client, monkeypatch):
    monkeypatch.setattr(setup, "STEPS", ())
    assert "No worker is running" in lines(operator_client)

    heartbeats.beat("here:1")
    Job.objects.create(kind="publish-module", target=1)
    Job.objects.create(kind="publish-module", target=2, not_before=timezone.now() + timedelta(hours=1))
    assert lines(operator_client) == {}
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=7))
    line = lines(operator_client)["A job has waited for 7\xa0minutes"]
    waiting = operator_client.get(line.url).context["cl"]
    assert waiting.result_count == 2
    age = waiting.list_display.index("age")
    assert waiting.get_ordering_field_columns() == {age: "asc"}, "the oldest first"

    running = Job.objects.create(kind="publish-module", target=3, state="running")
    assert len(lines(operator_client)) == 1
    Job.objects.filter(pk=running.pk).update(created_at=timezone.now() - timedelta(hours=3))
    line = lines(operator_client)["A job has run for 3\xa0hours"]
    assert list(operator_client.get(line.url).context["cl"].result_list) == [running]


def test_storage_that_is_away_or_nearly_full_is_told(operator_client, monkeypatch):
    assert [title for title in lines(operator_client) if "torage" in title] == []
    monkeypatch.setattr(store, "free_bytes", lambda: 400_000_000)
    assert [title for title in lines(operator_client) if title.startswith("Storage has only")] != []

    monkeypatch.setattr(probes.checks, "states", lambda: {"storage": "StorageUnavailable"})
    assert "Storage does not answer" in lines(operator_client)


@pytest.mark.both
def test_charts_show_downloads_by_day_bytes_by_week_and_jobs_by_hour(operator_client, monkeypatch):
    rows.make(0, 2)
    now = timezone.now()
    DownloadCount.objects.filter(release__namespace__name="team0").update(day=now.date() - timedelta(days=1))
    DownloadCount.objects.create(
        release=Release.objects.earliest("pk"), day=now.date() - timedelta(days=40), client="other"
    )
    Blob.objects.update(size=1_000, created_at=now)
    Blob.objects.filter(digest=rows.digest_of("b1")).update(created_at=now - timedelta(days=7))
    Job.objects.create(kind="sign-release", target=1, state="succeeded", finished_at=now)
    monkeypatch.setattr(store, "free_bytes", lambda: 10_000)
    downloads, storage, queues = operator_client.get(INDEX).context["trends"]

    assert (downloads.figure, list(downloads.series[0].values[-3:])) == ("6", [0, 3, 3])
    assert list(storage.series[0].values[-2:]) == [1_000, 1_000]
    assert "full in about 1" in storage.about, "2 kB in 12 weeks, 10 kB are left"
    assert {one.name: one.values[-1] for one in queues.series} == {"check": 2, "sign": 1}
    assert [values for _, values in downloads.rows][-1] == ["3"]
    assert downloads.picture.count("<title>") == 1 + trends.DAYS


def test_a_chart_without_figures_is_a_sentence(operator_client):
    page = operator_client.get(INDEX)

    assert f"No downloads in the last {trends.DAYS} days." in page.text
    assert "chart__picture" not in page.text


def test_recent_changes_name_who_did_what(operator_client):
    rows.make(0, 1)
    [event] = AuditEvent.objects.filter(subject="team0")
    page = pages.shown(operator_client.get(INDEX))

    assert "Recent changes" in page
    assert reverse("admin:audit_auditevent_change", args=[event.pk]) in page
    assert "person0" in page


@pytest.mark.both
def test_it_costs_the_same_beside_many_of_everything(operator_client, trouble):
    operator_client.get(INDEX)
    few = pages.queries_of(operator_client, INDEX)
    rows.make(10, 60)
    provider_rows.make(10, 30)

    assert abs(pages.queries_of(operator_client, INDEX) - few) <= 2, "a source of jobs may be new"
    assert few <= 30


def test_lines_tiles_buttons_and_pages_are_for_those_who_may_follow_them(browser_of, bob):
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    bob.user_permissions.add(Permission.objects.get(codename="view_namespace"))
    Namespace.objects.create(name="lonely", canonical="lonely")
    browser = browser_of(User.objects.get(pk=bob.pk))
    first = browser.get(INDEX)

    assert set(tiles(browser)) == {"Namespaces"}
    assert {line.link for line in lines(browser).values()} == {"Add an owner"}
    assert [tab["title"] for tab in first.context["tabs"]] == ["Overview", "Data"]
    assert first.context["trends"] == []
    for page in ("admin:upload-release", "admin:storage", "admin:setup"):
        assert reverse(page) not in first.text, page
    for page in ("admin:storage", "admin:setup"):
        assert browser.get(reverse(page)).status_code == 403, page
