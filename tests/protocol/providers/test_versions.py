"""GET /v1/providers/<namespace>/<type>/versions"""

import json
import uuid

import pytest
from semver import Version

from apps.lib import versions
from apps.lib.addresses import ProviderAddress, check_provider_type
from apps.lib.errors import Invalid
from apps.releases.models import Release
from tests.protocol.providers import cast
from tests.rows import for_each_row

URL = "/v1/providers/acme/dns/versions"


@pytest.fixture
def key(acme):
    return cast.frozen_key(acme)


@pytest.fixture
def dns(key):
    for number in ("1.2.0", "2.0.0-rc.1", "1.10.0", "1.9.9+b1"):
        cast.add_version(key, None, "dns", number)
    return key


def numbers(response) -> list[str]:
    return [one["version"] for one in json.loads(response.content)["versions"]]


def test_versions_document_is_frozen(tofu, bob, dns, golden):
    """tofu and terraform parse this. Changing a byte needs a reason in the commit."""
    response = tofu(bob).get(URL)

    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert response.headers["Vary"] == "Authorization"
    assert response.content == golden("providers_v1/versions.json")


@pytest.mark.both
def test_m7_every_number_is_strict_semver_without_v_highest_first(tofu, bob, dns):
    found = numbers(tofu(bob).get(URL))

    assert found == ["2.0.0-rc.1", "1.10.0", "1.9.9+b1", "1.2.0"]
    assert found == sorted(found, key=Version.parse, reverse=True)


@for_each_row("name", ["terraform-x", "opentofu-x", "DNS", "d_ns", "d--ns", "-dns", "dns-", "d.ns"])
def test_s14_types_that_clients_refuse_are_refused_here(tofu, bob, dns, name):
    with pytest.raises(Invalid):
        check_provider_type(name)

    assert tofu(bob).get(f"/v1/providers/acme/{name}/versions").status_code == 404


@for_each_row("state", ["receiving", "received", "checking", "held", "signing", "rejected", "failed"])
def test_m13_what_is_on_its_way_is_not_listed(tofu, bob, dns, state):
    """Its row as a version comes into being in the transaction that publishes it."""
    on_its_way = Release.objects.get(version="1.10.0")
    on_its_way.pk, on_its_way.public_id, on_its_way.version, on_its_way.state = None, uuid.uuid4(), "3.0.0", state
    on_its_way.sort_key = versions.sort_key("3.0.0")
    on_its_way.save(force_insert=True)

    assert "3.0.0" not in numbers(tofu(bob).get(URL))
    assert tofu(bob).get("/v1/providers/acme/dns/3.0.0/download/linux/amd64").status_code == 404


@for_each_row("platforms", [1, 4])
@for_each_row("count", [1, 8])
def test_m15_it_costs_three_queries_at_any_length(tofu, bob, key, django_assert_num_queries, count, platforms):
    for position in range(count):
        version = cast.add_row(key, "dns", f"1.{position}.0", sums="a" * 64, signature="b" * 64)
        for place in range(platforms):
            cast.add_package(version, f"dns_linux_arch{place}.zip", f"{place:064x}", 1)
    client = tofu(bob)
    with django_assert_num_queries(3):  # token, gate, versions with their platforms
        response = client.get(URL)

    assert len(numbers(response)) == count
    assert {len(one["platforms"]) for one in json.loads(response.content)["versions"]} == {platforms}


def test_what_it_begins_with_is_no_service_of_its_own(tofu, bob):
    assert ProviderAddress("acme", "dns") == ProviderAddress.parse("acme/dns")
    assert tofu(bob).get("/v1/providers/").status_code == 404
