"""Dates of versions: in the lists of the OpenTofu registry and of Larder, and on the pages of registry.terraform.io."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.contrib.mirror.models import Upstream, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.records import dates, modules
from apps.contrib.mirror.tests import fetched
from apps.contrib.mirror.tests.edge_client import Edge
from tests.builders import faults
from tests.builders.misbehaving import Registry
from tests.rows import for_each_row

V2 = "/v2/providers/acme/tool"


def ago(**time: Any) -> str:
    """Write a time like Go."""
    return (timezone.now() - timedelta(**time)).isoformat(timespec="microseconds").replace("+00:00", "123Z")


@pytest.fixture
def edge() -> Edge:
    return Edge({})


@pytest.fixture
def cooling(upstream: Upstream) -> Upstream:
    upstream.cooldown_days = 3
    upstream.save()
    return upstream


def v2_of(published: dict[str, str], kind: str = "provider-versions") -> dict[str, Any]:
    """The answer of registry.terraform.io with `include`, in the shape of JSON:API."""
    included = [
        {
            "type": kind,
            "id": str(70_000 + at),
            "attributes": {"description": "", "downloads": 7, "published-at": date, "tag": f"v{one}", "version": one},
            "links": {"self": f"/v2/{kind}/{70_000 + at}"},
        }
        for at, (one, date) in enumerate(published.items())
    ]
    data = {"type": "providers", "id": "1", "attributes": {"full-name": "acme/tool", "tier": "community"}}
    return {"data": data, "included": [{"type": "categories", "id": "3"}, *included]}


def v1_of(version: str, published_at: str) -> dict[str, Any]:
    return {"id": f"acme/tool/{version}", "tag": f"v{version}", "version": version, "published_at": published_at}


# --- The OpenTofu registry --------------------------------------------------------------------------------------------


@pytest.mark.both
def test_a_version_that_the_registry_discovered_an_hour_ago_does_not_pass_the_cool_down_on_the_first_list(
    cooling, registry: Registry, edge: Edge
):
    tool = registry.add_provider(versions=["1.2.0", "1.1.0", "1.0.0"])
    tool.more["1.2.0"] = {"discovered": ago(hours=1)}
    tool.more["1.1.0"] = {"discovered": ago(days=40)}
    tool.more["1.0.0"] = {"discovered": "2026-04-21T19:22:08Z"}

    assert edge.versions(cooling) == ["1.1.0", "1.0.0"]
    refused = edge.get(f"/v1/mirror/{cooling.host}/acme/tool/1.2.0.json")
    assert refused.status_code == 409
    assert b"it was published on" in refused.content
    assert len(registry.requests) == 2, "discovery and the list: dates are in it"


def since(version: str) -> datetime:
    found = UpstreamVersion.objects.get(version=version).known_since
    assert found is not None
    return found


def test_the_earliest_date_that_a_registry_states_counts_whenever_it_states_it(cooling, registry: Registry):
    tool = registry.add_provider(versions=["1.0.0", "1.1.0"])
    tool.more["1.1.0"] = {"published_at": ago(days=400), "discovered": ago(hours=1)}
    tool.more["1.0.0"] = {"discovered": "2025-05-01T10:00:00Z"}
    fetched.listed(cooling)
    assert since("1.1.0") < timezone.now() - timedelta(days=399)
    for said, year in (("2026-05-01T10:00:00Z", 2025), ("2024-05-01T10:00:00Z", 2024), ("yesterday", 2024)):
        tool.more["1.0.0"] = {"discovered": said}
        fetched.stale(UpstreamProvider.objects.get(), days=1)
        fetched.listed(cooling)
        assert since("1.0.0").year == year


def test_a_date_that_comes_later_does_not_take_back_what_was_seen_long_before(cooling, registry: Registry, edge: Edge):
    """A registry begins to write dates, and gives all that it has the day on which it began."""
    tool = registry.add_provider(versions=["1.0.0", "1.1.0"])
    fetched.listed(cooling)
    UpstreamVersion.objects.update(first_seen_at=timezone.now() - timedelta(days=30))
    tool.more = {one: {"discovered": ago(hours=1)} for one in tool.versions}
    fetched.stale(UpstreamProvider.objects.get(), days=1)
    assert edge.versions(cooling) == ["1.1.0", "1.0.0"]


@for_each_row(
    ("text", "found"),
    [
        ("2026-06-01T15:00:40Z", datetime(2026, 6, 1, 15, 0, 40, tzinfo=UTC)),
        ("2026-06-01T17:00:40.123456789+02:00", datetime(2026, 6, 1, 15, 0, 40, 123456, tzinfo=UTC)),
        ("2026-06-01", datetime(2026, 6, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", None),  # Go's zero
        ("1970-01-01T00:00:00Z", None),
        ("2999-01-01T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
        (1780326040, None),
        (None, None),
    ],
)
def test_what_is_no_date_is_none(text, found):
    assert dates.stated({"discovered": text}) == found


# --- registry.terraform.io --------------------------------------------------------------------------------------------


def test_dates_of_all_versions_are_read_where_the_list_has_none(cooling, registry: Registry, edge: Edge):
    registry.add_provider(versions=["1.0.0", "1.1.0", "1.2.0"])
    registry.pages[V2] = v2_of({"1.0.0": ago(days=900), "1.1.0": ago(days=1), "1.2.0": ago(days=30)})
    assert edge.versions(cooling) == ["1.2.0", "1.0.0"]
    assert [one.query for one in registry.requests if one.path == V2] == ["include=provider-versions"]

    registry.pages[V2] = v2_of({"1.3.0": ago(days=20)})
    registry._providers[0].versions.append("1.3.0")
    fetched.stale(UpstreamProvider.objects.get(), days=1)
    assert edge.versions(cooling) == ["1.3.0", "1.2.0", "1.0.0"]


def test_without_that_the_page_of_the_highest_versions_says_their_dates(cooling, registry: Registry, edge: Edge):
    numbers = [f"1.{minor}.0" for minor in range(9)]
    registry.add_provider(versions=numbers)
    for number, days in (("1.8.0", 0), ("1.7.0", 1), ("1.6.0", 50), ("1.5.0", 60)):
        registry.pages[f"/v1/providers/acme/tool/{number}"] = v1_of(number, ago(days=days, hours=1))
    assert edge.versions(cooling) == numbers[6::-1]
    asked = [one.path.rpartition("/")[2] for one in registry.requests if "/tool/1." in one.path]
    assert asked == ["1.8.0", "1.7.0", "1.6.0"], "down to the first that is old enough"


def test_without_any_date_the_highest_of_a_first_list_counts_from_when_it_was_seen(cooling, registry: Registry, edge):
    registry.add_provider(versions=["1.0.0", "1.2.0", "1.1.0"])
    registry.add_provider("acme", "single", versions=["1.0.0"])
    assert edge.versions(cooling) == ["1.1.0", "1.0.0"]
    assert edge.versions(cooling, "acme/single") == []
    UpstreamVersion.objects.update(first_seen_at=timezone.now() - timedelta(days=3))
    assert edge.versions(cooling) == ["1.2.0", "1.1.0", "1.0.0"]
    assert edge.versions(cooling, "acme/single") == ["1.0.0"]


def test_nothing_is_asked_where_no_rule_looks_at_the_age(upstream, registry: Registry):
    registry.add_provider()
    fetched.listed(upstream)
    assert len(registry.requests) == 2


def test_while_the_pages_are_away_nothing_undated_counts_as_old_and_they_are_asked_again(cooling, registry, edge: Edge):
    registry.add_provider(versions=["1.0.0", "1.1.0"])
    registry.misbehave("/v2/*", faults.says(503))
    assert edge.versions(cooling) == []
    cooling.refresh_from_db()
    assert cooling.failures == 0, "the protocol goes on"

    registry.behave()
    registry.pages[V2] = v2_of({"1.0.0": ago(days=900), "1.1.0": ago(days=90)})
    fetched.stale(UpstreamProvider.objects.get(), days=1)
    assert edge.versions(cooling) == ["1.1.0", "1.0.0"]


@for_each_row(
    "body", [{}, {"included": None}, {"included": ["1.0.0", {"type": "provider-versions"}]}, v2_of({"2": "?"})]
)
def test_a_page_of_another_shape_says_nothing(cooling, registry: Registry, body):
    registry.add_provider(versions=["1.0.0"])
    registry.pages[V2] = body
    assert fetched.version(cooling).published_at is None


# --- Modules ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["list", "v2", "v1"])
def test_dates_of_modules_are_read_in_the_same_places(cooling, registry: Registry, where):
    listed = registry.add_module("acme/vpc/aws", "git::https://example.com/vpc.git?ref=v{version}", ["1.0.0", "1.1.0"])
    if where == "list":
        listed.more = {"1.1.0": {"discovered": ago(hours=2)}}
    elif where == "v2":
        registry.pages["/v2/modules/acme/vpc/aws"] = v2_of({"1.1.0": ago(hours=2)}, "module-versions")
    else:
        registry.pages["/v1/modules/acme/vpc/aws/1.1.0"] = v1_of("1.1.0", ago(hours=2))
    module = modules.HostedModule(cooling.host, "acme", "vpc", "aws")
    found = {one.version: one.published_at for one in modules.listed(cooling, module)}
    assert found["1.0.0"] is None
    assert found["1.1.0"] is not None
    assert found["1.1.0"] < timezone.now() - timedelta(hours=1)
