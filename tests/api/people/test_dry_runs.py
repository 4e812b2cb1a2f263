"""DELETE with dry_run=1 of a role, a team, a member and a trusted publisher: who is hit, and nothing changes."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.trusted import publishers
from apps.accounts.models import Grant, Membership, Role, Scope, Team, TrustedPublisher
from apps.accounts.people import teams
from tests.builders.ci_claims import GITHUB
from tests.rows import for_each_row

SPACE = "/api/v1/namespaces/acme"


@pytest.fixture
def cooks(acme, dora, charlie) -> Team:
    team = teams.create(name="cooks", actor=Viewer(dora))
    teams.add(team=team, user=charlie, actor=Viewer(dora))
    Grant.objects.create(namespace=acme, team=team, role=Role.PUBLISHER)
    return team


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


def test_a_dry_run_of_a_trusted_publisher_names_what_it_published(acme, dora, published, tofu):
    rule = publishers.create(namespace=acme, actor=Viewer(dora), kind="github", **GITHUB.rule)
    url = f"{SPACE}/trusted-publishers/{rule.pk}"
    assert tofu(dora).delete(f"{url}?dry_run=1").json()["hits"] == []
    release = published()
    release.created_by = rule.user
    release.save(update_fields=["created_by"])

    answer = tofu(dora).delete(f"{url}?dry_run=1").json()

    assert [(hit["kind"], hit["name"]) for hit in answer["hits"]] == [("module", "acme/vpc/aws")]
    assert TrustedPublisher.objects.get(pk=rule.pk).ended_at is None
    assert tofu(dora, Scope.READ).delete(f"{url}?dry_run=1").status_code == 403
