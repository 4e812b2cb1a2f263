"""The door of a former owner's CI: closed by a transfer, with an answer that says why, until the new owner confirms."""

import pytest

from apps.accounts.access import connections
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Role, Scope, TokenExchange, TrustedPublisher
from apps.contrib.trusted.tests.house import KIND
from tests.builders.archives import module_zip
from tests.builders.connecting import hand_over

URL = "/api/v1/modules/acme/vpc/aws/1.2.0"


def published(client, answer):
    headers = {"Authorization": f"Bearer {answer.json()['token']}"}
    return client.generic("PUT", URL, module_zip(), headers=headers).status_code


@pytest.mark.both
def test_a_transfer_closes_it_until_the_new_owner_confirms(add, id_token, exchange, client, acme, dora, alice, work):
    rule = add()
    before = exchange(id_token())
    assert before.status_code == 200

    hand_over(acme, dora, alice)

    assert published(client, before) == 401, "the token of a run that goes on"
    refused = exchange(id_token())
    assert refused.status_code == 403
    said = refused.json()["error"]
    assert "is suspended since" in said["message"]
    assert "The namespace was transferred" in said["message"]
    assert "An owner of acme confirms it" in said["hint"]
    assert TokenExchange.objects.filter(publisher=rule).exclude(refused="").count() == 1, "the new owner sees it"

    connections.confirm(namespace=acme, kind=KIND, number=rule.pk, actor=Viewer(alice))
    after = exchange(id_token())
    assert (after.status_code, published(client, after)) == (200, 202)


@pytest.mark.both
def test_an_exchange_that_chose_its_rule_before_the_transfer_gets_no_token(
    add, id_token, exchange, acme, dora, alice, monkeypatch
):
    """Between its choice and its token the namespace is handed over."""
    from apps.contrib.trusted import verifying

    rule, use_once = add(), verifying.use_once

    def handed_over(*given):
        hand_over(acme, dora, alice)
        return use_once(*given)

    monkeypatch.setattr(verifying, "use_once", handed_over)

    assert exchange(id_token()).status_code == 403
    assert TrustedPublisher.objects.get(pk=rule.pk).last_used_at is None
    assert rule.user.api_tokens.count() == 0


def test_the_tokens_of_its_runs_end_and_its_machine_loses_its_role(add, acme, dora, alice):
    rule = add()
    token, _ = tokens.issue(user=rule.user, label="run", scope=Scope.PUBLISH, actor=Viewer(dora))

    hand_over(acme, dora, alice)

    assert ApiToken.objects.get(pk=token.pk).revoked_at is not None
    assert not Grant.objects.filter(user=rule.user).exists()
    connections.confirm(namespace=acme, kind=KIND, number=rule.pk, actor=Viewer(alice))
    assert Grant.objects.get(user=rule.user).role == Role.PUBLISHER


def test_the_api_says_of_a_rule_that_it_is_suspended(add, acme, dora, alice, tofu):
    add()
    hand_over(acme, dora, alice)

    [listed] = tofu(alice).get("/api/v1/namespaces/acme/trusted-publishers").json()["trusted_publishers"]
    assert listed["suspended_at"]
