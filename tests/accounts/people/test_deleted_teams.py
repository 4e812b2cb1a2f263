"""The name of a deleted team stays taken: its service accounts and the audit log are known by it."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Team
from apps.accounts.people import teams
from apps.lib.errors import Conflict
from tests.threads import at_once

pytestmark = pytest.mark.both


@pytest.fixture
def cooks(dora) -> Team:
    return teams.create(name="cooks", actor=Viewer(dora))


@pytest.fixture
def put(tofu):
    def send(person):
        return tofu(person).put("/api/v1/teams/cooks", {}, content_type="application/json")

    return send


def test_no_one_creates_it_again(tofu, put, cooks, dora, charlie, olga):
    assert tofu(dora).delete("/api/v1/teams/cooks").status_code == 204

    for person in (dora, charlie, olga):
        answer = put(person)
        assert answer.status_code == 409
        assert "or by a deleted team" in answer.json()["error"]["message"]
    assert not Team.objects.filter(name="cooks").exists()


def test_a_deleted_team_is_told_no_more_than_a_hidden_one(put, cooks, dora, bob):
    hidden = put(bob).json()["error"]
    teams.delete(team=cooks, actor=Viewer(dora))
    deleted = put(bob).json()["error"]

    assert {**hidden, "request_id": ""} == {**deleted, "request_id": ""}


@pytest.mark.django_db(transaction=True)
def test_a_name_is_not_free_while_its_team_is_deleted(cooks, dora, bob):
    results = at_once(
        lambda: teams.delete(team=cooks, actor=Viewer(dora)),
        *(lambda: teams.create(name="cooks", actor=Viewer(bob)) for _ in range(3)),
    )

    assert [type(result) for result in results] == [type(None), Conflict, Conflict, Conflict]
    assert not Team.objects.filter(name="cooks").exists()
