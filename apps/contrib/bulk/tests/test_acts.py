"""POST /api/v1/versions/deprecate, yank, quarantine and restore."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import Scope, User
from apps.audit.models import AuditEvent
from apps.notify import outbox
from apps.notify.models import Letter
from apps.releases.models import Fetch, Release
from tests.builders.approving import machine_of, team_of
from tests.modules.dependents.rows import calls
from tests.portal.rows import add_module
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
REASON = "It loses data."


@pytest.fixture
def post(tofu):
    def send(user, act, *versions, scope=Scope.MANAGE, query="", **body):
        named = [dict(zip(("address", "version"), one.split(), strict=True)) for one in versions]
        data = json.dumps({"versions": named, "reason": REASON, **body})
        path = f"/api/v1/versions/{act}{query}"
        response = tofu(user, scope).generic("POST", path, data, content_type="application/json")
        return response.status_code, json.loads(response.content)

    return send


def states():
    rows = Release.objects.order_by("namespace__name", "name", "sort_key").select_related("namespace")
    return {str(one): one.lifecycle for one in rows}


def test_each_version_is_done_by_itself_and_those_that_cannot_are_named(published, pantry, post, dora, alice):
    published(version="1.2.0")
    published(version="1.3.0")
    add_module(pantry, "label/null", "1.0.0")
    assert post(alice, "yank", "acme/vpc/aws 1.3.0")[0] == 200

    wanted = ("acme/vpc/aws 1.2.0", "acme/vpc/aws 1.3.0", "pantry/label/null 1.0.0", "acme/vpc/aws 9.0.0")
    status, answer = post(dora, "yank", *wanted, replacement="2.0.0")

    assert status == 200
    assert [(one["version"], one["lifecycle"]["state"]) for one in answer["releases"]] == [("1.2.0", "yanked")]
    assert answer["releases"][0]["lifecycle"]["replacement"] == "2.0.0"
    refused = {f"{one['address']} {one['version']}": one for one in answer["refused"]}
    assert {name: one["code"] for name, one in refused.items()} == {
        "acme/vpc/aws 1.3.0": "conflict",
        "pantry/label/null 1.0.0": "forbidden",
        "acme/vpc/aws 9.0.0": "not_found",
    }
    assert refused["acme/vpc/aws 1.3.0"]["hint"] == "Restore it first to give another reason."
    assert states() == {
        "acme/vpc/aws 1.2.0": "yanked",
        "acme/vpc/aws 1.3.0": "yanked",
        "pantry/label/null 1.0.0": "maintained",
    }
    assert AuditEvent.objects.filter(kind="namespace:release:yanked").count() == 2

    status, answer = post(dora, "restore", *wanted)
    assert (status, len(answer["releases"]), len(answer["refused"])) == (200, 2, 2)
    assert post(dora, "restore", *wanted)[0] == 409, "there is nothing to restore"


@for_each_row(
    ("who", "status", "code"),
    [("charlie", 404, "not_found"), ("bob", 403, "forbidden"), ("alice", 403, "forbidden"), ("dora", 200, None)],
)
def test_if_none_can_be_done_the_first_error_is_the_answer(acme, post, request, who, status, code):
    add_module(acme, "vpc/aws", "1.0.0", "1.1.0")
    found = post(request.getfixturevalue(who), "yank", "acme/vpc/aws 1.0.0", "acme/vpc/aws 1.1.0")

    assert (found[0], found[1].get("error", {}).get("code")) == (status, code)
    assert set(states().values()) == {"yanked" if status == 200 else "maintained"}


@for_each_row(
    ("body", "found"),
    [
        ({"versions": []}, "versions"),
        ({"versions": [{"address": "acme", "version": "1.0.0"}]}, "The address 'acme' has 1 part."),
        ({"reason": " "}, "The reason is empty."),
        ({"versions": [{"address": "acme/vpc/aws", "version": "1.0.0"}] * 501}, "500"),
    ],
    ids=["none", "address", "reason", "many"],
)
def test_what_it_cannot_take_is_refused_with_words(acme, post, dora, body, found):
    add_module(acme, "vpc/aws", "1.0.0")
    status, answer = post(dora, "yank", "acme/vpc/aws 1.0.0", **body)

    assert status == 422
    assert found in answer["error"]["message"]
    assert set(states().values()) == {"maintained"}


def test_a_dry_run_counts_who_is_hit_by_all_together(published, acme, post, dora, charlie):
    """A caller of 1.2.0 alone would move to 1.3.0: if both go, it fails."""
    published(version="1.2.0")
    published(version="1.3.0")
    calls(add_module(acme, "app/aws"), "acme/vpc/aws", constraint="~> 1.2")
    both = ("acme/vpc/aws 1.2.0", "acme/vpc/aws 1.3.0")

    status, one = post(dora, "yank", both[0], query="?dry_run=1", reason="")
    assert (status, one["fails"], one["moves"], one["refused"]) == (200, 0, 1, [])
    status, answer = post(dora, "yank", *both, "acme/vpc/aws 9.0.0", query="?dry_run=1", reason="")
    assert (status, answer["fails"], answer["moves"]) == (200, 1, 0)
    assert [hit["name"] for hit in answer["hits"]] == ["acme/app/aws"]
    assert [(one["version"], one["code"]) for one in answer["refused"]] == [("9.0.0", "not_found")]
    assert post(charlie, "yank", *both, query="?dry_run=1")[0] == 404
    assert set(states().values()) == {"maintained"}


def test_notify_is_for_people_and_for_a_few_versions_of_one_namespace(acme, hall, post, dora, bob, settings):
    settings.SMTP = {"host": "127.0.0.1", "port": 1}
    User.objects.update(email="someone@acme.example")
    add_module(acme, "vpc/aws", "1.0.0", "1.1.0")
    for release in Release.objects.all():
        Fetch.objects.create(release=release, user=bob, last_on=timezone.now().date() - timedelta(days=3), count=2)
    add_module(hall, "dns/aws", "1.0.0")
    both = ("acme/vpc/aws 1.0.0", "acme/vpc/aws 1.1.0")

    status, answer = post(dora, "yank", *both, "hall/dns/aws 1.0.0", notify=True)
    assert (status, "one namespace" in answer["error"]["message"]) == (422, True)
    machine = machine_of(team_of(dora, acme), dora)
    assert post(machine, "yank", *both, notify=True, scope=Scope.PUBLISH)[0] == 403
    assert set(states().values()) == {"maintained"}
    assert post(dora, "yank", *both, notify=True)[0] == 200
    outbox.dispatch()
    assert [letter.user for letter in Letter.objects.all()] == [bob, bob], "a mail for each version"
