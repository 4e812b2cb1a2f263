"""Cleanup rules: what they choose and why, that they act by the verbs, and what stops them. Mostly through the API."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from apps.accounts.access.gate import NOBODY, Viewer
from apps.audit.models import AuditEvent
from apps.contrib.cleanup import applying, planning
from apps.providers import catalogue as provider_catalogue
from apps.releases.catalogue import indexing
from apps.releases.cleanup_rules import CleanupRule
from apps.releases.lifecycle import verbs
from apps.releases.models import DownloadCount, Release, SearchDoc
from tests.cast import person
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module, add_modules
from tests.rows import for_each_row

URL = "/api/v1/namespaces/acme/cleanup"
RULE = {"enabled": True, "prerelease_days": 30, "keep_newest": 1}


@pytest.fixture
def owner(tofu, dora) -> Client:
    return tofu(dora)


def put(client, **fields):
    return client.put(URL, json.dumps(fields), content_type="application/json")


def plan_of(client):
    return json.loads(client.get(f"{URL}/plan").content)


def apply(client, plan=None):
    seen = plan_of(client)["plan"] if plan is None else plan
    return client.post(f"{URL}/apply", json.dumps({"plan": seen}), content_type="application/json")


def going(client):
    return [f"{row['name']} {row['version']}" for row in plan_of(client)["versions"] if row["goes"]]


def settled():
    CleanupRule.objects.update(changed_at=timezone.now() - timedelta(days=1, minutes=1))


def release(version, name="vpc/aws"):
    return Release.objects.select_related("namespace").get(name=name, version=version)


def fetched(version, days_ago):
    day = timezone.now().date() - timedelta(days=days_ago)
    DownloadCount.objects.create(release=release(version), day=day, client="other", count=1)


@pytest.mark.both
def test_the_dry_run_says_of_each_version_whether_it_goes_and_why(owner, dora, acme):
    add_module(acme, "vpc/aws", "0.9.0-a.1", "0.9.0-b.1", "0.9.0-c.1", "0.9.0", "1.0.0-rc.1", "1.0.0", "1.1.0-rc.1")
    fetched("0.9.0-b.1", 90)
    fetched("0.9.0-a.1", 91)
    Release.objects.filter(version="0.9.0-c.1").update(lifecycle="yanked")
    Release.objects.filter(version="1.0.0-rc.1").update(published_at=timezone.now() - timedelta(days=29, hours=23))
    for _ in range(2):  # the second changes nothing, which is not recorded
        assert put(owner, **RULE).status_code == 200
    event = AuditEvent.objects.get(kind="namespace:cleanup:rule-changed")
    assert (event.subject, event.actor_id) == ("acme", dora.pk)
    assert event.detail["changes"]["prerelease_days"] == [None, 30]

    found = plan_of(owner)

    assert {row["version"]: (row["goes"], row["why"].partition(" on 2")[0]) for row in found["versions"]} == {
        "1.1.0-rc.1": (False, "the newest version"),
        "1.0.0": (False, "the default version"),
        "1.0.0-rc.1": (False, "a pre-release of 29 days; the rule applies after 30 days"),
        "0.9.0": (False, "the rule excludes stable versions"),
        "0.9.0-c.1": (False, "yanked already"),
        "0.9.0-b.1": (False, "downloaded"),
        "0.9.0-a.1": (True, "pre-release older than 30 days, not downloaded for 90 days"),
    }
    assert (found["action"], found["going"], found["staying"], found["next"]) == ("deprecate", 1, 6, None)
    assert not Release.objects.filter(lifecycle="deprecated").exists()


@for_each_row(("action", "state"), [("deprecate", "deprecated"), ("yank", "yanked")])
def test_by_hand_it_acts_by_the_verb_in_the_name_of_who_pressed(owner, dora, acme, action, state):
    add_module(acme, "vpc/aws", "1.0.0", "1.1.0", "1.2.0")
    put(owner, action=action, stable_days=30, keep_newest=1)

    seen = plan_of(owner)["plan"]
    answer = apply(owner, seen)

    assert json.loads(answer.content) == {"done": ["acme/vpc/aws 1.1.0", "acme/vpc/aws 1.0.0"], "left": 0}
    assert apply(owner, seen).status_code == 409, "the answer was lost, and it is sent again"
    old = release("1.0.0")
    assert (old.lifecycle, old.lifecycle_by) == (state, dora)
    assert old.lifecycle_reason == "Cleanup rule: stable version older than 30 days, not downloaded for 90 days."
    event = AuditEvent.objects.get(subject="acme/vpc/aws 1.0.0")
    assert (event.kind, event.actor_id) == (f"namespace:release:{state}", dora.pk)
    assert event.detail["chosen_by"] == "cleanup rule"
    applied = AuditEvent.objects.get(kind="namespace:cleanup:applied")
    assert (applied.subject, applied.actor_id, applied.detail["versions"]) == ("acme", dora.pk, 2)
    assert json.loads(owner.get(URL).content)["applied_count"] == 2
    assert (release("1.2.0").lifecycle, SearchDoc.objects.get().version) == ("maintained", "1.2.0")


def test_nothing_goes_that_nobody_has_read(owner, acme):
    add_module(acme, "vpc/aws", "1.0.0", "1.1.0", "1.2.0")
    assert apply(owner, "0" * 64).status_code == 409  # without a rule
    put(owner, stable_days=30, keep_newest=1)
    seen = plan_of(owner)["plan"]
    put(owner, action="yank")

    assert apply(owner, seen).status_code == 409
    assert set(Release.objects.values_list("lifecycle", flat=True)) == {"maintained"}


@pytest.mark.both
def test_by_itself_it_waits_for_a_day_after_each_change(owner, acme):
    add_module(acme, "vpc/aws", "1.0.0-rc.1", "1.0.0")
    put(owner, **RULE)
    assert applying.run_due() == 0
    settled()
    put(owner, **RULE)  # the same again is no change
    assert json.loads(put(owner, keep_newest=2).content)["acts_from"] > timezone.now().isoformat()
    put(owner, keep_newest=1)
    assert applying.run_due() == 0
    settled()

    assert applying.run_due() == 1
    old = release("1.0.0-rc.1")
    assert verbs.standing_of(old).endswith("by a cleanup rule: Cleanup rule: " + old.lifecycle_reason[14:])
    assert AuditEvent.objects.get(kind="namespace:release:deprecated").actor_id is None
    assert applying.run_due() == 0


@for_each_row("action", ["deprecate", "yank"])
def test_the_last_version_to_use_never_goes(owner, acme, action):
    add_module(acme, "vpc/aws", "1.0.0-rc.1", "1.0.0-rc.2")  # pre-releases alone
    add_module(acme, "dns/aws", "1.0.0", "2.0.0")  # people are told to stay with 1.0.0
    Release.objects.filter(name="dns/aws", version="2.0.0").update(lifecycle="deprecated")
    put(owner, action=action, prerelease_days=1, stable_days=1, keep_newest=1)

    assert going(owner) == ["vpc/aws 1.0.0-rc.1"]


@for_each_row("action", ["deprecate", "yank"])
def test_what_others_take_away_meanwhile_is_seen(owner, alice, acme, action):
    """The plan is made, then a person takes away what would have been left."""
    add_module(acme, "vpc/aws", "1.0.0", "2.0.0")
    put(owner, action=action, stable_days=1, keep_newest=1)
    rule = CleanupRule.objects.select_related("namespace").get()
    plan = planning.plan(rule)
    getattr(verbs, action)(release=release("2.0.0"), actor=Viewer(alice), reason="It loses data.")
    indexing.refreshers["module"](release("2.0.0"))

    assert applying._apply(rule, plan, NOBODY, 10).done == []
    assert release("1.0.0").lifecycle == "maintained"
    assert not AuditEvent.objects.filter(subject="acme/vpc/aws 1.0.0").exists()


def test_what_a_person_restored_is_left_alone(owner, alice, acme):
    add_module(acme, "vpc/aws", "1.0.0-a", "1.0.0-b", "1.0.0")
    put(owner, **RULE)
    apply(owner)
    verbs.restore(release=release("1.0.0-a"), actor=Viewer(alice), reason="We use it.")

    assert going(owner) == []
    put(owner, action="yank")
    assert going(owner) == ["vpc/aws 1.0.0-b"], "what a rule deprecated, a rule may yank"


def test_providers_have_the_same_rules(owner, acme):
    key = row_of_key(acme, 1)
    for number, age in (("1.0.0", 400), ("1.1.0", 300), ("2.0.0", 200)):
        made = provider_version(acme, "dns", number, key=key, published_at=timezone.now() - timedelta(days=age))
    provider_catalogue.refresh(made.provider)
    put(owner, action="yank", stable_days=250, keep_newest=1)

    assert json.loads(apply(owner).content)["done"] == ["acme/dns 1.1.0", "acme/dns 1.0.0"]
    assert SearchDoc.objects.get().version == "2.0.0"


@pytest.mark.both
def test_one_run_is_bounded_and_the_rest_waits(owner, acme, pantry, monkeypatch):
    monkeypatch.setattr(applying, "BATCH_SIZE", 2)
    monkeypatch.setattr(applying, "MAX_VERSIONS", 3)
    monkeypatch.setattr(applying, "BY_HAND", 1)
    add_module(acme, "vpc/aws", *(f"1.0.0-a.{number}" for number in range(5)), "1.0.0")
    add_module(pantry, "dns/aws", *(f"1.0.0-a.{number}" for number in range(5)), "1.0.0")
    put(owner, **RULE)
    CleanupRule.objects.create(namespace=pantry, enabled=True, prerelease_days=30, keep_newest=1)
    assert json.loads(apply(owner).content)["left"] == 4
    settled()

    assert [applying.run_due() for _ in range(4)] == [3, 3, 3, 0]
    assert Release.objects.filter(lifecycle="deprecated").count() == 10


def test_what_is_in_quarantine_is_the_business_of_staff_and_a_rule_that_is_off_or_changed_stops(owner, acme):
    add_module(acme, "vpc/aws", "1.0.0-a", "1.0.0-b", "1.0.0")
    Release.objects.filter(version="1.0.0-a").update(quarantined_at=timezone.now(), quarantine_reason="Stolen.")
    put(owner, **RULE | {"enabled": False})
    settled()
    assert [row["version"] for row in plan_of(owner)["versions"]] == ["1.0.0", "1.0.0-b"]
    assert applying.run_due() == 0, "one that is off acts by hand alone"

    rule = CleanupRule.objects.select_related("namespace").get()
    plan = planning.plan(rule)
    put(owner, prerelease_days=None)
    assert applying._apply(rule, plan, NOBODY, 10).done == [], "one that is changed stops at once"
    put(owner, **RULE | {"enabled": False})
    assert json.loads(apply(owner).content)["done"] == ["acme/vpc/aws 1.0.0-b"]


@for_each_row(
    "wrong",
    [
        {"action": "purge"},
        {"keep_newest": 0},
        {"prerelease_days": -1},
        {"fetched_days": 3651},
        {"enabled": True},
        {"enabled": True, "namespace": "pantry"},
    ],
)
def test_a_wrong_rule_is_refused(owner, acme, wrong):
    assert put(owner, **wrong).status_code == 422
    assert not CleanupRule.objects.exists()


@for_each_row(("permission", "status"), [("operate_namespace", 403), ("yank_release", 200)])
def test_staff_need_the_permission_to_yank(tofu, acme, permission, status):
    add_module(acme, "vpc/aws", "1.0.0-rc.1", "1.0.0")
    CleanupRule.objects.create(namespace=acme, prerelease_days=30)
    opal = person("opal", is_staff=True)
    opal.user_permissions.add(Permission.objects.get(codename=permission))
    client = tofu(opal)

    assert put(client, keep_newest=1).status_code == status
    plan = planning.plan(CleanupRule.objects.get()).digest
    assert apply(client, plan).status_code == status


@for_each_row("count", [2, 60])
def test_a_dry_run_costs_the_same_at_any_size(owner, acme, django_assert_max_num_queries, count):
    add_modules(acme, [f"vpc{number}/aws" for number in range(count)], ("1.0.0-a", "1.0.0"))
    put(owner, **RULE)

    with django_assert_max_num_queries(5):
        plan_of(owner)
