"""The admin's first page."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Grant, Membership, Namespace, Team, User
from apps.jobs import heartbeats
from apps.jobs.models import Job
from apps.releases.models import Release
from apps.signing.models import SigningKey
from registry_site.server import probes
from tests.admin import rows
from tests.admin.releases import provider_rows


def tiles(client):
    groups = client.get(reverse("admin:index")).context["groups"]
    return {tile["label"]: tile for _, tiles in groups for tile in tiles}


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
def test_each_tile_counts_and_leads_to_just_those(operator_client, trouble):
    found = tiles(operator_client)
    expected = {
        "In quarantine": "2",
        "Keys expired or expiring": "3",
        "Providers": "3",
        "Provider versions": "3",
        "Releases held": "1",
        "Jobs failed": "3",
        "Namespaces without an active owner": "1",
        "Teams without an active manager": "1",
        "Inspected by an older version": "3",
        "People": "6",  # cooks, Olga and those who are active
        "Service accounts": "1",
    }

    assert {label: found[label]["count"] for label in expected} == expected
    for label, count in expected.items():
        assert str(operator_client.get(found[label]["url"]).context["cl"].result_count) == count, label


def test_workers_the_longest_wait_and_the_oldest_running_job_are_told_and_alarm(operator_client):
    shown = tiles(operator_client)
    assert (shown["Workers"]["count"], shown["Workers"]["is_alarm"]) == ("0", True)
    assert shown["Longest wait"]["count"] == "none"

    heartbeats.beat("here:1")
    assert [tile["label"] for tile in tiles(operator_client).values() if tile["is_alarm"]] == []
    Job.objects.create(kind="publish-module", target=1)
    Job.objects.create(kind="publish-module", target=2, not_before=timezone.now() + timedelta(hours=1))
    assert tiles(operator_client)["Longest wait"]["is_alarm"] is False
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=7))
    shown = tiles(operator_client)
    assert (shown["Workers"]["count"], shown["Workers"]["is_alarm"]) == ("1", False)
    assert (shown["Longest wait"]["count"], shown["Longest wait"]["is_alarm"]) == ("7\xa0minutes", True)
    waiting = operator_client.get(shown["Longest wait"]["url"]).context["cl"]
    assert waiting.result_count == 2
    age = waiting.list_display.index("age")
    assert waiting.get_ordering_field_columns() == {age: "asc"}, "the oldest first"

    assert shown["Oldest running job"]["count"] == "none"
    running = Job.objects.create(kind="publish-module", target=3, state="running")
    assert tiles(operator_client)["Oldest running job"]["is_alarm"] is False
    Job.objects.filter(pk=running.pk).update(created_at=timezone.now() - timedelta(hours=3))
    tile = tiles(operator_client)["Oldest running job"]
    assert (tile["count"], tile["is_alarm"]) == ("3\xa0hours", True)
    assert list(operator_client.get(tile["url"]).context["cl"].result_list) == [running]


def test_the_storage_tile_says_how_much_is_free_or_that_it_is_away(operator_client, monkeypatch):
    tile = tiles(operator_client)["Storage"]
    assert tile["count"].endswith(" free")
    assert "Storage in use" in operator_client.get(tile["url"]).text

    monkeypatch.setattr(probes.checks, "states", lambda: {"storage": "StorageUnavailable"})
    assert (tiles(operator_client)["Storage"]["count"], tiles(operator_client)["Storage"]["is_alarm"]) == ("away", True)


def test_tiles_buttons_and_pages_are_for_those_who_may_follow_them(browser_of, bob):
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    bob.user_permissions.add(Permission.objects.get(codename="view_namespace"))
    browser = browser_of(User.objects.get(pk=bob.pk))
    first = browser.get(reverse("admin:index"))

    assert set(tiles(browser)) == {"Namespaces without an active owner", "Namespaces"}
    assert "setup" not in first.context
    for page in ("admin:upload-release", "admin:storage", "admin:setup"):
        assert reverse(page) not in first.text, page
    for page in ("admin:storage", "admin:setup"):
        assert browser.get(reverse(page)).status_code == 403, page
