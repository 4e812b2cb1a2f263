"""A role that somebody has by a team is as good as one of their own: the policy's cells of Alice, asked again."""

import pytest

from apps.accounts.models import Grant, Membership, Team
from tests.house import scenario
from tests.house.policy.table import cells_of
from tests.house.policy.test_policy import ask
from tests.rows import for_each_row

ROUTES = [
    "api:grants",
    "api:module-release",
    "api:namespace",
    "api:release",
    "portal:module",
    "portal:namespace",
    "portal:namespace-change",
    "portal:namespace-members",
    "portal:namespace-usage",
    "portal:publish",
    "portal:release",
    "portal:release-cancel",
    "protocol:archive",
    "protocol:module-download",
    "protocol:module-versions",
]


@pytest.fixture
def scene(scene):
    """As the policy's, but all that Alice holds she holds by a team."""
    team = Team.objects.create(name="publishers")
    Membership.objects.create(team=team, user=scene.users["alice"])
    assert Grant.objects.filter(user=scene.users["alice"]).update(user=None, team=team) == len(scenario.NAMES)
    return scene


@pytest.mark.slow
@for_each_row("name", ROUTES)
def test_by_a_team_alice_gets_what_she_got_by_herself(scene, client_of, name):
    expected = {cell: status for cell, status in cells_of(name).items() if cell[2].startswith("alice")}
    found = {}
    for method, row, who in expected:
        found[method, row, who], *_ = ask(scene, client_of(who), name, method, row)

    assert found == expected
