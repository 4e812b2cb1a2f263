"""Changes of a policy: rules that replace others, and exceptions that end."""

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.contrib.mirror.models import PolicyException
from apps.contrib.mirror.policy import policy_exceptions, rulebook
from apps.contrib.mirror.policy.evaluation import decide
from apps.contrib.mirror.tests.policy_rows import NOW, provider, rule, save, soon, upstream, version, visible
from apps.lib.errors import Conflict, Invalid, NotFound
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def opentofu():
    return upstream()


@pytest.fixture
def random(opentofu):
    return provider(opentofu)


# --- Exceptions -------------------------------------------------------------------------------------------------------


def test_an_exception_shows_one_version_until_it_expires(opentofu, random, olga):
    new = version(random, "2.0.0")
    version(random, "2.0.1")
    save(opentofu, rule("deny"))
    ends = soon()

    policy_exceptions.allow(new, reason="Fixes CVE-2026-1", expires_at=ends, actor=Viewer(olga))

    assert visible(random) == ["2.0.0"]
    found = decide(new, now=NOW, platform="windows_amd64")
    assert (found.is_visible, found.until) == (True, ends)
    assert found.rule == f"exception until {ends:%Y-%m-%d %H:%M} UTC: Fixes CVE-2026-1"
    assert visible(random, now=ends) == []
    event = AuditEvent.objects.get(kind="operation:upstream:version-allowed")
    assert (event.actor_id, event.subject) == (olga.pk, "registry.opentofu.org/hashicorp/random 2.0.0")
    assert event.detail["reason"] == "Fixes CVE-2026-1"


def test_a_withdrawn_exception_shows_nothing_and_is_withdrawn_once(random, olga):
    new = version(random, "2.0.0", first_seen_at=soon(0))
    row = policy_exceptions.allow(new, reason="Fixes it", expires_at=soon(), actor=Viewer(olga))
    assert visible(random, now=soon(0)) == ["2.0.0"]

    policy_exceptions.withdraw(row, actor=Viewer(olga))

    assert visible(random, now=soon(0)) == []
    with pytest.raises(Conflict, match="has ended already"):
        policy_exceptions.withdraw(row, actor=Viewer(olga))


@for_each_row(("reason", "days"), [(" ", 7), ("x" * 301, 7), ("late", 0), ("late", -1), ("late", 400)])
def test_an_exception_needs_a_reason_and_an_expiry_within_a_year(random, reason, days):
    new = version(random, "2.0.0")

    with pytest.raises(Invalid):
        policy_exceptions.allow(new, reason=reason, expires_at=soon(days), actor=Viewer())

    assert not new.exceptions.exists()


def test_an_exception_is_for_a_version_that_larder_knows(opentofu, random):
    version(random, "2.0.0")

    found = policy_exceptions.version_of(opentofu, namespace="HashiCorp", type="random", version="v2.0.0+other")
    assert found.version == "2.0.0"
    with pytest.raises(NotFound, match=r"knows no version 9\.9\.9"):
        policy_exceptions.version_of(opentofu, namespace="hashicorp", type="random", version="9.9.9")


@pytest.mark.both
@for_each_row(
    "fields",
    [
        {},
        {"module": "acme/vpc/aws", "module_version": "1.0.0"},
        {"upstream": True, "module_version": "1.0.0"},
        {"upstream": True, "module": "acme/vpc/aws"},
        {"version": True, "module": "acme/vpc/aws", "module_version": "1.0.0"},
        {"version": True, "upstream": True, "module": "acme/vpc/aws", "module_version": "1.0.0"},
    ],
)
def test_an_exception_names_a_provider_or_a_module(opentofu, random, fields):
    rows = {"upstream": opentofu, "version": version(random, "2.0.0")}
    named = {name: rows[name] if value is True else value for name, value in fields.items()}

    with pytest.raises(IntegrityError, match="upstream_exception_names_one"), transaction.atomic():
        PolicyException.objects.create(**named, reason="Fixes it", expires_at=soon())

    assert not PolicyException.objects.exists()


# --- Changing rules ---------------------------------------------------------------------------------------------------


@for_each_row(
    ("bad", "says"),
    [
        (rule("deny", "hashicorp"), "found pattern 'hashicorp', expected namespace/type"),
        (rule("deny", "registry.opentofu.org/hashicorp/random"), "expected namespace/type"),
        (rule("deny", "hashi*/random"), "expected namespace/type"),
        (rule("forbid"), "found effect 'forbid', expected one of allow, deny"),
        (rule("cool_down"), "a cool-down of 0 days holds nothing back"),
        (rule("cool_down", days=-1), "found '-1' days"),
        (rule("cool_down", days=10**9), "days, expected a number from 0 to 3650"),
        (rule("deny", days=3), "the effect deny takes no days"),
        (rule("deny", versions="latest"), "expected an operator and a version"),
        (rule("deny", platforms=["linux/amd64"]), "found platform 'linux/amd64', expected one such as linux_amd64"),
        (rule("deny", reason="x" * 301), "the reason has more than 300 characters"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_by_its_number(opentofu, bad, says):
    with pytest.raises(Invalid, match="Rule 2: ") as refused:
        save(opentofu, rule("allow"), bad)

    assert says in str(refused.value)
    assert not opentofu.rules.exists()


def test_a_change_is_in_the_audit_with_the_rules_before_and_after(opentofu, olga):
    save(opentofu, rule("deny", "acme/*"))
    rulebook.change(opentofu, rules=[rule("allow")], cooldown_days=7, actor=Viewer(olga))

    event = AuditEvent.objects.filter(kind="operation:upstream:policy-changed").latest("pk")
    assert (event.subject, event.actor_id) == ("registry.opentofu.org", olga.pk)
    assert [one["pattern"] for one in event.detail["before"]["rules"]] == ["acme/*"]
    assert event.detail["after"]["cooldown_days"] == 7
    opentofu.refresh_from_db()
    assert opentofu.cooldown_days == 7


def test_the_same_rules_again_change_nothing_and_a_kept_rule_keeps_its_author(opentofu, olga):
    rulebook.change(opentofu, rules=[rule("deny", "acme/*")], actor=Viewer(olga))
    save(opentofu, rule("deny", "acme/*"))
    assert AuditEvent.objects.filter(kind="operation:upstream:policy-changed").count() == 1

    save(opentofu, rule("allow"), rule("deny", "acme/*"))

    assert [(one.position, one.effect, one.created_by) for one in rulebook.rules_of(opentofu)] == [
        (1, "allow", None),
        (2, "deny", olga),
    ]


@pytest.mark.both
def test_of_two_people_who_edit_the_same_policy_the_second_is_told(opentofu):
    seen = rulebook.mark_of(opentofu)
    save(opentofu, rule("deny", "acme/*"), seen=seen)

    with pytest.raises(Conflict, match="was changed meanwhile"):
        save(opentofu, rule("allow"), seen=seen)

    assert [one.effect for one in rulebook.rules_of(opentofu)] == ["deny"]
