"""/api/v1/teams/<team>/service-accounts: machines of a team and their tokens, by script."""

import json

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Membership, Role, Scope, User
from apps.accounts.people import teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from tests.accounts.conftest import status_of
from tests.rows import for_each_row

TEAM = "/api/v1/teams/cooks/service-accounts"
CI = f"{TEAM}/ci"
NEW = {"label": "nightly", "scope": "publish"}


@pytest.fixture
def cooks(cooks, acme):
    """They publish in acme."""
    Grant.objects.create(namespace=acme, team=cooks, role=Role.PUBLISHER)
    return cooks


@pytest.fixture
def manager(cooks, dora, tofu):
    client = tofu(dora)
    assert client.put(CI).status_code == 201
    return client


def post(client, url, body):
    return client.post(url, json.dumps(body), content_type="application/json")


def created(client, **more):
    answer = post(client, f"{CI}/tokens", NEW | more)
    assert answer.status_code == 201, answer.content
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.json()


def test_a_dry_run_names_the_clients_of_its_tokens_and_deletes_nothing(manager):
    created(manager)
    ApiToken.objects.filter(label="nightly").update(last_used_at=timezone.now(), last_used_by="curl/8")

    answer = manager.delete(f"{CI}?dry_run=1").json()
    assert [(hit["kind"], hit["name"], hit["effect"]) for hit in answer["hits"]] == [("client", "curl/8", "fails")]
    assert manager.get(CI).status_code == 200


def test_an_account_is_made_shown_and_deleted(manager, charlie, tofu):
    assert manager.put(CI).status_code == 200, "it is there already"
    ours = {"name": "ci", "user": "cooks.ci[bot]", "team": "cooks"}
    (row,) = tofu(charlie).get(TEAM).json()["service_accounts"]
    assert ours.items() <= row.items()
    assert tofu(charlie).get(CI).json() == row
    secret = created(manager)["secret"]

    assert manager.delete(CI).status_code == 204
    assert status_of(secret) == 401
    assert manager.delete(CI).status_code == manager.get(CI).status_code == 404
    assert manager.put(CI).status_code == 409, "no name is used twice"
    assert manager.put(f"{TEAM}/CI").status_code == 422


def test_a_token_is_shown_once_and_has_the_roles_of_the_team(manager, acme):
    made = created(manager, namespaces=["acme"], only_name="vpc/aws", days=3)

    assert made["secret"].startswith("lrd_s_")
    assert (made["scope"], made["namespaces"], made["only_name"]) == ("publish", ["acme"], "vpc/aws")
    assert tokens.identify(made["secret"]).pk == made["id"]
    listed = manager.get(f"{CI}/tokens")
    assert made["secret"] not in listed.text
    assert {key: value for key, value in made.items() if key != "secret"} == listed.json()["tokens"][0]
    event = AuditEvent.objects.filter(kind=Kind.TOKEN_ISSUED).latest("pk")
    assert (event.subject, event.token_id is not None) == (f"token/{made['id']}", True)


def test_the_next_token_has_the_same_limits_and_the_old_one_stays(manager, acme):
    old = created(manager, namespaces=["acme"])
    rotate = f"{CI}/tokens/{old['id']}/rotate"
    answer = post(manager, rotate, {})
    new = answer.json()

    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    same = ("label", "scope", "namespaces", "only_name")
    assert [new[key] for key in same] == [old[key] for key in same]
    assert status_of(old["secret"]) == status_of(new["secret"]) == 200
    refused = post(manager, rotate, {})
    assert refused.status_code == 409
    assert "2 valid tokens" in refused.json()["error"]["message"]
    for _ in range(2):
        assert manager.delete(f"{CI}/tokens/{old['id']}").status_code == 204
    assert (status_of(old["secret"]), status_of(new["secret"])) == (401, 200)
    ended = post(manager, rotate, {})
    assert ended.status_code == 409
    assert "has expired or was revoked" in ended.json()["error"]["message"]


def test_a_token_whose_namespaces_are_gone_is_not_widened(manager, acme):
    old = created(manager, namespaces=["acme"])
    ApiToken.objects.get(pk=old["id"]).namespaces.clear()

    assert post(manager, f"{CI}/tokens/{old['id']}/rotate", {}).status_code == 409
    assert ApiToken.objects.filter(user__is_service=True).count() == 1


@for_each_row(
    ("body", "says"),
    [
        ({"label": "x"}, "scope"),
        ({"label": "x", "scope": "owner"}, "scope"),
        ({"label": "", "scope": "read"}, "label"),
        ({"label": "x", "scope": "read", "days": 366}, "days"),
        ({"label": "x", "scope": "read", "namespaces": []}, "namespaces"),
        ({"label": "x", "scope": "read", "namespaces": ["secret"]}, "no namespace 'secret'"),
        ({"label": "x", "scope": "publish", "only_name": "a b"}, "not a name"),
    ],
)
def test_it_says_what_is_wrong(manager, body, says):
    answer = post(manager, f"{CI}/tokens", body)

    assert answer.status_code == 422
    assert says in answer.json()["error"]["message"]
    assert not ApiToken.objects.filter(user__is_service=True).exists()


def test_an_account_of_another_team_is_not_there(manager, dora):
    teams.create(name="bakers", actor=Viewer(dora))
    made = created(manager)

    assert manager.get("/api/v1/teams/bakers/service-accounts/ci").status_code == 404
    assert manager.delete(f"/api/v1/teams/bakers/service-accounts/ci/tokens/{made['id']}").status_code == 404
    own, _ = tokens.issue(user=dora, label="hers", scope=Scope.READ, actor=Viewer(dora))
    assert manager.delete(f"{CI}/tokens/{own.pk}").status_code == 404


def test_the_lists_need_few_queries(manager, cooks, django_assert_max_num_queries):
    for number in range(5):
        user = User.objects.create(username=f"cooks.m{number}[bot]", is_service=True, service_of=cooks)
        Membership.objects.create(team=cooks, user=user)
    created(manager, namespaces=["acme"])
    with django_assert_max_num_queries(3):
        assert len(manager.get(TEAM).json()["service_accounts"]) == 6
    with django_assert_max_num_queries(6):
        manager.get(f"{CI}/tokens")
