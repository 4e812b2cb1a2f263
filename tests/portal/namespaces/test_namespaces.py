"""/namespaces/new, and the members and settings pages, which are the owner's alone."""

import re

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Namespace, Role, Visibility
from apps.accounts.people import teams
from tests.rows import for_each_row


@pytest.fixture
def owner(dora, browser_of):
    return browser_of(dora)


def test_charlie_creates_one_and_owns_it(charlie, browser_of):
    browser = browser_of(charlie)
    assert browser.get("/namespaces/new").status_code == 200

    response = browser.post("/namespaces/new", {"name": "tools", "visibility": "internal", "description": "Shared"})

    assert (response.status_code, response.headers["Location"]) == (303, "/namespaces/tools")
    assert Namespace.objects.get(name="tools").visibility == Visibility.INTERNAL
    assert browser.get("/namespaces/tools/members").status_code == 200


@for_each_row(
    ("path", "name", "status", "says"),
    [
        ("/namespaces/new", "my tools", 422, "a space"),
        ("/namespaces/new", "acme", 409, "taken"),
        ("/namespaces/new", "", 422, "required"),
        ("/teams/new", "Ba_kers", 422, "lower-case"),
        ("/teams/new", "cooks", 409, "taken"),
    ],
)
def test_it_explains_the_rule_that_is_broken(acme, charlie, dora, browser_of, path, name, status, says):
    teams.create(name="cooks", actor=Viewer(dora))
    response = browser_of(charlie).post(path, {"name": name, "visibility": "private"})

    assert response.status_code == status
    assert says in str(response.context["form"].errors["name"])


@for_each_row("path", ["/namespaces/new", "/teams/new"])
def test_staff_only_is_said_before_the_form(charlie, olga, browser_of, settings, path):
    settings.NAMESPACE_CREATION = "staff"

    assert browser_of(charlie).get(path).status_code == 403
    assert path not in browser_of(charlie).get("/teams").text
    assert browser_of(olga).get(path).status_code == 200


def test_an_owner_gives_changes_and_withdraws_a_role(owner, charlie):
    members = "/namespaces/acme/members"
    assert owner.post(members, {"username": "Charlie ", "role": "1"}).status_code == 303
    assert owner.post(members, {"username": "charlie", "role": "2"}).status_code == 303
    grant = Grant.objects.get(user=charlie)
    assert grant.role == Role.PUBLISHER
    assert "charlie" in owner.get(members).content.decode()

    assert "charlie" in owner.get(f"{members}/{grant.pk}/withdraw").content.decode()
    assert owner.post(f"{members}/{grant.pk}/withdraw").status_code == 303
    assert not Grant.objects.filter(user=charlie).exists()


@for_each_row("data", [{"username": "zoe", "role": "1"}, {"username": "bob", "role": "9"}, {}])
def test_it_refuses_unknown_people_and_roles(owner, bob, data):
    assert owner.post("/namespaces/acme/members", data).status_code == 422


def test_a_grant_of_elsewhere_is_404(owner, alice, pantry):
    elsewhere = Grant.objects.get(user=alice, namespace=pantry)

    assert owner.post(f"/namespaces/acme/members/{elsewhere.pk}/withdraw").status_code == 404
    assert Grant.objects.filter(pk=elsewhere.pk).exists()


def test_an_owner_changes_the_visibility(owner, acme):
    page = owner.get("/namespaces/acme/change").content.decode()
    assert re.search(r'name="breaking_changes" value="warn"[^>]* checked', page)
    wanted = {"visibility": "public", "description": "Open to all", "breaking_changes": "refuse"}
    response = owner.post("/namespaces/acme/change", wanted)

    assert response.status_code == 303
    acme.refresh_from_db()
    assert (acme.visibility, acme.description, acme.breaking_changes) == tuple(wanted.values())
    assert owner.post("/namespaces/acme/change", {"visibility": "secret"}).status_code == 422
