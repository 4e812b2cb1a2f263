"""/modules/<address>/usage and /providers/<address>/usage: who uses it, and which version they get"""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Namespace, Role, Scope, Visibility
from apps.accounts.people import service_accounts, teams
from apps.modules.models import Configuration
from apps.releases.models import DownloadCount, Lifecycle, Release, TeamDownload
from tests import pages
from tests.modules.dependents.rows import calls, requires
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module

URL = "/modules/acme/vpc/aws/usage"
REPORTED = 'Reported configurations <span class="count">{}<'


@pytest.fixture
def vpc(acme, settings):
    settings.PUBLIC_HOST = "here.example"
    add_module(acme, "vpc/aws", "1.0.0", "1.1.0", "2.0.0")
    Release.objects.filter(version="1.0.0").update(lifecycle=Lifecycle.YANKED, lifecycle_at=timezone.now())
    Release.objects.filter(version="1.1.0").update(lifecycle=Lifecycle.DEPRECATED, lifecycle_at=timezone.now())


@pytest.fixture
def reports(client, bearer):
    def send(user, folder: str, version: str):
        entry = {"Source": "here.example/acme/vpc/aws", "Version": version}
        body = {"repository": "team/infra", "folder": folder, "modules": {"Modules": [entry]}}
        headers = bearer(user, Scope.READ)
        answer = client.post("/api/v1/usage", json.dumps(body), content_type="application/json", headers=headers)
        assert answer.status_code == 200

    return send


@pytest.mark.both
def test_it_names_callers_with_what_they_ask_for_and_get(vpc, pantry, browser_of, bob):
    asked = {"yanked": "1.0.0", "old": "~> 1.0", "new": ">= 1.0", "unknown": "local.version", "none": "9.9.9"}
    for name, constraint in asked.items():
        calls(add_module(pantry, f"{name}/aws"), "acme/vpc/aws", constraint=constraint)
    vault = Namespace.objects.create(name="vault", canonical="vault", visibility=Visibility.PRIVATE)
    calls(add_module(vault, "hidden/aws"), "acme/vpc/aws")

    response = browser_of(bob).get(URL)

    assert {one.use.address.name: (one.gets, one.lifecycle) for one in response.context["callers"]} == {
        "yanked": ("", "maintained"),
        "old": ("1.1.0", "deprecated"),
        "new": ("2.0.0", "maintained"),
        "unknown": (None, "maintained"),
        "none": ("", "maintained"),
    }
    assert "5 modules use it" in pages.shown(response)
    assert "vault" not in pages.shown(response), "what is hidden is neither named nor counted"


def test_a_provider_has_the_page_too(acme, pantry, browser_of, dora):
    provider_version(acme, "dns", "1.0.0", key=row_of_key(acme, 1))
    requires(add_module(pantry, "app/aws"), "acme/dns", constraint="~> 1.0")

    response = browser_of(dora).get("/providers/acme/dns/usage")

    assert [(str(one.use.address), one.gets) for one in response.context["callers"]] == [("pantry/app/aws", "1.0.0")]
    assert "No pipeline has reported a version" in pages.shown(response)


def test_owners_alone_read_what_pipelines_reported(vpc, reports, browser_of, alice, bob, dora):
    reports(bob, "live", "1.1.0")
    reports(bob, "test", "2.0.0")
    reports(bob, "old", "2.0.0")
    Configuration.objects.filter(folder="old").update(reported_at=timezone.now() - timedelta(days=91))

    owner, publisher = (pages.shown(browser_of(one).get(URL)) for one in (dora, alice))

    assert REPORTED.format(2) in owner
    assert 'team/infra <span class="mono faint">live</span>' in owner
    assert "team/infra" not in publisher
    assert "Reported" not in publisher
    outdated = pages.shown(browser_of(dora).get("/modules/acme/vpc/aws/outdated"))
    assert REPORTED.format(1) in outdated, "of old versions alone"
    assert ("live" in outdated, ">test<" in outdated) == (True, False)


def test_owners_read_which_teams_fetched_or_reported_it_and_no_name_of_a_hidden_one(
    vpc, acme, reports, browser_of, olga, dora, bob
):
    acme.visibility = Visibility.INTERNAL
    acme.save()
    team = teams.create(name="cooks", actor=Viewer(olga))
    reports(service_accounts.create(team=team, name="ci", actor=Viewer(olga)), "live", "2.0.0")
    release, day = Release.objects.get(version="2.0.0"), timezone.now().date()
    DownloadCount.objects.create(release=release, day=day, client="OpenTofu 1.12.6", count=7)
    TeamDownload.objects.create(release=release, day=day, team=team, count=2)
    hidden = pages.shown(browser_of(dora).get(URL))
    Grant.objects.create(namespace=acme, team=team, role=Role.READER)
    owner, reader = (pages.shown(browser_of(one).get(URL)) for one in (dora, bob))

    assert ("a service account" in hidden, "cooks" in hidden) == (True, False)
    assert "ci[bot]" in owner
    assert ("downloaded 7 times" in owner, "downloaded 7 times" in reader) == (True, True)
    assert ("cooks" in owner, "cooks" in reader) == (True, False)


def test_module_pages_lead_to_it_and_it_leads_to_its_parts(vpc, browser_of, dora, bob):
    module = pages.shown(browser_of(bob).get("/modules/acme/vpc/aws"))
    assert f'href="{URL}">Usage</a>' in module
    for part in ("usage", "downloads", "outdated"):
        text = pages.shown(browser_of(dora).get(f"/modules/acme/vpc/aws/{part}"))
        for other in ("usage", "downloads", "outdated"):
            assert f'class="segmented__option" href="/modules/acme/vpc/aws/{other}"' in text, (part, other)
    assert "/outdated" not in pages.shown(browser_of(bob).get(URL)), "a reader may not open it"


def test_many_callers_and_reports_cost_as_much_as_few(vpc, pantry, reports, browser_of, bob, dora):
    costs, browser = [], browser_of(dora)
    for number in range(9):
        calls(add_module(pantry, f"m{number}/aws"), "acme/vpc/aws", constraint=f">= 1.{number}")
        reports(bob, str(number), "2.0.0")
        with CaptureQueriesContext(connection) as queries:
            assert browser.get(URL).status_code == 200
        costs.append(len(queries))

    assert costs[-1] == costs[1] <= 20
