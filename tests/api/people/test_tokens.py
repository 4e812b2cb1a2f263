"""/api/v1/tokens: a person lists and revokes their tokens; a token makes none."""

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Scope
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from tests.rows import for_each_row

URL = "/api/v1/tokens"


@pytest.fixture
def issue(acme):
    def issued(user, label, scope=Scope.READ, **more):
        return tokens.issue(user=user, label=label, scope=scope, actor=Viewer(user), **more)

    return issued


def as_token(secret):
    return Client(headers={"Authorization": f"Bearer {secret}"})


def test_a_person_reads_which_tokens_they_have(tofu, issue, alice, bob, acme):
    token, secret = issue(alice, "CI", Scope.PUBLISH, namespaces=[acme], only_name="vpc/aws")
    issue(bob, "his")
    client = tofu(alice)
    answer = client.get(URL)

    assert [one["label"] for one in answer.json()["tokens"]] == ["test", "CI"]
    found = answer.json()["tokens"][1]
    assert (found["id"], found["scope"], found["namespaces"], found["only_name"]) == (
        token.pk,
        "publish",
        ["acme"],
        "vpc/aws",
    )
    assert (found["usable"], found["last_used_at"], found["start"]) == (True, None, secret[:10])
    assert secret not in answer.text
    assert token.digest not in answer.text


def test_a_revoked_token_ends_at_once_and_stays_in_the_list(tofu, issue, alice):
    token, secret = issue(alice, "CI")
    client = tofu(alice)

    assert as_token(secret).get("/api/v1/me").status_code == 200
    for _ in range(2):
        assert client.delete(f"{URL}/{token.pk}").status_code == 204
    assert as_token(secret).get("/api/v1/me").status_code == 401
    ended = next(one for one in client.get(URL).json()["tokens"] if one["id"] == token.pk)
    assert (ended["usable"], ended["revoked_at"] is not None) == (False, True)
    assert AuditEvent.objects.filter(kind=Kind.TOKEN_REVOKED, actor_id=alice.pk).count() == 1


@for_each_row("scope", [Scope.READ, Scope.PUBLISH])
def test_a_narrow_token_revokes_itself_and_nothing_else(issue, alice, scope):
    token, secret = issue(alice, "CI", scope)
    other, _ = issue(alice, "other")
    client = as_token(secret)

    assert client.get(URL).status_code == 403
    assert client.delete(f"{URL}/{other.pk}").status_code == 403
    assert client.delete(f"{URL}/{token.pk}").status_code == 204
    assert client.get("/api/v1/me").status_code == 401


def test_a_token_with_limits_does_not_reach_beyond_them(issue, alice, acme):
    for limits in ({"namespaces": [acme]}, {"only_name": "vpc/aws"}):
        _, secret = issue(alice, "CI", Scope.MANAGE, **limits)
        answer = as_token(secret).get(URL)
        assert answer.status_code == 403
        assert "no limits" in answer.json()["error"]["message"]


def test_the_list_has_pages_and_few_queries(tofu, issue, alice, acme, in_pages):
    for number in range(3):
        issue(alice, f"t{number}", namespaces=[acme])
    rows = in_pages(tofu(alice), URL, queries=3)

    assert [one["label"] for one in rows] == ["test", "t2", "t1", "t0"]
