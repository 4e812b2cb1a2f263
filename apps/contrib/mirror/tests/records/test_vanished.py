"""Versions that a registry no longer lists: what is stored is served on until staff say that it is gone."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.models import (
    Absence,
    Alarm,
    AlarmKind,
    AlarmState,
    Upstream,
    UpstreamProvider,
    UpstreamVersion,
)
from apps.contrib.mirror.policy import policy_exceptions
from apps.contrib.mirror.records import alarms
from apps.contrib.mirror.serving import catalogue
from apps.contrib.mirror.tests import fetched
from apps.contrib.mirror.tests.edge_client import Edge, body_of, package_url, version_url
from tests.builders import faults


@pytest.fixture
def tool(registry):
    return registry.add_provider(versions=["1.0.0", "1.1.0", "1.2.0"])


@pytest.fixture
def staff(olga) -> Viewer:
    return Viewer(olga)


@pytest.fixture
def stored(upstream, tool) -> Edge:
    """A client has fetched 1.0.0 and 1.1.0."""
    edge = Edge({})
    for number in ("1.0.0", "1.1.0"):
        edge.zip(upstream, number)
    return edge


def drop(tool, *numbers: str) -> None:
    """The registry no longer lists these, and each list that was read is old."""
    tool.versions = [one for one in tool.versions if one not in numbers]
    read_again()


def read_again() -> None:
    fetched.stale(UpstreamProvider.objects.get(), days=1)


def url_of(*, number: str = "1.0.0") -> str:
    return f"/mirror/providers/registry.other.example/acme/tool/{number}"


@pytest.mark.both
def test_a_stored_version_stays_listed_and_installs_while_its_alarm_is_open(upstream, registry, tool, stored, client):
    drop(tool, "1.0.0", "1.2.0")
    assert stored.versions(upstream) == ["1.1.0", "1.0.0"], "1.2.0 is not stored"
    registry.misbehave("*", faults.says(404))
    assert stored.zip(upstream, "1.0.0") == tool.zip("1.0.0")
    alarm = Alarm.objects.get()
    assert (alarm.kind, alarm.state, alarm.subject) == (AlarmKind.LIST_SHRANK, AlarmState.OPEN, f"{upstream}/acme/tool")
    assert alarm.known == {"listed": 3, "vanished": ["1.2.0", "1.0.0"], "more": 0}
    assert alarm.found["listed"] == 1
    page = client.get(url_of()).content.decode()
    assert "Clients see it" in page
    assert "No longer listed" in page
    said = client.get(f"/api/v1/upstreams/{upstream}/providers/acme/tool/versions/1.0.0").json()
    assert (said["listed"], said["available"], said["removed"]) == (False, True, False)


def test_an_empty_list_empties_no_provider(upstream, tool, stored, client):
    tool.versions.clear()
    read_again()
    assert stored.versions(upstream) == ["1.1.0", "1.0.0"]
    newest = catalogue.newest_for_clients(UpstreamProvider.objects.get())
    assert newest is not None
    assert newest.version == "1.1.0"
    assert "1.1.0" in client.get("/mirror/providers").content.decode()


@pytest.mark.both
def test_accepted_it_is_gone_and_an_exception_brings_it_back(upstream, tool, stored, staff, client):
    drop(tool, "1.0.0")
    assert stored.versions(upstream) == ["1.2.0", "1.1.0", "1.0.0"]
    alarms.accept(Alarm.objects.get(), actor=staff, reason="The publisher withdrew it.")
    assert stored.versions(upstream) == ["1.2.0", "1.1.0"]
    assert stored.get(version_url(upstream, "1.0.0")).status_code == 404
    assert stored.get(package_url(upstream)).status_code == 403
    assert "Removed" in client.get(url_of()).content.decode()
    Upstream.objects.update(is_sealed=True)
    assert stored.versions(upstream) == ["1.1.0"]

    version = UpstreamVersion.objects.select_related("provider__upstream").get(version="1.0.0")
    until = timezone.now() + timedelta(days=3)
    policy_exceptions.allow(version, reason="A release needs it.", expires_at=until, actor=staff)
    assert stored.versions(upstream) == ["1.1.0", "1.0.0"]
    assert list(stored.archives(upstream, "1.0.0")) == ["linux_amd64"]
    assert body_of(stored.get(package_url(upstream))) == tool.zip("1.0.0")


@pytest.mark.both
def test_dismissed_it_is_served_on_and_a_later_decision_is_about_what_vanished_since(upstream, tool, stored, staff):
    drop(tool, "1.0.0")
    stored.versions(upstream)
    alarms.dismiss(Alarm.objects.get(), actor=staff, reason="An outage of theirs.")
    drop(tool, "1.1.0")
    assert stored.versions(upstream) == ["1.2.0", "1.1.0", "1.0.0"]
    alarm = Alarm.objects.get(state=AlarmState.OPEN)
    assert alarm.known["vanished"] == ["1.1.0"]
    alarms.accept(alarm, actor=staff, reason="The publisher withdrew it.")
    assert stored.versions(upstream) == ["1.2.0", "1.0.0"]

    tool.versions = ["1.0.0", "1.1.0", "1.2.0"]
    read_again()
    assert stored.versions(upstream) == ["1.2.0", "1.1.0", "1.0.0"], "the registry lists it again"
    assert set(UpstreamVersion.objects.values_list("absence", flat=True)) == {Absence.UNDECIDED}


def test_an_alarm_that_is_open_names_all_that_vanished_meanwhile(upstream, tool, stored):
    drop(tool, "1.0.0")
    stored.versions(upstream)
    drop(tool, "1.1.0")
    stored.versions(upstream)
    assert Alarm.objects.get().known == {"listed": 2, "vanished": ["1.1.0", "1.0.0"], "more": 0}


def test_policy_holds_for_it_as_for_all(upstream, tool, stored):
    drop(tool, "1.0.0")
    stored.versions(upstream)
    Upstream.objects.update(cooldown_days=3)
    UpstreamVersion.objects.filter(version="1.0.0").update(published_at=timezone.now())
    assert stored.versions(upstream) == ["1.1.0"]
    assert stored.get(version_url(upstream, "1.0.0")).status_code == 409
