"""The decision whether a version of another registry is visible: rules, exceptions, and otherwise its age."""

from datetime import timedelta

import pytest

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.policy import policy_exceptions
from apps.contrib.mirror.policy.evaluation import decide, decisions, next_change, platform_decisions, require_visible
from apps.contrib.mirror.tests.policy_rows import LONG_AGO, NOW, provider, rule, save, soon, upstream, version, visible
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def opentofu():
    return upstream()


@pytest.fixture
def random(opentofu):
    return provider(opentofu)


# --- Age --------------------------------------------------------------------------------------------------------------


def test_a_young_version_is_held_back_with_rule_and_date_until_the_second_that_the_date_names(random):
    new = version(random, "3.7.2", published_at=NOW - DAY)

    found = decide(new, now=NOW)

    assert (found.is_visible, found.available_at) == (False, NOW + 2 * DAY)
    assert found.rule == "cool-down of 3 days (default of registry.opentofu.org)"
    assert found.sentence == (
        "registry.opentofu.org/hashicorp/random 3.7.2 is held back until 2026-11-29 12:00 UTC by cool-down of 3 days "
        "(default of registry.opentofu.org); it was published on 2026-11-26 12:00 UTC."
    )
    with pytest.raises(Refused, match=r"until 2026-11-29 12:00 UTC by cool-down of 3 days"):
        require_visible(new, now=NOW)
    assert not decide(new, now=NOW + 2 * DAY - timedelta(seconds=1)).is_visible
    assert decide(new, now=NOW + 2 * DAY).is_visible


def test_a_version_from_2018_is_visible_although_it_was_seen_a_minute_ago_until_it_is_replaced(random):
    old = version(random, "1.0.0", published_at=LONG_AGO, was_in_first_list=True)
    version(random, "0.9.0", published_at=LONG_AGO, is_listed=False)  # the registry lists it no longer
    assert visible(random) == ["1.0.0"]

    type(old).objects.filter(pk=old.pk).update(published_at=NOW - DAY)

    assert visible(random) == []


def test_an_undated_version_counts_from_when_it_was_first_seen(random):
    new = version(random, "2.0.0", first_seen_at=NOW - DAY)

    assert visible(random) == []
    assert decide(new, now=NOW).available_at == NOW + 2 * DAY
    assert "it was first seen on 2026-11-26" in decide(new, now=NOW).sentence
    assert visible(random, now=NOW + 2 * DAY) == ["2.0.0"]


def test_what_the_first_list_had_is_old_unless_the_registry_names_a_date(random):
    version(random, "1.0.0", was_in_first_list=True)
    version(random, "1.1.0", was_in_first_list=True, published_at=NOW - DAY)

    assert visible(random) == ["1.0.0"]


# --- Rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_the_first_rule_that_matches_decides(opentofu, random):
    version(random, "1.0.0", published_at=LONG_AGO)
    save(opentofu, rule("deny", "hashicorp/*"), rule("allow", "hashicorp/random"))
    assert visible(random) == []

    save(opentofu, rule("allow", "hashicorp/random"), rule("deny", "hashicorp/*"))
    assert visible(random) == ["1.0.0"]


@for_each_row(
    ("pattern", "hidden"),
    [
        ("*", True),
        ("*/*", True),
        ("hashicorp/*", True),
        ("*/random", True),
        ("hashicorp/random", True),
        ("HashiCorp/Random", True),
        ("hashicorp/aws", False),
        ("*/aws", False),
        ("acme/*", False),
    ],
)
def test_a_pattern_names_addresses(opentofu, random, pattern, hidden):
    version(random, "1.0.0", published_at=LONG_AGO)
    save(opentofu, rule("deny", pattern))

    assert visible(random) == ([] if hidden else ["1.0.0"])


def test_a_denied_version_names_the_rule_and_its_reason_but_no_date(opentofu, random):
    old = version(random, "1.0.0", published_at=LONG_AGO)
    save(opentofu, rule("deny", "hashicorp/*", versions="< 2.0", reason="Nobody maintains 1.x."))

    found = decide(old, now=NOW)

    assert (found.is_visible, found.available_at, found.until) == (False, None, None)
    assert found.sentence == (
        "registry.opentofu.org/hashicorp/random 1.0.0 is refused by rule 1: deny hashicorp/* < 2.0 "
        "(Nobody maintains 1.x.)."
    )


def test_allow_and_no_cool_down_let_a_young_version_through(opentofu, random):
    version(random, "2.0.0")
    save(opentofu, rule("allow", "hashicorp/*"))
    assert visible(random) == ["2.0.0"]

    eager = provider(upstream("example.com", cooldown_days=0))
    version(eager, "1.0.0")
    assert visible(eager) == ["1.0.0"]


