"""What operators see first."""

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Membership, Namespace, User
from apps.modules.models import ModuleVersion
from apps.releases.models import Release
from tests.admin import rows
from tests.portal.provider_rows import provider_version, row_of_key


def tiles(client):
    return {tile["label"]: tile for tile in client.get(reverse("admin:index")).context["tiles"]}


@pytest.fixture
def trouble(db):
    """Of three of everything one is quarantined, one held, one without an owner, one without a manager."""
    rows.make(0, 3)
    first, second, _ = Release.objects.order_by("pk")
    Release.objects.filter(pk=first.pk).update(quarantined_at=timezone.now(), quarantine_reason="It leaks.")
    Release.objects.filter(pk=second.pk).update(state="held")
    Membership.objects.update(is_manager=True)
    for number in range(3):
        namespace = Namespace.objects.get(name=f"team{number}")
        namespace.grants.filter(team=None).update(role=3)
    User.objects.filter(username="person2").update(is_active=False)


@pytest.mark.parametrize(
    ("label", "count"),
    [
        ("In quarantine", "1"),
        ("Releases held", "1"),
        ("Jobs failed", "3"),
        ("Namespaces without an active owner", "1"),
        ("Teams without an active manager", "1"),
        ("Read by older rules", "3"),
    ],
)
def test_a_tile_counts_and_leads_to_just_those(desk, trouble, label, count):
    tile = tiles(desk)[label]

    assert tile["count"] == count
    assert str(desk.get(tile["url"]).context["cl"].result_count) == count


def test_it_counts_providers_beside_modules(desk, acme):
    provider_version(acme, "dns", "1.0.0", key=row_of_key(acme, 1))
    shown = tiles(desk)

    assert (shown["Providers"]["count"], shown["Provider versions"]["count"]) == ("1", "1")


def test_what_is_in_order_raises_no_alarm(desk):
    assert [tile["label"] for tile in tiles(desk).values() if tile["is_alarm"]] == []
    assert not ModuleVersion.objects.exists()
