"""/api/v1/namespaces/<ns>/connections, and what transfers and withdrawals answer of them."""

from apps.accounts.access.gate import NOBODY
from apps.accounts.models import Grant, Role, Team
from apps.accounts.people import teams
from tests.builders.connecting import KINDS, REPOSITORY, connect_all
from tests.conftest import person

URL = "/api/v1/namespaces/acme"
JSON = "application/json"


def kinds(rows):
    return [row["kind"] for row in rows]


def test_a_transfer_answers_what_it_suspends_and_the_new_owner_lists_and_confirms_it(acme, dora, alice, tofu):
    rows = connect_all(acme, dora)
    answer = tofu(dora).post(f"{URL}/transfer", {"to_user": "alice"}, JSON)

    assert answer.status_code == 200
    assert kinds(answer.json()["suspended"]) == list(KINDS)
    hers = tofu(alice)
    waiting = hers.get(f"{URL}/connections?suspended=true").json()["connections"]
    assert kinds(waiting) == list(KINDS)
    assert waiting[1]["answers"] == ["dora"]
    assert waiting[1]["suspended_reason"] == "The namespace was transferred."
    number = rows[REPOSITORY].pk
    assert hers.get(f"{URL}/repositories/{number}").json()["state"] == "suspended"
    assert hers.get(f"{URL}/trusted-publishers").json()["trusted_publishers"][0]["suspended_at"]
    assert hers.get(f"{URL}/webhooks").json()["webhooks"][0]["suspended_at"]

    confirmed = hers.post(f"{URL}/connections/{REPOSITORY}/{number}/confirm")

    assert (confirmed.status_code, confirmed.json()["answers"]) == (200, ["alice"])
    assert len(hers.get(f"{URL}/connections?suspended=true").json()["connections"]) == len(KINDS) - 1
    assert len(hers.get(f"{URL}/connections").json()["connections"]) == len(KINDS)
    assert hers.post(f"{URL}/connections/{REPOSITORY}/0/confirm").status_code == 404
    assert tofu(dora).get(f"{URL}/connections").status_code == 404


def test_a_withdrawal_answers_what_is_left_behind(acme, dora, bob, tofu):
    eve, team = person("eve"), Team.objects.create(name="cooks")
    Grant.objects.create(namespace=acme, user=eve, role=Role.OWNER)
    Grant.objects.create(namespace=acme, team=team, role=Role.OWNER)
    frank = person("frank")
    teams.add(team=team, user=frank, actor=NOBODY)
    connect_all(acme, eve)
    connect_all(acme, frank, "dns")
    client = tofu(dora)

    lowered = client.put(f"{URL}/grants/users/eve", {"role": "publisher"}, JSON)
    withdrawn = client.delete(f"{URL}/grants/teams/cooks")

    assert (lowered.status_code, kinds(lowered.json()["left_behind"])) == (200, list(KINDS))
    assert (withdrawn.status_code, kinds(withdrawn.json()["left_behind"])) == (200, list(KINDS))
    assert all(row["left_behind"] for row in client.get(f"{URL}/connections").json()["connections"])
    assert client.delete(f"{URL}/grants/users/bob").status_code == 204
    assert client.delete(f"{URL}/grants/users/eve").status_code == 204
    assert client.put(f"{URL}/grants/users/bob", {"role": "publisher"}, JSON).json()["left_behind"] == []
