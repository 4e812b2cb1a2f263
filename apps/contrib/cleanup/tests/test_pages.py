"""/namespaces/<ns>/cleanup: an owner sets the rule, reads what it would do, and applies it."""

import re

import pytest

from apps.releases.cleanup_rules import CleanupRule
from apps.releases.models import Release
from tests import pages
from tests.portal.rows import add_module, add_modules
from tests.rows import for_each_row

URL = "/namespaces/acme/cleanup"
RULE = {"prerelease_days": "30", "fetched_days": "90", "keep_newest": "1", "action": "deprecate"}


@pytest.fixture
def owner(dora, browser_of):
    return browser_of(dora)


@pytest.mark.both
def test_an_owner_sets_a_rule_reads_what_it_would_do_and_applies_it(owner, acme):
    add_module(acme, "vpc/aws", "1.0.0-rc.1", "1.0.0", "1.1.0")
    assert "No rule is set" in pages.shown(owner.get(URL))
    assert owner.post(URL, RULE).status_code == 303
    page = pages.shown(owner.get(URL))

    assert "1 version would be deprecated." in page
    assert 'href="/modules/acme/vpc/aws/1.0.0-rc.1"' in page
    assert 'href="/modules/acme/vpc/aws/1.0.0"' not in page, "that is on another tab"
    assert "the default version" not in page
    staying = pages.shown(owner.get(f"{URL}?show=staying"))
    assert "the newest version" in staying
    assert "the rule excludes stable versions" in staying

    (plan,) = re.findall(r'name="plan" value="(\w+)"', page)
    done = owner.post(f"{URL}/apply", {"plan": plan}, follow=True)
    assert "1 version deprecated." in pages.shown(done)
    assert Release.objects.get(version="1.0.0-rc.1").lifecycle == "deprecated"


def test_hostile_text_in_a_rule_is_refused_as_text(owner, acme):
    answer = owner.post(URL, RULE | {"prerelease_days": '"><script>alert(1)</script>', "action": "<b>"})

    assert answer.status_code == 422
    assert "<script>alert(1)" not in answer.text
    assert "&quot;&gt;&lt;script&gt;alert(1)" in answer.text
    assert "<b>" not in answer.text
    assert not CleanupRule.objects.exists()


def test_what_has_changed_since_it_was_read_is_not_applied(owner, acme):
    add_module(acme, "vpc/aws", "1.0.0-rc.1", "1.0.0")
    owner.post(URL, RULE)

    page = pages.shown(owner.post(f"{URL}/apply", {"plan": "0" * 64}, follow=True))

    assert "The rule now selects other versions." in page
    assert not Release.objects.exclude(lifecycle="maintained").exists()


@for_each_row(
    ("wrong", "says"),
    [
        ({"keep_newest": "0"}, "greater than or equal to 1"),
        ({"prerelease_days": "", "enabled": "on"}, "The rule is on but has no criteria."),
        ({"action": "purge"}, "Select a valid choice"),
    ],
)
def test_it_explains_what_is_wrong_with_a_rule(owner, acme, wrong, says):
    response = owner.post(URL, RULE | wrong)

    assert response.status_code == 422
    assert says in pages.text_of(response)
    assert not CleanupRule.objects.exists()


def test_it_says_that_a_changed_rule_waits(owner, acme):
    owner.post(URL, RULE | {"enabled": "on"})
    assert "The rule is on, and waits" in pages.shown(owner.get(URL))
    CleanupRule.objects.update(changed_at="2026-01-01T00:00:00Z")
    assert "Runs every hour." in pages.shown(owner.get(URL))


@for_each_row("count", [2, 20])
def test_it_costs_the_same_at_any_size(owner, acme, django_assert_max_num_queries, count):
    add_modules(acme, [f"vpc{number}/aws" for number in range(count)], ("1.0.0-a", "1.0.0"))
    owner.post(URL, RULE)

    with django_assert_max_num_queries(9):
        assert owner.get(f"{URL}?show=all").status_code == 200
