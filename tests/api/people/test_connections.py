"""/api/v1/namespaces/<ns>/connections, and what transfers and withdrawals answer of them."""

from django.contrib.auth.models import Permission

from apps.accounts.access.gate import NOBODY
from apps.accounts.models import Grant, Role, Team
from apps.accounts.people import teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from tests.builders.connecting import KINDS, connect_all
from tests.builders.held import key_row
from tests.cast import person

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
    assert waiting[0]["answers"] == ["dora"]
    assert waiting[0]["suspended_reason"] == "The namespace was transferred."
    kind, row = next(iter(rows.items()))

    confirmed = hers.post(f"{URL}/connections/{kind}/{row.pk}/confirm")

    assert (confirmed.status_code, confirmed.json()["answers"]) == (200, ["alice"])
    assert len(hers.get(f"{URL}/connections?suspended=true").json()["connections"]) == len(KINDS) - 1
    assert len(hers.get(f"{URL}/connections").json()["connections"]) == len(KINDS)
    assert hers.post(f"{URL}/connections/{kind}/0/confirm").status_code == 404
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


def test_the_ends_of_memberships_teams_and_accounts_answer_what_is_left_behind(acme, dora, olga, tofu):
    """To those who owned the namespace; to others the same act tells nothing of it."""
    team = Team.objects.create(name="cooks")
    Grant.objects.create(namespace=acme, team=team, role=Role.OWNER)
    people = [person(name) for name in ("eve", "frank")]
    for one in (*people, dora):
        teams.add(team=team, user=one, actor=NOBODY)
        connect_all(acme, one, one.username)
    teams.set_manager(membership=team.memberships.get(user=dora), is_manager=True, actor=NOBODY)
    Grant.objects.filter(namespace=acme, user=dora).delete()
    Grant.objects.create(namespace=acme, user=olga, role=Role.OWNER)
    client = tofu(dora)

    removed = client.delete("/api/v1/teams/cooks/members/eve")
    off = tofu(olga).patch("/api/v1/users/frank", {"active": False}, JSON)
    deleted = client.delete("/api/v1/teams/cooks")

    for answer in (removed, off, deleted):
        assert (answer.status_code, kinds(answer.json()["left_behind"])) == (200, list(KINDS))
    assert {row["namespace"] for row in deleted.json()["left_behind"]} == {"acme"}


def test_who_owns_nothing_there_reads_no_names_of_it(acme, dora, tofu):
    """An account manager who is no operator."""
    eve, staff = person("eve"), person("sam", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user"]))
    Grant.objects.create(namespace=acme, user=eve, role=Role.OWNER)
    connect_all(acme, eve)

    answer = tofu(staff).patch("/api/v1/users/eve", {"active": False}, JSON)

    assert (answer.status_code, answer.json()["left_behind"]) == (200, [])
    assert AuditEvent.objects.filter(kind=Kind.CONNECTIONS_LEFT_BEHIND).count() == 1, "its owners are told"


def test_owners_list_the_secrets_that_others_may_know(acme, dora, alice, tofu):
    key = key_row(acme, added_by=alice)

    answer = tofu(dora).get(f"{URL}/connections/secrets")

    assert answer.json()["secrets"] == [{"kind": "signing key", "name": key.key_id, "person": "alice"}]
    assert tofu(alice).get(f"{URL}/connections/secrets").status_code == 403
