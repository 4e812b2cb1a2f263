"""/v1/providers/<namespace>/<type>, and with a version: where update bots look for the repository of a provider."""

import json

import pytest

from apps.providers import catalogue
from apps.providers.models import Provider
from apps.releases.models import Lifecycle, Release
from tests.protocol.providers import cast
from tests.rows import for_each_row

LATEST = "/v1/providers/acme/dns"


@pytest.fixture
def dns(acme):
    key = cast.frozen_key(acme)
    for number in ("1.2.0", "2.0.0-rc.1", "1.10.0"):
        cast.add_version(key, None, "dns", number)
    described = {"description": "Records of zones", "source_url": "https://git.example.com/acme/terraform-provider-dns"}
    Provider.objects.update(**described)
    return Provider.objects.get()


def get(client, path=LATEST):
    response = client.get(path)
    assert response.status_code == 200, response.content
    return json.loads(response.content)


def test_details_are_frozen(tofu, bob, dns, golden):
    """Update bots parse these. Changing a byte needs a reason in the commit."""
    catalogue.refresh(dns)
    response = tofu(bob).get(LATEST)

    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert response.content == golden("providers_v1/details.json")


def test_without_a_version_it_is_the_highest_stable_listed_one(tofu, bob, charlie, dns):
    client = tofu(bob)
    assert get(client)["version"] == "1.10.0"

    Release.objects.filter(version="1.10.0").update(lifecycle=Lifecycle.YANKED)

    latest = get(client)
    assert (latest["version"], latest["versions"]) == ("1.2.0", ["1.2.0", "2.0.0-rc.1"])
    assert get(client, f"{LATEST}/versions")["source"] == dns.source_url
    Release.objects.update(lifecycle=Lifecycle.YANKED)
    assert client.get(LATEST).status_code == 404
    for number, status in {"1.10.0": 200, "1.2.0": 200, "1.2.0+again": 200, "9.0.0": 404, "v1.2.0": 404}.items():
        assert client.get(f"{LATEST}/{number}").status_code == status, number
    for path in (LATEST, f"{LATEST}/1.2.0"):
        assert (tofu(charlie).get(path).status_code, tofu().get(path).status_code) == (404, 401)


@for_each_row("count", [2, 12])
@for_each_row("end", ["", "/1.0.0"])
def test_it_costs_the_same_at_any_length(tofu, bob, acme, django_assert_max_num_queries, count, end):
    key = cast.frozen_key(acme)
    for position in range(count):
        cast.add_row(key, "dns", f"1.{position}.0", sums="a" * 64, signature="b" * 64)
    client = tofu(bob)
    with django_assert_max_num_queries(7):  # token, gate, provider, version, packages, numbers, downloads
        assert len(get(client, LATEST + end)["versions"]) == count
