"""Versions that were lately held back, and from whom: for staff, because clients print nothing of it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.contrib.mirror.models import HeldBack, Upstream, UpstreamVersion
from apps.contrib.mirror.policy import held_back
from apps.contrib.mirror.tests import fetched
from apps.contrib.mirror.tests.edge_client import Edge, version_url
from tests import pages


@pytest.fixture
def cooling(upstream: Upstream, registry) -> Upstream:
    """acme/tool has 1.0.0, and 1.1.0 in its cool-down."""
    held_back.flush()  # that of other tests
    registry.add_provider(versions=["1.0.0", "1.1.0"])
    upstream.cooldown_days = 3
    upstream.save()
    return upstream


@pytest.mark.both
def test_staff_see_what_was_held_back_from_whom_in_the_last_hour_and_allow_it_from_there(
    cooling, bearer, alice, olga, browser_of
):
    mine, nobody = Edge(bearer(alice)), Edge({})
    assert mine.versions(cooling) == ["1.0.0"]
    assert nobody.versions(cooling) == ["1.0.0"]
    assert nobody.get(version_url(cooling, "1.1.0")).status_code == 409
    assert not HeldBack.objects.exists(), "no request writes it"
    held_back.flush()
    mine.versions(cooling)
    held_back.flush()
    assert HeldBack.objects.count() == 2

    staff = browser_of(olga)
    page = pages.shown(staff.get("/mirror"))
    assert page.count("registry.other.example/acme/tool 1.1.0") == 2
    assert "alice" in page
    assert "clients without a token" in page
    link = "/mirror/registry.other.example/policy?address=acme/tool&version=1.1.0#allow"
    for url in ("/mirror", "/mirror/providers/registry.other.example/acme/tool/1.1.0"):
        assert f'href="{link}"' in staff.get(url).content.decode().replace("&amp;", "&").replace("%2F", "/"), url
    form = staff.get(link.partition("#")[0]).content.decode()
    assert 'value="acme/tool"' in form
    assert 'value="1.1.0"' in form

    HeldBack.objects.filter(user=None).update(at=timezone.now() - timedelta(minutes=61))
    assert "clients without a token" not in pages.shown(staff.get("/mirror"))
    mine.versions(cooling)
    held_back.flush()
    assert HeldBack.objects.get().user == alice, "what is over is deleted"


def test_only_staff_see_it(cooling, bearer, alice, browser_of):
    Edge(bearer(alice)).versions(cooling)
    held_back.flush()
    assert "Held back in the last hour" not in pages.shown(browser_of(alice).get("/mirror"))
    page = browser_of(alice).get("/mirror/providers/registry.other.example/acme/tool/1.1.0").content.decode()
    assert "Allow this version" not in page
    assert "is held back until" in page


def test_what_is_stored_of_it_is_bounded(cooling, registry, monkeypatch):
    registry._providers[0].versions = [f"1.{minor}.0" for minor in range(20)]
    edge = Edge({})
    fetched.listed(cooling)
    UpstreamVersion.objects.update(was_in_first_list=False)
    assert edge.versions(cooling) == []
    held_back.flush()
    assert HeldBack.objects.count() == held_back.MOST_OF_A_LIST

    HeldBack.objects.all().delete()
    monkeypatch.setattr(held_back, "MOST_ROWS", 2)
    edge.versions(cooling)
    held_back.flush()
    assert HeldBack.objects.count() == 2


def test_a_version_that_is_gone_meanwhile_is_not_written(cooling):
    Edge({}).versions(cooling)
    UpstreamVersion.objects.all().delete()
    held_back.flush()
    assert not HeldBack.objects.exists()
