"""DELETE with dry_run=1 of a role, a team and a member: who is hit, and nothing changes."""

import pytest

from apps.accounts.models import Grant, Membership, Role
from tests.rows import for_each_row

SPACE = "/api/v1/namespaces/acme"


@pytest.fixture
def cooks(cooks, acme):
    """They publish in acme."""
    Grant.objects.create(namespace=acme, team=cooks, role=Role.PUBLISHER)
    return cooks


@for_each_row(
    ("url", "hit"),
    [
        (f"{SPACE}/grants/users/bob", {("bob", "fails")}),
        (f"{SPACE}/grants/teams/cooks", {("charlie", "fails"), ("dora", "keeps")}),
        (f"{SPACE}/grants/users/charlie", set()),
        ("/api/v1/teams/cooks", {("charlie", "fails"), ("dora", "keeps")}),
        ("/api/v1/teams/cooks/members/charlie", {("charlie", "fails")}),
        ("/api/v1/teams/cooks/members/bob", set()),
    ],
)
def test_a_dry_run_names_those_who_lose_access_and_changes_nothing(cooks, bob, dora, tofu, url, hit):
    answer = tofu(dora).delete(f"{url}?dry_run=1")

    assert answer.status_code == 200, answer.content
    assert {(one["name"], one["effect"]) for one in answer.json()["hits"]} == hit
    assert Grant.objects.filter(user=bob).exists()
    assert Membership.objects.filter(team=cooks).count() == 2


def test_a_dry_run_asks_the_gate_as_the_act_does(cooks, bob, tofu):
    for url in (f"{SPACE}/grants/teams/cooks", "/api/v1/teams/cooks"):
        assert tofu(bob).delete(f"{url}?dry_run=1").status_code == tofu(bob).delete(url).status_code != 200
