"""A leaked token of scope manage, step by step: what its finder tries, and what is left when its owner revokes it."""

import json

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Invitation, Membership, Namespace, Role, Scope, User
from apps.accounts.people import service_accounts, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.signing.models import SigningKey, State
from tests import rooms
from tests.accounts.conftest import client_with
from tests.builders.keys import signing_key
from tests.rows import for_each_row

ACME = "/api/v1/namespaces/acme"
CI = "/api/v1/teams/cooks/service-accounts/ci"
LOOT = rooms.entries("LOOT")


@pytest.fixture
def cooks(acme, dora, charlie):
    """A team that owns acme, managed by Dora. Charlie, a stranger, is the thief."""
    team = teams.create(name="cooks", actor=Viewer(dora))
    Grant.objects.create(namespace=acme, team=team, role=Role.OWNER)
    return team


def send(client, method, url, body=None):
    return client.generic(method, url, json.dumps(body or {}), content_type="application/json")


@pytest.fixture
def machine(cooks, dora):
    """A client with the leaked token of a service account that may have the scope manage."""
    account = service_accounts.create(team=cooks, name="ci", actor=Viewer(dora))
    service_accounts.allow_manage(account=account, allowed=True, actor=Viewer(dora))
    return client_with(tokens.issue(user=account, label="CI", scope=Scope.MANAGE, actor=Viewer(dora))[1])


@pytest.fixture
def leaked(cooks, dora):
    """Dora's own token of scope manage, as its finder has it."""
    return tokens.issue(user=dora, label="laptop", scope=Scope.MANAGE, actor=Viewer(dora))


# --- The token of a service account ----------------------------------------------------------------------------------

STEPS = {
    "gives a stranger ownership": ("PUT", f"{ACME}/grants/users/charlie", {"role": "owner"}),
    "gives a stranger a role": ("PUT", f"{ACME}/grants/users/charlie", {"role": "reader"}),
    "gives a stranger's team a role": ("PUT", f"{ACME}/grants/teams/thieves", {"role": "owner"}),
    "takes the owner's role away": ("DELETE", f"{ACME}/grants/users/dora", None),
    "transfers the namespace": ("POST", f"{ACME}/transfer", {"to_user": "charlie", "from_team": "cooks"}),
    "invites a stranger": ("POST", "/api/v1/invitations", {"note": "me", "namespace": "acme", "role": "owner"}),
    "adds a stranger to the team": ("PUT", "/api/v1/teams/cooks/members/charlie", {}),
    "deletes the team": ("DELETE", "/api/v1/teams/cooks", None),
    "deletes the namespace": ("DELETE", ACME, None),
    "makes another service account": ("PUT", f"{CI}-2", None),
    "makes itself another token": ("POST", f"{CI}/tokens", {"label": "mine", "scope": "read"}),
}


@for_each_row("step", STEPS)
def test_a_machine_gives_no_power_to_people(machine, charlie, step):
    teams.create(name="thieves", actor=Viewer(charlie))
    before = (list(Grant.objects.order_by("pk").values()), list(Membership.objects.order_by("pk").values()))
    method, url, body = STEPS[step]
    answer = send(machine, method, url, body)

    assert answer.status_code == 403, answer.content
    assert (list(Grant.objects.order_by("pk").values()), list(Membership.objects.order_by("pk").values())) == before
    assert not Invitation.objects.exists()
    assert Namespace.objects.filter(name="acme").exists()


def test_what_a_machine_may_create_ends_with_its_token(machine, dora, browser_of):
    """Its key and what rooms have stay possible: its team's manager was warned, and ends them in one step."""
    assert send(machine, "POST", f"{ACME}/keys", {"armor": signing_key("ed25519").armor}).status_code == 201
    for _, path, body, _ in LOOT:
        assert send(machine, "POST", ACME + path, body).status_code == 201
    browser, token = browser_of(dora), ApiToken.objects.get(user__is_service=True)
    page = f"/teams/cooks/service-accounts/{token.user_id}/tokens/{token.pk}/revoke"
    shown = browser.get(page).content.decode()
    key = SigningKey.objects.get().key_id
    for said in (f"Revoke the token and these {1 + len(LOOT)}", key):
        assert said in shown, said

    assert browser.post(page, {"end": "created"}).status_code == 303

    assert machine.get("/api/v1/me").status_code == 401
    assert SigningKey.objects.get().state == State.RETIRED
    assert all(has_ended() for *_, has_ended in LOOT)