def test_a_rule_has_its_own_cool_down(opentofu, random):
    new = version(random, "2.0.0", published_at=NOW - 5 * DAY)
    save(opentofu, rule("cool_down", "hashicorp/*", days=14))

    assert decide(new, now=NOW).available_at == NOW + 9 * DAY
    assert decide(new, now=NOW).rule == "rule 1: cool-down of 14 days for hashicorp/*"


def test_signed_only_refuses_what_no_key_signed(opentofu, random):
    proven = {"published_at": LONG_AGO, "verified_at": NOW}
    unsigned = version(random, "1.0.0", verdict="no_key", **proven)
    version(random, "1.1.0")  # not verified yet
    save(opentofu, rule("signed_only"))

    assert visible(random) == ["1.1.0"]
    with pytest.raises(Refused, match=r"rule 1: signed only for \*: the registry names no key for it"):
        require_visible(unsigned, now=NOW)

    save(opentofu, rule("signed_only", days=1))  # it may have a cool-down as well
    assert visible(random) == []


def test_a_range_takes_pre_releases_as_the_release_before_which_they_come(opentofu, random):
    for text in ("5.0.0-beta1", "5.9.0", "5.9.0+build.7", "6.0.0-rc.1", "6.0.0"):
        if not text.endswith("7"):
            version(random, text, published_at=LONG_AGO)
    save(opentofu, rule("deny", versions=">= 5.0, < 6.0"))

    assert visible(random) == ["6.0.0", "6.0.0-rc.1"]


def test_a_rule_for_platforms_hides_only_those_and_a_version_only_if_it_hides_all_of_them(opentofu, random):
    old = version(random, "1.0.0", published_at=LONG_AGO)
    version(random, "2.0.0", published_at=LONG_AGO, platforms=[["windows", "amd64"]])
    save(opentofu, rule("deny", platforms=["windows_amd64"]))

    assert visible(random) == ["1.0.0"]
    found = platform_decisions(old, ["linux_amd64", "windows_amd64", "darwin_arm64"], now=NOW)
    assert {name: one.is_visible for name, one in found.items()} == {
        "linux_amd64": True,
        "windows_amd64": False,
        "darwin_arm64": True,
    }
    require_visible(old, now=NOW, platform="linux_amd64")
    with pytest.raises(Refused, match=r"1\.0\.0 for windows_amd64 is refused by rule 1: deny \* on windows_amd64"):
        require_visible(old, now=NOW, platform="windows_amd64")

    save(opentofu, rule("allow", platforms=["linux_amd64"]), rule("deny"))
    assert visible(random) == ["1.0.0"]
    save(opentofu, rule("deny", platforms=["linux_amd64", "windows_amd64"]))
    assert visible(random) == []


def test_of_two_hosts_each_has_its_own_rules(opentofu, random):
    elsewhere = provider(upstream("registry.terraform.io"))
    for one in (random, elsewhere):
        version(one, "1.0.0", published_at=LONG_AGO)
    save(opentofu, rule("deny"))

    assert (visible(random), visible(elsewhere)) == ([], ["1.0.0"])


# --- Many versions ----------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_a_list_of_thousands_costs_three_queries(opentofu, random, django_assert_num_queries):
    rows = [version(random, f"1.{number}.0") for number in range(3)]
    of = type(rows[0])
    more = [of(provider=random, version=f"2.{n}.0", sort_key=b"\2%09d" % n, first_seen_at=NOW) for n in range(2000)]
    of.objects.bulk_create(more)
    save(opentofu, rule("cool_down", days=2), *[rule("deny", f"acme/p{number}") for number in range(50)])
    policy_exceptions.allow(rows[0], reason="now", expires_at=soon(), actor=Viewer())

    with django_assert_num_queries(3):
        found = decisions(random, now=NOW)

    assert len(found) == 2003
    assert [row.version for row, one in found.items() if one.is_visible] == ["1.0.0"]


def test_the_next_change_is_the_first_date_on_which_anything_changes(opentofu, random):
    version(random, "1.0.0", published_at=LONG_AGO)
    version(random, "2.0.0", published_at=NOW - 2 * DAY)
    version(random, "2.1.0", published_at=NOW - DAY)

    assert next_change(decisions(random, now=NOW).values()) == NOW + DAY
    assert next_change(decisions(random, now=NOW + 9 * DAY).values()) is None
    save(opentofu, rule("cool_down", days=5, platforms=["windows_amd64"]), rule("allow"))
    assert visible(random) == ["2.1.0", "2.0.0", "1.0.0"]
    assert next_change(decisions(random, now=NOW).values()) == NOW + 3 * DAY
