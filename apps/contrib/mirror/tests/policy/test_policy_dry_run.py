"""The dry run says exactly what saving the same policy would hide and show."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from apps.audit.models import AuditEvent
from apps.contrib.mirror.models import PolicyException, Upstream, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.policy import rulebook
from apps.contrib.mirror.policy.evaluation import decide, decisions
from apps.contrib.mirror.tests.policy_rows import BOTH, LONG_AGO, NOW, provider, rule, save, upstream, version, visible
from apps.lib.errors import Invalid

pytestmark = pytest.mark.django_db
ADDRESSES = ("hashicorp/random", "hashicorp/aws", "acme/random")
DATES = (None, LONG_AGO, *(NOW - timedelta(days=days) for days in (1, 4, 10)))


def shelf():
    of = upstream()
    for number, address in enumerate(ADDRESSES):
        one = provider(of, address)
        for index, published_at in enumerate(DATES):
            signed = {"verdict": "no_key", "verified_at": NOW} if index == 1 else {}
            platforms = BOTH if index % 2 else [*BOTH, ["darwin", "arm64"]]
            version(one, f"{number + 1}.{index}.0", published_at=published_at, platforms=platforms, **signed)
        version(one, f"{number + 1}.9.0-beta1", was_in_first_list=True, platforms=[["windows", "amd64"]])
    return of


RULES = st.lists(
    st.builds(
        lambda effect, pattern, days, versions, platforms: rule(
            effect,
            pattern,
            days=days if effect in ("cool_down", "signed_only") else 0,
            versions=versions,
            platforms=platforms,
        ),
        st.sampled_from(["allow", "deny", "cool_down", "signed_only"]),
        st.sampled_from(["*", "hashicorp/*", "*/random", "acme/random"]),
        st.integers(1, 12),
        st.sampled_from(["", ">= 2.0", "< 2.3, != 1.1.0", "~> 3.2", "= 1.9.0-beta1"]),
        st.sampled_from([[], ["windows_amd64"], ["linux_amd64", "darwin_arm64"]]),
    ),
    max_size=4,
)


def everything_visible():
    """Each listed version with its visible platforms, by the functions that edges call."""
    found = {}
    for one in UpstreamProvider.objects.all():
        for row, decision in decisions(one, now=NOW).items():
            platforms = [f"{os}_{arch}" for os, arch in row.platforms]
            shown = {p for p in platforms if decide(row, now=NOW, platform=p).is_visible}
            assert bool(shown) == decision.is_visible
            found[str(row)] = shown
    return found


@pytest.mark.slow
@effort(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=RULES, after=RULES, days=st.sampled_from([0, 3, 7]))
def test_a_dry_run_equals_what_happens_after_saving(db, before, after, days):
    Upstream.objects.all().delete()
    of = shelf()
    save(of, *before)
    row = UpstreamVersion.objects.get(version="2.1.0")
    row.exceptions.create(reason="now", expires_at=NOW + timedelta(days=1))
    was = everything_visible()

    run = rulebook.dry_run(of, now=NOW, rules=after, cooldown_days=days)

    assert everything_visible() == was
    save(of, *after, cooldown_days=days)
    will = everything_visible()
    hidden = {name for name in was if was[name] and not will[name]}
    shown = {name for name in was if will[name] and not was[name]}
    assert {str(one.version) for one in run.changes if not one.platforms and not one.after.is_visible} == hidden
    assert {str(one.version) for one in run.changes if not one.platforms and one.after.is_visible} == shown
    assert (run.hidden, run.shown, run.versions, run.providers) == (len(hidden), len(shown), len(was), 3)
    told: dict[Any, Any] = {}
    for one in run.changes:
        if one.platforms:
            told.setdefault((str(one.version), one.after.is_visible), set()).update(one.platforms)
    expected = {}
    for name in was:
        if was[name] and will[name]:
            for is_shown, platforms in ((False, was[name] - will[name]), (True, will[name] - was[name])):
                if platforms:
                    expected[name, is_shown] = platforms
    assert told == expected


@pytest.mark.both
def test_a_dry_run_names_the_deciding_rule_and_the_date_for_each_provider():
    of = shelf()

    run = rulebook.dry_run(of, now=NOW, rules=[rule("cool_down", "hashicorp/*", days=30)])

    found = {str(one.version.version): one for one in run.changes}
    assert set(found) == {"1.3.0", "1.4.0", "2.3.0", "2.4.0"}
    assert found["2.4.0"].provider.address == "hashicorp/aws"
    assert found["2.4.0"].after.rule == "rule 1: cool-down of 30 days for hashicorp/*"
    assert found["2.4.0"].after.available_at == NOW + timedelta(days=20)
    assert (run.hidden, run.shown, run.is_complete) == (4, 0, True)


def test_a_dry_run_of_the_cool_down_alone_keeps_the_rules_and_writes_nothing():
    of = shelf()
    save(of, rule("deny", "acme/*"))
    events = AuditEvent.objects.count()

    run = rulebook.dry_run(of, now=NOW, cooldown_days=0)

    assert {one.version.version for one in run.changes} == {"1.0.0", "1.2.0", "2.0.0", "2.2.0"}
    assert (run.hidden, run.shown) == (0, 4)
    with pytest.raises(Invalid, match="Rule 1: found pattern"):
        rulebook.dry_run(of, now=NOW, rules=[rule("deny", "nonsense")])
    assert of.rules.count() == 1
    assert AuditEvent.objects.count() == events


def test_a_long_dry_run_is_cut_and_its_totals_are_not(monkeypatch, django_assert_max_num_queries):
    of = shelf()
    monkeypatch.setattr(rulebook, "MAX_SHOWN", 5)

    with django_assert_max_num_queries(6):
        run = rulebook.dry_run(of, now=NOW, rules=[rule("deny")])

    assert (len(run.changes), run.hidden, run.is_complete) == (5, 12, False)


def test_an_exception_stays_visible_in_a_dry_run_and_one_of_a_module_changes_nothing():
    of = shelf()
    row = UpstreamVersion.objects.get(version="1.1.0")
    tomorrow = NOW + timedelta(days=1)
    row.exceptions.create(reason="now", expires_at=tomorrow)
    PolicyException.objects.create(
        upstream=of, module="hashicorp/random/aws", module_version="1.3.0", reason="now", expires_at=tomorrow
    )

    run = rulebook.dry_run(of, now=NOW, rules=[rule("deny")])

    hidden = {one.version.version for one in run.changes}
    assert "1.1.0" not in hidden
    assert "1.3.0" in hidden
    save(of, rule("deny"))
    assert visible(row.provider) == ["1.1.0"]