# --- The token of a person -------------------------------------------------------------------------------------------


def test_no_token_makes_a_token_of_scope_manage(leaked, dora, browser_of):
    _, secret = leaked
    thief = client_with(secret)
    assert send(thief, "PUT", CI).status_code == 201
    refused = send(thief, "POST", f"{CI}/tokens", {"label": "more", "scope": "manage"})
    assert refused.status_code == 403, refused.content
    assert "confirm" in refused.json()["error"]["message"]
    account = User.objects.get(is_service=True)
    browser_of(dora).post(f"/teams/cooks/service-accounts/{account.pk}/manage", {"allow": "1"})
    own, _ = tokens.issue(user=account, label="CI", scope=Scope.MANAGE, actor=Viewer(dora))

    assert send(thief, "POST", f"{CI}/tokens", {"label": "more", "scope": "manage"}).status_code == 403
    assert send(thief, "POST", f"{CI}/tokens/{own.pk}/rotate").status_code == 403
    assert ApiToken.objects.filter(user=account).count() == 1
    refusals = AuditEvent.objects.filter(kind=Kind.PERMISSION_REFUSED).values_list("detail__needed", flat=True)
    assert set(refusals) == {"a confirmation by a person, to create a token of scope manage"}
    assert len(refusals) == 3


@pytest.fixture
def looted(leaked, cooks, charlie, acme):
    """All that the finder could create with Dora's token."""
    _, secret = leaked
    thief = client_with(secret)
    done = [
        send(thief, "PUT", f"{ACME}/grants/users/charlie", {"role": "owner"}),
        send(thief, "PUT", "/api/v1/teams/cooks/members/charlie", {}),
        send(thief, "POST", "/api/v1/invitations", {"note": "me", "namespace": "acme", "role": "owner"}),
        send(thief, "PUT", CI),
        send(thief, "POST", f"{CI}/tokens", {"label": "back door", "scope": "publish"}),
        send(thief, "POST", f"{ACME}/keys", {"armor": signing_key("ed25519").armor}),
        *(send(thief, "POST", ACME + path, body) for _, path, body, _ in LOOT),
    ]
    assert {answer.status_code for answer in done} <= {200, 201}, [answer.content for answer in done]
    return thief


KINDS = ["role", "membership", "invitation", "token", "service account", "signing key", *(kind for kind, *_ in LOOT)]


def nothing_is_left(charlie):
    assert not Grant.objects.filter(user=charlie).exists()
    assert not Membership.objects.filter(user=charlie).exists()
    assert not Invitation.objects.filter(revoked_at=None).exists()
    assert not ApiToken.objects.filter(user__is_service=True, revoked_at=None).exists()
    assert not User.objects.filter(is_service=True, is_active=True).exists()
    assert SigningKey.objects.get().state == State.RETIRED
    assert all(has_ended() for *_, has_ended in LOOT)
    return True


@pytest.mark.both
def test_everything_that_it_created_ends_in_one_step(leaked, looted, dora, charlie, browser_of):
    token, _ = leaked
    browser = browser_of(dora)
    shown = browser.get(f"/tokens/{token.pk}/revoke")
    assert [one.kind for one in shown.context["creations"]] == KINDS
    assert f"Revoke the token and these {len(KINDS)}" in shown.content.decode()

    assert browser.post(f"/tokens/{token.pk}/revoke", {"end": "created"}).status_code == 303

    assert nothing_is_left(charlie)
    kinds = set(AuditEvent.objects.filter(actor_id=dora.pk, token_id=None).values_list("kind", flat=True))
    assert kinds >= {
        Kind.TOKEN_REVOKED,
        Kind.GRANT_WITHDRAWN,
        Kind.TEAM_MEMBER_REMOVED,
        Kind.USER_INVITATION_REVOKED,
        Kind.SERVICE_ACCOUNT_DELETED,
        Kind.KEY_RETIRED,
    }
    assert not browser.get(f"/tokens/{token.pk}/revoke").context["creations"], "it can be repeated, and nothing is left"


def test_the_api_lists_and_ends_them_too(leaked, looted, tofu, dora, charlie):
    token, _ = leaked
    client, url = tofu(dora), f"/api/v1/tokens/{leaked[0].pk}"
    assert [one["kind"] for one in client.get(url).json()["created"]] == KINDS
    assert client.delete(f"{url}?end=all").status_code == 422
    token.refresh_from_db()
    assert token.revoked_at is None, "a typing error ends nothing"

    answer = client.delete(f"{url}?end=created")

    assert (answer.status_code, [one["kind"] for one in answer.json()["ended"]]) == (200, KINDS)
    assert answer.json()["kept"] == []
    assert nothing_is_left(charlie)
    assert client.delete(f"{url}?end=created").json() == {"ended": [], "kept": []}


