"""A demonstration is published as people publish, shows what the seed says, and is restored every night"""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.models import AuditEvent
from apps.contrib.demo import tasks
from apps.contrib.demo.notice import READ_ONLY
from apps.contrib.demo.seed import seed
from apps.contrib.demo.tests.conftest import work
from apps.jobs.models import Job
from apps.lib.settings_values.rates import Rate
from apps.modules.models import Configuration, ConfigurationUse
from apps.providers.models import ProviderVersion
from apps.releases.lifecycle import verbs
from apps.releases.models import DownloadCount, Release, SearchDoc, State
from registry_site.startup import schema
from tests.rows import for_each_row
from tests.sessions import in_browser

pytestmark = pytest.mark.django_db


def shown() -> dict[str, object]:
    """Return the state that visitors see, by its subject; ages are in days."""
    now = timezone.now()
    return {
        "releases": {
            f"{one} {one.lifecycle}: {one.lifecycle_reason}": one.published_at and (now - one.published_at).days
            for one in Release.objects.select_related("namespace")
        },
        "downloads": [
            (str(row.release), (now.date() - row.day).days, row.client, row.count)
            for row in DownloadCount.objects.select_related("release__namespace").order_by("release", "day", "client")
        ],
        "totals": dict(SearchDoc.objects.values_list("name", "downloads")),
        "uses": sorted(f"{use.configuration} {use.release_id}" for use in ConfigurationUse.objects.all()),
    }


def test_a_filled_demonstration_has_what_its_seed_says_and_looks_alive(filled: None) -> None:
    releases = {str(one): one for one in Release.objects.select_related("namespace")}

    assert set(releases) == {str(planned) for planned in seed().versions}
    assert {one.state for one in releases.values()} == {State.PUBLISHED}
    assert len(seed().versions) >= 30
    assert {str(one): one.lifecycle for one in releases.values() if one.lifecycle != "maintained"} == {
        "acme/s3-bucket/aws 1.0.0": "deprecated",
        "acme/s3-bucket/aws 2.1.0": "yanked",
        "acme/aks/azurerm 0.9.0": "deprecated",
    }
    assert ProviderVersion.objects.exclude(signature_digest="").count() == 3
    assert Configuration.objects.count() == len(seed().facts["configurations"])
    assert all(count > 50 for count in SearchDoc.objects.values_list("downloads", flat=True))
    assert not DownloadCount.objects.filter(day__gt=timezone.now().date()).exists()


def test_a_reset_brings_back_the_seed_and_ends_what_visitors_left(filled: None) -> None:
    before, bytes_before = shown(), set(Release.objects.values_list("digest", flat=True))
    release = Release.objects.get(name="vpc/aws", version="2.1.0")
    maya = in_browser(User.objects.get(username="maya"))
    verbs.yank(release=release, actor=maya, reason="A mistake.")
    Release.objects.filter(name="eks/aws").update(published_at=timezone.now() - timedelta(days=900))
    DownloadCount.objects.create(release=release, day=timezone.now().date(), client="a visitor", count=9)
    Configuration.objects.all().delete()
    Session.objects.create(session_key="x" * 64, session_data="", expire_date=timezone.now() + timedelta(1))
    assert shown() != before

    tasks.reset()

    assert shown() == before
    assert not Session.objects.exists()
    assert set(Release.objects.values_list("digest", flat=True)) == bytes_before


def test_a_reset_leaves_what_is_under_way_and_publishes_nothing_twice(filled: None) -> None:
    rows, jobs = set(Release.objects.values_list("pk", "digest", "staging_key")), Job.objects.count()

    tasks.reset()
    work()

    assert set(Release.objects.values_list("pk", "digest", "staging_key")) == rows
    assert Job.objects.count() == jobs


def test_visitors_see_pages_with_the_rights_of_one_person_and_cause_no_work(filled: None) -> None:
    visitor = Client()
    before = Job.objects.count(), AuditEvent.objects.count()
    address = "/modules/acme/s3-bucket/aws"
    pages = [
        *("/", "/modules", "/providers/acme/inventory", "/search?q=bucket", "/namespaces/acme", "/publish"),
        *(address, f"{address}/usage", f"{address}/compare/1.0.0...2.0.0", f"{address}/2.1.1/origin"),
        *(f"{address}/2.1.1/lifecycle?act=yank", "/namespaces/acme/keys", "/tokens"),
    ]

    answers = {page: visitor.get(page) for page in pages}

    assert {page: answer.status_code for page, answer in answers.items() if answer.status_code != 200} == {}
    for page, answer in answers.items():
        assert READ_ONLY in answer.content.decode(), page
        assert "It is reset at 03:40 UTC" in answer.content.decode(), page
    assert "github.com/acme/sales-lake" in answers[f"{address}/usage"].content.decode()
    assert (Job.objects.count(), AuditEvent.objects.count()) == before


def test_clients_need_no_token(filled: None) -> None:
    client = Client()

    versions = client.get("/v1/modules/acme/vpc/aws/versions").json()["modules"][0]["versions"]
    location = client.get("/v1/modules/acme/vpc/aws/2.1.0/download")

    assert {entry["version"] for entry in versions} == {"1.0.0", "1.1.0", "1.2.0", "1.2.1", "2.0.0", "2.1.0"}
    assert "/archives/" in location.json()["location"]
    assert client.get("/v1/providers/acme/inventory/versions").json()["versions"]


def test_it_may_start_again(filled: None) -> None:
    schema.check()


@for_each_row("url", ["/search?q=vpc", "/publish?suggest=vpc", "/modules?q=vpc"])
def test_searches_of_all_visitors_are_counted_by_address(filled: None, demonstration: Any, url: str) -> None:
    demonstration.RATES = {**demonstration.RATES, "search": Rate(1, 60)}
    cache.clear()
    visitor = Client()

    answers = [
        visitor.get(url, REMOTE_ADDR=address).status_code for address in ("192.0.2.1", "192.0.2.1", "198.51.100.7")
    ]

    assert answers == [200, 429, 200]
