"""Lists of versions: what is read, refused, kept while the registry is down, and what vanished."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.audit import generation
from apps.contrib.mirror.errors import FetchFailed, Refused
from apps.contrib.mirror.models import Upstream, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.records import lists
from apps.contrib.mirror.serving import on_demand
from apps.contrib.mirror.tests import fetched
from apps.jobs.models import Job
from apps.jobs.waiting import NotYet
from apps.lib.errors import NotFound, Unavailable
from tests.builders import faults
from tests.rows import for_each_row


def names(provider: UpstreamProvider) -> list[str]:
    rows = provider.versions.filter(is_listed=True).order_by("sort_key")
    return list(rows.values_list("version", flat=True))


def refreshed(upstream: Upstream) -> UpstreamProvider:
    provider = UpstreamProvider.objects.get()
    fetched.stale(provider, days=1)
    return fetched.listed(upstream)


def scopes() -> dict[str, int]:
    return generation.changes_since(connection, 0)


@pytest.mark.both
def test_pre_releases_and_build_metadata_are_kept_and_other_names_are_skipped_and_counted(upstream, registry):
    registry.add_provider(versions=["1.0.0-beta", "1.0.0-rc.1", "1.0.0+build.7", "2.0.0", "v3.0.0", "1.2", "newest"])
    provider = fetched.listed(upstream)
    assert names(provider) == ["1.0.0-beta", "1.0.0-rc.1", "1.0.0+build.7", "2.0.0"]
    assert provider.skipped == 3
    assert fetched.stored(upstream, "1.0.0+build.7").blob is not None


def test_what_the_first_list_has_below_its_highest_is_old_and_others_count_from_their_date_or_the_day_they_were_seen(
    upstream, registry
):
    tool = registry.add_provider(versions=["1.0.1", "1.0.0"])
    fetched.listed(upstream)
    tool.versions += ["1.1.0", "1.2.0", "1.3.0", "1.4.0"]
    tool.more["1.1.0"] = {"published_at": "2018-05-01T10:00:00Z"}
    tool.more["1.3.0"] = {"published_at": "yesterday"}
    tool.more["1.4.0"] = {"published_at": f"{timezone.now() + timedelta(days=400):%Y-%m-%d}"}
    refreshed(upstream)
    found = {row.version: row for row in UpstreamVersion.objects.all()}
    assert [number for number, row in found.items() if row.was_in_first_list] == ["1.0.0"]
    assert found["1.0.0"].known_since is None
    assert found["1.0.1"].known_since == found["1.0.1"].first_seen_at
    assert found["1.1.0"].known_since == datetime(2018, 5, 1, 10, tzinfo=UTC)
    for undated in ("1.2.0", "1.3.0", "1.4.0"):
        assert found[undated].published_at is None
        assert found[undated].known_since == found[undated].first_seen_at

    tool.more["1.1.0"] = {"published_at": "2024-05-01T10:00:00Z"}
    refreshed(upstream)
    assert str(UpstreamVersion.objects.get(version="1.1.0").published_at).startswith("2018-")


@pytest.mark.both
def test_a_list_is_repeated_without_asking_then_asked_conditionally(upstream, registry):
    tool = registry.add_provider()
    fetched.listed(upstream)
    fetched.listed(upstream)
    assert registry.count(tool.list_path) == 1
    before = scopes()
    provider = refreshed(upstream)
    assert registry.count(tool.list_path) == 2
    assert "if-none-match" in registry.requests[-1].headers
    assert lists.is_fresh(provider)
    assert scopes() == before, "nothing has changed, so answers may be repeated"
    tool.versions.append("1.1.0")
    refreshed(upstream)
    changed = {scope for scope, number in scopes().items() if before.get(scope) != number}
    assert lists.scope_of(provider) in changed
    assert generation.EVERYTHING not in changed


@pytest.mark.both
def test_more_versions_than_the_limit_are_refused_with_it_and_as_many_are_read(upstream, registry, monkeypatch):
    monkeypatch.setattr(lists, "MAX_VERSIONS", 1_200)  # several statements
    tool = registry.add_provider()
    body = {"versions": [{"version": f"1.0.{number}"} for number in range(1_201)]}
    registry.misbehave(tool.list_path, faults.wrong_shape(body))
    with pytest.raises(Unavailable, match=r"1,201 versions, expected at most 1,200.*max_versions"):
        fetched.listed(upstream)
    assert not UpstreamVersion.objects.exists()

    registry.misbehave(tool.list_path, faults.wrong_shape({"versions": body["versions"][:1_200]}))
    fetched.without_pauses()
    assert fetched.listed(upstream).versions.count() == 1_200


@for_each_row(
    "body",
    [
        [],
        {},
        {"versions": None},
        {"versions": {}},
        {"versions": ["1.0.0"]},
        {"versions": [{"version": 1}, {"number": "1.0.0"}]},
    ],
)
def test_a_list_of_another_shape_is_refused_whole(body):
    with pytest.raises(FetchFailed) as refused:
        lists.parse(body, url="https://registry.other.example/")
    assert (refused.value.code, refused.value.rule) == ("bad_shape", "shape")
    assert "found" in str(refused.value)
    assert "expected" in str(refused.value)


LINUX = {"os": "linux", "arch": "amd64"}
MANY = [{"os": "aix", "arch": f"a{one:02}"} for one in range(64)]


@for_each_row(
    ("entry", "platforms", "protocols", "left_out"),
    [
        ("1.1.0", None, None, 1),
        ({"version": 1.1}, None, None, 1),
        ({"version": None}, None, None, 1),
        ({"version": "1.1"}, None, None, 1),
        ({"version": "1.1.0", "platforms": "linux"}, None, None, 1),
        ({"version": "1.1.0", "protocols": {"5.0": True}}, None, None, 1),
        ({"version": "1.1.0", "protocols": None, "platforms": None}, [], [], 0),
        ({"version": "1.1.0", "platforms": ["linux_amd64", LINUX]}, [["linux", "amd64"]], [], 1),
        ({"version": "1.1.0", "platforms": [{"os": "linux"}, LINUX, LINUX]}, [["linux", "amd64"]], [], 1),
        ({"version": "1.1.0", "platforms": [{"os": "lin ux", "arch": "amd64"}, LINUX]}, [["linux", "amd64"]], [], 1),
        ({"version": "1.1.0", "platforms": [{"os": "../..", "arch": "amd64"}, LINUX]}, [["linux", "amd64"]], [], 1),
        ({"version": "1.1.0", "protocols": [5, "5.1", None, "6"]}, [], ["5.1", "6"], 2),
    ],
)
def test_one_odd_entry_is_left_out_and_takes_no_other_from_clients(entry, platforms, protocols, left_out):
    sound = {"version": "1.0.0", "protocols": ["5.0"], "platforms": [LINUX]}
    found = lists.parse({"versions": [entry, sound]}, url="https://registry.other.example/")
    by_version = {one.version: one for one in found.versions.values()}
    assert by_version["1.0.0"].platforms == [["linux", "amd64"]]
    assert by_version["1.0.0"].protocols == ["5.0"]
    assert found.skipped == left_out
    if platforms is None:
        assert list(by_version) == ["1.0.0"]
    else:
        assert (by_version["1.1.0"].platforms, by_version["1.1.0"].protocols) == (platforms, protocols)


def test_of_more_platforms_than_64_the_usual_ones_stay():
    entry = {"version": "1.0.0", "platforms": [*MANY, {"os": "windows", "arch": "amd64"}]}
    found = lists.parse({"versions": [entry]}, url="https://registry.other.example/")
    (listed,) = found.versions.values()
    assert len(listed.platforms) == lists.MAX_PLATFORMS
    assert ["windows", "amd64"] in listed.platforms
    assert found.skipped == 1


def test_the_last_list_is_served_while_there_is_no_good_one_and_no_longer_than_the_setting_says(upstream, registry):
    tool = registry.add_provider()
    fetched.listed(upstream)
    registry.misbehave(tool.list_path, faults.wrong_shape())
    assert names(refreshed(upstream)) == ["1.0.0"]
    assert UpstreamProvider.objects.get().failure["code"] == "bad_shape"

    registry.stop()
    fetched.without_pauses()
    assert names(refreshed(upstream)) == ["1.0.0"]
    failure = UpstreamProvider.objects.get().failure
    assert (failure["code"], registry.url in failure["url"]) == ("unreachable", True)
    fetched.stale(UpstreamProvider.objects.get(), hours=upstream.stale_hours + 1)
    with pytest.raises(Unavailable, match=registry.url):
        fetched.listed(upstream)


def test_a_failure_is_remembered_so_that_clients_do_not_hammer(upstream, registry):
    tool = registry.add_provider()
    registry.misbehave(tool.list_path, faults.says(429, Retry_After="120"))
    with pytest.raises(Unavailable, match=r"429"):
        fetched.listed(upstream)
    asked = registry.count(tool.list_path)
    with pytest.raises(Unavailable):
        fetched.listed(upstream)
    assert registry.count(tool.list_path) == asked
    retry_at = UpstreamProvider.objects.get().retry_at
    assert retry_at is not None
    wait = retry_at - timezone.now()
    assert timedelta(seconds=100) < wait <= timedelta(seconds=120)


def test_a_provider_that_the_registry_does_not_have_is_not_found(upstream, registry):
    with pytest.raises(NotFound, match=r"acme/nothing was not found: .* answered 404"):
        fetched.listed(upstream, "acme/nothing")


@for_each_row("name", ["1.5", "-tool", "tool-", "to ol", "", "t" * 65])
def test_a_name_that_no_client_sends_is_asked_of_no_registry(upstream, registry, name):
    for namespace, kind in ((name, "tool"), ("acme", name)):
        with pytest.raises(NotFound, match="cannot be the address of a provider"):
            on_demand.provider_with_list(upstream, namespace, kind, by=None, until=time.monotonic())
    assert registry.requests == []
    assert not UpstreamProvider.objects.exists()
    assert not Job.objects.exists()


def test_a_sealed_upstream_fetches_nothing_on_demand(upstream, registry):
    tool = registry.add_provider(versions=["1.0.0", "1.1.0"])
    known = fetched.stored(upstream, "1.0.0")
    Upstream.objects.update(is_sealed=True)
    upstream.refresh_from_db()
    asked = len(registry.requests)
    with pytest.raises(NotFound) as missing:
        fetched.listed(upstream, "acme/other")
    assert "offline mode" in missing.value.hint
    assert not UpstreamProvider.objects.filter(type="other").exists()
    assert names(refreshed(upstream)) == ["1.0.0", "1.1.0"]
    assert fetched.stored(upstream, "1.0.0").blob == known.blob
    with pytest.raises(Refused, match=r"1\.1\.0 is not stored"):
        fetched.recorded(upstream, "1.1.0")
    assert len(registry.requests) == asked
    assert tool.versions


def test_a_refresh_that_takes_long_is_not_waited_for_where_a_list_is_known(upstream, registry, monkeypatch):
    registry.add_provider()
    fetched.stale(fetched.listed(upstream), hours=1)
    with pytest.raises(NotYet):
        on_demand.provider_with_list(upstream, "acme", "tool", by=None, until=time.monotonic() + 30)
    monkeypatch.setattr(on_demand, "PATIENCE", timedelta(0))
    found = on_demand.provider_with_list(upstream, "acme", "tool", by=None, until=time.monotonic() + 30)
    assert names(found) == ["1.0.0"]


def test_a_platform_that_is_listed_later_is_added_by_the_sums_that_were_verified(upstream, registry):
    tool = registry.add_provider(platforms=["linux_amd64", "darwin_arm64"])
    tool.more["1.0.0"] = {"platforms": [{"os": "linux", "arch": "amd64"}]}
    assert fetched.recorded(upstream).packages.count() == 1
    del tool.more["1.0.0"]
    refreshed(upstream)
    assert fetched.stored(upstream, platform="darwin_arm64").blob is not None
    assert registry.count(tool.sums_path("1.0.0")) == 1


def test_a_list_that_is_never_kept_is_read_once_for_each_request(upstream, registry):
    tool = registry.add_provider()
    Upstream.objects.update(list_seconds=0)
    upstream.refresh_from_db()
    for asked in (1, 2):
        since = timezone.now()
        with pytest.raises(NotYet):
            on_demand.provider_with_list(upstream, "acme", "tool", by=None, until=time.monotonic() + 30, since=since)
        fetched.work()
        on_demand.provider_with_list(upstream, "acme", "tool", by=None, until=time.monotonic() + 30, since=since)
        assert registry.count(tool.list_path) == asked