def test_operators_end_them_in_the_admin_and_by_api(leaked, looted, olga, charlie, tofu, browser_of):
    token, _ = leaked
    page = f"/admin/accounts/apitoken/{token.pk}/change/"
    browser = browser_of(olga)
    assert "back door" not in browser.get(page).content.decode()
    assert "charlie" in browser.get(page).content.decode()
    one = f"/api/v1/users/dora/tokens/{token.pk}"
    assert [creation["kind"] for creation in tofu(olga).get(one).json()["created"]] == KINDS

    assert browser.post(page, {"action": "revoke_with_creations", "apply": "1"}).status_code == 302

    assert nothing_is_left(charlie)
    assert tofu(olga).delete(f"{one}?end=created").json() == {"ended": [], "kept": []}


def test_the_role_of_a_stranger_who_used_its_invitation_ends_too(leaked, dora, acme, browser_of):
    token, secret = leaked
    invitation = {"note": "me", "namespace": "acme", "role": "owner"}
    link = send(client_with(secret), "POST", "/api/v1/invitations", invitation).json()["link"]
    joined = {"username": "eve", "password": "ripe plums in august", "again": "ripe plums in august"}
    assert Client().post("/invitations/" + link.rpartition("/")[2], joined).status_code == 303
    assert Grant.objects.filter(namespace=acme, user__username="eve").exists()

    browser_of(dora).post(f"/tokens/{token.pk}/revoke", {"end": "created"})

    assert not Grant.objects.filter(user__username="eve").exists()


def test_a_revoked_token_still_offers_to_end_what_is_left(leaked, looted, dora, charlie, browser_of):
    """The state after a report by a scanner, which ends the token alone."""
    token, secret = leaked
    browser = browser_of(dora)
    report = {"tokens": [{"token": secret, "url": "https://git.example/x"}]}
    assert send(Client(), "POST", "/api/v1/leaked-tokens", report).status_code == 200
    assert f"It created {len(KINDS)}" in browser.get("/tokens").content.decode()
    page = browser.get(f"/tokens/{token.pk}/revoke").content.decode()
    assert (f"Revoke or delete these {len(KINDS)}" in page, "Revoke the token" in page) == (True, False)

    browser.post(f"/tokens/{token.pk}/revoke", {"end": "created"})

    assert nothing_is_left(charlie)


def test_the_token_ends_at_once_and_the_rest_after_a_confirmation(leaked, looted, dora, charlie, browser_of):
    token, _ = leaked
    browser = browser_of(dora, confirmed=False)

    asked = browser.post(f"/tokens/{token.pk}/revoke", {"end": "created"})

    assert (asked.status_code, "reauthenticate" in asked.headers["Location"]) == (302, True)
    assert looted.get("/api/v1/me").status_code == 401, "it does not wait for a password"
    assert Grant.objects.filter(user=charlie).exists()


def test_who_lost_the_right_to_end_something_is_told(leaked, looted, dora, olga, acme, charlie, browser_of):
    token, _ = leaked
    Grant.objects.filter(user=dora).delete()
    Grant.objects.filter(team__name="cooks").update(role=Role.READER)
    browser = browser_of(dora)

    browser.post(f"/tokens/{token.pk}/revoke", {"end": "created"})

    told = browser.get("/tokens").content.decode()
    assert "Not ended: signing key" in told
    assert SigningKey.objects.get().state == State.ACTIVE
    assert not User.objects.filter(is_service=True, is_active=True).exists(), "her team's account is hers to end"
    operator = browser_of(olga)
    page = f"/admin/accounts/apitoken/{token.pk}/change/"
    told = operator.post(page, {"action": "revoke_with_creations", "apply": "1"}, follow=True).content.decode()
    assert "not ended: role owner of acme for charlie. A namespace needs at least one owner" in told
    assert SigningKey.objects.get().state == State.RETIRED
    Grant.objects.create(namespace=acme, user=olga, role=Role.OWNER)
    operator.post(page, {"action": "revoke_with_creations", "apply": "1"})
    assert nothing_is_left(charlie)
