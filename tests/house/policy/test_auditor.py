"""An Auditor is a reader everywhere and no more: the policy's cells of a stranger in a namespace that all may read."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import Group

from tests import rooms
from tests.cast import person
from tests.house.policy.table import TABLES, cells_of, columns_of
from tests.house.policy.test_policy import ask

pytestmark = pytest.mark.matrix

THEIRS = {
    *("api:audit", "api:jobs", "api:job", "api:users", "api:user", "api:user-tokens", "api:user-token"),
    *("api:service-account", "api:service-accounts"),
    *rooms.entries("FOR_AUDITORS"),
}


@pytest.fixture
def scene(scene):
    """As the policy's, with one more person, who reads it all."""
    auditor = person("audrey", is_staff=True)
    auditor.groups.add(Group.objects.get(name="Auditor"))
    return replace(scene, users=scene.users | {"audrey": auditor})


def expected_of(name):
    """The column, and its cells where visibility gives nothing: a stranger's where all may read."""
    cells = cells_of(name)
    who = "charlie-manage" if "charlie-manage" in columns_of(name) else "charlie"
    as_reader = {
        (name, method, row): cells[method, "internal" if row == "private" else row, who]
        for method, row, column in cells
        if column == who and row in ("any", "private")
    }
    return who.replace("charlie", "audrey"), as_reader


def is_stricter(cell, status):
    """Staff see every team, change none, and create nothing by this role alone."""
    name, method, _ = cell
    if name in THEIRS and (method == "GET" or name.endswith("-dry-run")):
        return status == 200  # not stricter: this is for staff who may view it, as in the admin
    if "team" in name or "service-" in name:  # a team's service accounts
        return status == (200 if (method, name) in (("GET", "api:team"), ("GET", "portal:team")) else 403)
    if name == "portal:person":  # staff see everyone
        return status == 200
    return status == 403 and name in ("api:namespace", "portal:namespace-new", "portal:team-new")


def test_an_auditor_gets_what_readers_get(scene, client_of):
    wrong = {}
    for name in TABLES:
        who, expected = expected_of(name)
        client = client_of(who)  # signing out is one of them
        for cell, status in expected.items():
            found, *_ = ask(scene, client, *cell)
            if found != status and not is_stricter(cell, found):
                wrong[cell] = (status, found)

    assert wrong == {}, "cell: (a reader, the auditor)"
