"""GET /api/v1/modules/…/downloads and …/outdated, and those of providers"""

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Role, Scope
from apps.accounts.people import teams
from apps.releases.models import DownloadCount, Lifecycle, Release, TeamDownload
from tests.modules.dependents.rows import calls, requires
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module

VPC = "/api/v1/modules/acme/vpc/aws"
DNS = "/api/v1/providers/acme/dns"


@pytest.fixture
def used(acme, olga):
    add_module(acme, "vpc/aws", "1.0.0", "2.0.0")
    Release.objects.filter(version="1.0.0").update(lifecycle=Lifecycle.DEPRECATED)
    provider_version(acme, "dns", "1.0.0", key=row_of_key(acme, 1), lifecycle=Lifecycle.YANKED)
    team = teams.create(name="cooks", actor=Viewer(olga))
    Grant.objects.create(namespace=acme, team=team, role=Role.READER)
    day = timezone.now().date()
    for release in Release.objects.all():
        DownloadCount.objects.create(release=release, day=day, client="OpenTofu 1.12.6", count=7)
        TeamDownload.objects.create(release=release, day=day, team=team, count=2)


@pytest.mark.both
def test_it_counts_by_day_version_and_client_and_for_owners_by_team(used, client, bearer, dora, bob):
    said = client.get(f"{VPC}/downloads", headers=bearer(dora)).json()

    assert said["totals"] == {"ever": 14, "week": 14, "month": 14, "year": 14}
    assert len(said["days"]) == 30
    assert said["days"][-1] == {"day": timezone.now().date().isoformat(), "count": 14}
    assert said["versions"] == [
        {"version": "2.0.0", "lifecycle": "maintained", "count": 7},
        {"version": "1.0.0", "lifecycle": "deprecated", "count": 7},
    ]
    assert said["clients"] == [{"client": "OpenTofu 1.12.6", "count": 14}]
    assert said["teams"] == [{"team": "cooks", "account": None, "count": 4}]
    assert client.get(f"{VPC}/downloads", headers=bearer(bob)).json()["teams"] is None
    assert client.get(f"{VPC}/downloads", headers=bearer(dora, Scope.READ)).json()["teams"] is None


def test_of_one_version_and_of_a_provider(used, client, bearer, dora):
    one = client.get(f"{VPC}/downloads?version=1.0.0&days=90", headers=bearer(dora)).json()
    provider = client.get(f"{DNS}/downloads", headers=bearer(dora)).json()

    assert (one["totals"]["ever"], one["versions"], len(one["days"])) == (7, [], 90)
    assert (provider["totals"]["ever"], provider["teams"][0]["count"]) == (7, 2)
    for query, status in (("days=31", 422), ("version=9.9.9", 404), ("version=x%00", 404)):
        assert client.get(f"{VPC}/downloads?{query}", headers=bearer(dora)).status_code == status


def test_owners_list_modules_that_are_still_on_old_versions(used, pantry, client, bearer, dora, alice):
    calls(add_module(pantry, "old/aws"), "acme/vpc/aws", constraint="< 2.0.0")
    requires(add_module(pantry, "fails/aws"), "acme/dns")

    assert client.get(f"{VPC}/outdated", headers=bearer(dora)).json() == {
        "modules": [
            {
                "address": "pantry/old/aws",
                "version": "1.0.0",
                "constraint": "< 2.0.0",
                "gets": "1.0.0",
                "lifecycle": "deprecated",
                "fails": False,
            }
        ],
        "next": None,
    }
    provider = client.get(f"{DNS}/outdated", headers=bearer(dora)).json()["modules"]
    assert [(one["address"], one["fails"]) for one in provider] == [("pantry/fails/aws", True)]
    assert client.get(f"{VPC}/outdated", headers=bearer(alice)).status_code == 403
