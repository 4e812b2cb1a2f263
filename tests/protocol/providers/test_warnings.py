"""The warnings that clients show after every init (S4): `warnings` of the list of versions."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from apps.providers.models import Provider
from apps.releases.models import Lifecycle, Release
from apps.signing.models import SigningKey
from tests.protocol.providers import cast
from tests.rows import for_each_row

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def key(acme):
    key = cast.frozen_key(acme)
    for number in ("1.0.0", "1.1.0", "2.0.0"):
        cast.add_row(key, "dns", number, sums="a" * 64, signature="b" * 64)
    return key


@pytest.fixture
def warnings(tofu, bob, key):
    client = tofu(bob)

    def ask() -> list[str]:
        with time_machine.travel(NOW, tick=False):
            return json.loads(client.get("/v1/providers/acme/dns/versions").content)["warnings"]

    return ask


def deprecate(*numbers, reason="Wrong defaults.", replacement=""):
    Release.objects.filter(version__in=numbers).update(
        lifecycle=Lifecycle.DEPRECATED, lifecycle_reason=reason, lifecycle_replacement=replacement
    )


def test_s4_versions_that_are_deprecated_in_the_same_words_share_a_sentence(warnings):
    assert warnings() == []
    deprecate("1.0.0", replacement="2.0.0")
    assert warnings() == ["version 1.0.0 is deprecated: Wrong defaults. Use 2.0.0 instead."]
    deprecate("1.0.0", "1.1.0")
    deprecate("2.0.0", reason="Broken.")

    assert warnings() == [
        "version 2.0.0 is deprecated: Broken.",
        "versions 1.1.0, 1.0.0 are deprecated: Wrong defaults.",
    ]
    Release.objects.filter(version="2.0.0").update(quarantined_at=NOW)
    assert warnings()[0].startswith("versions 1.1.0"), "what is not listed says nothing"


def test_s4_many_of_them_stay_one_line(warnings, key):
    for position in range(20):
        cast.add_row(key, "dns", f"0.{position}.0", sums="a" * 64, signature="b" * 64)
    deprecate(*(f"0.{position}.0" for position in range(20)))

    (said,) = warnings()
    assert said == "versions 0.19.0, 0.18.0, 0.17.0, 0.16.0, 0.15.0 and 15 more are deprecated: Wrong defaults."


@for_each_row(
    ("days", "said"),
    [
        (61, []),
        (60, ["The key AAAAAAAAAAAAAAAA, which signed versions 2.0.0, 1.1.0, 1.0.0, expires on 2026-04-30"]),
        (-1, ["The key AAAAAAAAAAAAAAAA, which signed versions 2.0.0, 1.1.0, 1.0.0, expired on 2026-02-28"]),
    ],
)
def test_a_key_that_ends_within_sixty_days_or_is_revoked_is_named_and_one_that_was_rotated_is_not(warnings, days, said):
    SigningKey.objects.update(expires_at=NOW + timedelta(days=days))
    assert [one.partition(":")[0] for one in warnings()] == said

    SigningKey.objects.update(state="retired")
    assert warnings() == []
    SigningKey.objects.update(state="revoked", reason="Stolen with a laptop.")
    (revoked,) = warnings()
    assert revoked.endswith("was revoked: clients reject all its signatures. Stolen with a laptop.")


def test_the_owners_own_notice_comes_first(warnings):
    Provider.objects.update(notice="The DNS team moves to acme/names.")
    deprecate("1.0.0")

    assert warnings() == [
        "The DNS team moves to acme/names.",
        "version 1.0.0 is deprecated: Wrong defaults.",
    ]
