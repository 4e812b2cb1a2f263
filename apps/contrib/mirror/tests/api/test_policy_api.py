"""/api/v1/upstreams/<host>/policies and …/exceptions: what staff change and auditors read."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from apps.contrib.mirror.models import UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.tests.policy_rows import LONG_AGO, provider, rule, soon, upstream, version, visible
from tests.cast import person
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
URL = "/api/v1/upstreams/registry.opentofu.org"


@pytest.fixture
def random(db):
    found = provider(upstream())
    version(found, "1.0.0", published_at=LONG_AGO)
    yesterday = timezone.now() - timedelta(days=1)
    version(found, "2.0.0", published_at=yesterday, first_seen_at=yesterday)
    return found


@pytest.fixture
def api(tofu, olga):
    return tofu(olga)


def put(client, *rules, **more):
    body = {"rules": list(rules), **more}
    return client.put(f"{URL}/policies", json.dumps(body), content_type="application/json")


def dry_run(client, **body):
    return client.post(f"{URL}/policies/dry-run", json.dumps(body), content_type="application/json")


def let_through(client, text="2.0.0", **more):
    body = {"provider": "hashicorp/random", "version": text, "reason": "Fixes it", "expires_at": soon().isoformat()}
    return client.post(f"{URL}/exceptions", json.dumps(body | more), content_type="application/json")


def test_staff_replace_the_rules_and_read_them_in_order(random, api, olga):
    answer = put(api, rule("deny", "acme/*", reason="Not ours"), rule("cool_down", days=30), cooldown_days=7)

    assert answer.status_code == 200
    assert answer.json() == api.get(f"{URL}/policies").json()
    assert answer.json() == api.get("/api/v1/upstreams/Registry.OpenTofu.org/policies").json()
    assert api.get("/api/v1/upstreams/nowhere.example/policies").status_code == 404
    assert answer.json()["cooldown_days"] == 7
    first, second = answer.json()["rules"]
    assert first == {
        "position": 1,
        "pattern": "acme/*",
        "effect": "deny",
        "days": 0,
        "versions": "",
        "platforms": [],
        "advisories_only": False,
        "reason": "Not ours",
        "by": olga.shown_name,
    }
    assert (second["position"], second["effect"], second["days"]) == (2, "cool_down", 30)
    assert visible(random, now=timezone.now()) == ["1.0.0"]


def test_a_rule_with_a_misspelled_field_is_refused(random, api):
    for bad, said in (
        (rule("allow", version=">= 2.0"), "There is no field 'rules.1.version'"),
        (rule("deny", versions="^5"), "Rule 2: found version constraint '^5'"),
    ):
        answer = put(api, rule("allow"), bad)

        assert answer.status_code == 422
        assert said in answer.json()["error"]["message"]
        assert api.get(f"{URL}/policies").json()["rules"] == []


def test_the_dry_run_names_versions_by_provider_with_rule_and_date(random, api):
    answer = dry_run(api, rules=[rule("deny", "hashicorp/*", versions="< 2.0"), rule("allow")])

    assert answer.status_code == 200
    document = answer.json()
    assert {name: document[name] for name in ("checked_providers", "checked_versions", "hidden", "shown")} == {
        "checked_providers": 1,
        "checked_versions": 2,
        "hidden": 1,
        "shown": 1,
    }
    (found,) = document["providers"]
    assert found["provider"] == "hashicorp/random"
    shown, hidden = found["changes"]
    assert (shown["version"], shown["becomes"], shown["rule"]) == ("2.0.0", "shown", "rule 2: allow *")
    assert shown["former_rule"] == "cool-down of 3 days (default of registry.opentofu.org)"
    assert (hidden["version"], hidden["becomes"], hidden["available_at"]) == ("1.0.0", "hidden", None)
    assert api.get(f"{URL}/policies").json()["rules"] == []


def test_an_exception_is_created_listed_and_withdrawn(random, api, olga):
    made = let_through(api)

    assert made.status_code == 201
    assert made.json()["by"] == olga.shown_name
    assert made.json()["in_force"] is True
    assert visible(random, now=timezone.now()) == ["2.0.0", "1.0.0"]
    assert [one["id"] for one in api.get(f"{URL}/exceptions").json()["exceptions"]] == [made.json()["id"]]

    one = f"{URL}/exceptions/{made.json()['id']}"
    assert api.delete(f"{one}?dry_run=1").json()["hits"] == [], "no client uses it"
    version = UpstreamVersion.objects.get(version="2.0.0")
    sums = {"os": "linux", "arch": "amd64", "digest": "0" * 64}
    UpstreamPackage.objects.create(version=version, used_at=timezone.now(), uses=3, **sums)
    [hit] = api.delete(f"{one}?dry_run=1").json()["hits"]
    assert (hit["effect"], hit["count"], hit["name"].endswith("random 2.0.0")) == ("fails", 3, True)
    assert visible(random, now=timezone.now()) == ["2.0.0", "1.0.0"]

    assert api.delete(one).status_code == 204

    assert visible(random, now=timezone.now()) == ["1.0.0"]
    (row,) = api.get(f"{URL}/exceptions").json()["exceptions"]
    assert (row["in_force"], row["reason"]) == (False, "Fixes it")
    assert api.delete(f"{URL}/exceptions/{row['id']}").status_code == 404


@for_each_row(
    ("more", "status"),
    [({"text": "9.9.9"}, 404), ({"text": "latest"}, 422), ({"provider": "random"}, 404), ({"reason": " "}, 422)],
)
def test_an_exception_that_cannot_be_meant_is_refused(random, api, more, status):
    assert let_through(api, **more).status_code == status
    assert let_through(api, expires_at="soon").status_code == 422
    assert api.get(f"{URL}/exceptions").json()["exceptions"] == []


def test_auditors_read_and_try_but_change_nothing(random, tofu):
    ava = person("ava", is_staff=True)
    ava.user_permissions.add(Permission.objects.get(codename="view_upstream"))
    auditor = tofu(ava)

    assert auditor.get(f"{URL}/policies").status_code == 200
    assert auditor.get(f"{URL}/exceptions").status_code == 200
    assert dry_run(auditor, cooldown_days=0).status_code == 200
    assert put(auditor, rule("allow")).status_code == 403
    assert let_through(auditor).status_code == 403
    assert auditor.delete(f"{URL}/exceptions/1").status_code == 403
    assert visible(random, now=timezone.now()) == ["1.0.0"]
