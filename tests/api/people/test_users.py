"""/api/v1/users: staff find accounts, deactivate and activate them, and end their sessions and tokens."""

import json

import pytest
from django.contrib.auth.models import Permission

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Scope, User
from apps.accounts.people import service_accounts, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from tests.accounts.conftest import status_of
from tests.cast import person

URL = "/api/v1/users"


@pytest.fixture
def staff(tofu, olga):
    return tofu(olga)


def patch(client, user, body):
    return client.patch(f"{URL}/{user}", json.dumps(body), content_type="application/json")


def found(client, query=""):
    answer = client.get(f"{URL}{query}")
    assert answer.status_code == 200, answer.content
    return [row["user"] for row in answer.json()["users"]]


def issued(user, label="CI"):
    return tokens.issue(user=user, label=label, scope=Scope.READ, actor=Viewer(user))


@pytest.mark.both
def test_staff_find_people_and_machines(staff, alice, bob, dora):
    User.objects.filter(pk=bob.pk).update(is_active=False)
    service_accounts.create(team=teams.create(name="cooks", actor=Viewer(dora)), name="ci", actor=Viewer(dora))

    assert found(staff) == ["alice", "bob", "cooks.ci[bot]", "dora", "olga"]
    assert found(staff, "?q=al") == ["alice"]
    assert found(staff, "?active=false") == ["bob"]
    assert found(staff, "?staff=true") == ["olga"]
    assert found(staff, "?machine=true") == ["cooks.ci[bot]"]
    assert staff.get(f"{URL}/cooks.ci[bot]").json()["team"] == "cooks"
    assert staff.get(f"{URL}?active=yes").status_code == 422
    assert staff.get(f"{URL}/zoe").status_code == 404


def test_one_account_names_what_nobody_else_would_look_after(staff, dora, acme):
    teams.create(name="cooks", actor=Viewer(dora))
    said = staff.get(f"{URL}/dora").json()

    assert (said["only_owner_of"], said["only_manager_of"]) == (["acme"], ["cooks"])
    assert (said["active"], said["staff"], said["roles"], said["erased"]) == (True, False, [], False)


def test_a_deactivated_person_is_out_at_once_and_comes_back(staff, olga, alice):
    _, secret = issued(alice)

    assert patch(staff, "alice", {"active": False}).json()["active"] is False
    assert status_of(secret) == 401
    count = AuditEvent.objects.count()
    assert patch(staff, "alice", {"active": False}).status_code == 200
    assert AuditEvent.objects.count() == count
    assert patch(staff, "alice", {"active": True}).json()["active"] is True
    changes = AuditEvent.objects.filter(kind=Kind.USER_CHANGED, actor_id=olga.pk)
    assert [event.token_id is not None for event in changes] == [True, True]


def test_rights_of_operators_are_not_given_by_a_token_and_only_superusers_switch_them_off(staff, tofu, olga, alice):
    answer = patch(staff, "alice", {"active": True, "staff": True})

    assert answer.status_code == 422
    assert "staff" in answer.json()["error"]["message"]
    assert patch(staff, "alice", {}).status_code == 422
    assert patch(staff, "olga", {"active": False}).status_code == 409, "one's own account"
    sam = person("sam", is_staff=True)
    sam.user_permissions.add(Permission.objects.get(codename="change_user"))
    assert patch(tofu(sam), "olga", {"active": False}).status_code == 403
    assert User.objects.get(pk=olga.pk).is_active


def test_sessions_end_and_tokens_stay(staff, alice, browser_of):
    browser, (_, secret) = browser_of(alice), issued(alice)

    for _ in range(2):
        assert staff.delete(f"{URL}/alice/sessions").status_code == 204
    assert browser.get("/tokens").status_code == 302
    assert status_of(secret) == 200
    assert AuditEvent.objects.filter(kind=Kind.SESSIONS_ENDED).count() == 1


def test_tokens_of_a_person_are_listed_and_revoked(staff, alice, bob):
    (one, first), (_, second), (his, other) = issued(alice), issued(alice, "more"), issued(bob)

    assert [row["label"] for row in staff.get(f"{URL}/alice/tokens").json()["tokens"]] == ["more", "CI"]
    for _ in range(2):
        assert staff.delete(f"{URL}/alice/tokens/{one.pk}").status_code == 204
    assert [status_of(secret) for secret in (first, second)] == [401, 200]
    assert staff.delete(f"{URL}/alice/tokens/{his.pk}").status_code == 404
    for _ in range(2):
        assert staff.delete(f"{URL}/alice/tokens").status_code == 204
    assert [status_of(secret) for secret in (second, other)] == [401, 200]
    assert AuditEvent.objects.filter(kind=Kind.TOKEN_REVOKED).count() == 2


def test_the_list_has_pages_and_few_queries(staff, alice, bob, dora, in_pages):
    assert [row["user"] for row in in_pages(staff, URL, queries=3)] == ["alice", "bob", "dora", "olga"]
