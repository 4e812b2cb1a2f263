"""/namespaces/new, and the members and settings pages, which are the owner's alone."""

import re

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Grant, Namespace, Role, Visibility
from apps.accounts.people import invitations, teams
from apps.audit.models import AuditEvent
from apps.portal.namespaces import members as member_pages
from apps.portal.namespaces import pages as namespace_pages
from apps.portal.people import invitations as invitation_pages
from apps.portal.people import teams as team_pages
from apps.portal.people import tokens as token_pages

READ_ONLY = {"teams", "namespace", "namespace-usage", "token-created", "invitation-created"}
# Kinds of what the forms below must leave behind, by route: (path, data, kind)
ACTS = {
    "namespace-new": ("/namespaces/new", {"name": "tools", "visibility": "private"}, "namespace:namespace:created"),
    "namespace-change": (
        "/namespaces/acme/change",
        {"visibility": "public", "breaking_changes": "warn"},
        "namespace:namespace:changed",
    ),
    "namespace-delete": ("/namespaces/acme/delete", {}, "namespace:namespace:deleted"),
    "namespace-members": ("/namespaces/acme/members", {"username": "charlie", "role": "1"}, "namespace:grant:given"),
    "namespace-withdraw": ("/namespaces/acme/members/{bob}/withdraw", {}, "namespace:grant:withdrawn"),
    "namespace-transfer": (
        "/namespaces/acme/transfer",
        {"kind": "user", "to": "charlie", "confirm": "acme"},
        "namespace:namespace:transferred",
    ),
    "team-new": ("/teams/new", {"name": "bakers"}, "team:team:created"),
    "team": ("/teams/cooks", {"username": "bob"}, "team:member:added"),
    "team-change": ("/teams/cooks/change", {"description": "Soups"}, "team:team:changed"),
    "team-delete": ("/teams/cooks/delete", {}, "team:team:deleted"),
    "team-manager": ("/teams/cooks/members/{membership}/manager", {"manager": "on"}, "team:member:changed"),
    "team-remove": ("/teams/cooks/members/{membership}/remove", {}, "team:member:removed"),
    "tokens": ("/tokens", {"label": "x", "scope": "read", "days": "1"}, "account:token:issued"),
    "token-revoke": ("/tokens/{token}/revoke", {}, "account:token:revoked"),
    "invitations": ("/invitations", {"note": "x", "namespace": "acme", "role": "1"}, "account:user:invited"),
    "invitation-revoke": ("/invitations/{invitation}/revoke", {}, "account:user:invitation-revoked"),
    "invitation": (
        "{link}",
        {"username": "e", "password": "ripe plums 12", "again": "ripe plums 12"},
        "account:user:joined",
    ),
}


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


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("my tools", 422, "a space"),
        ("Admin", 422, "reserved"),
        ("ACME", 409, "taken"),
        ("new", 422, "reserved"),
        ("acme", 409, "taken"),
        ("", 422, "required"),
    ],
)
def test_it_explains_the_rule_that_is_broken(acme, charlie, browser_of, name, status, says):
    response = browser_of(charlie).post("/namespaces/new", {"name": name, "visibility": "private"})

    assert response.status_code == status
    assert says in str(response.context["form"].errors["name"])


def test_staff_only_is_said_before_the_form(charlie, olga, browser_of, settings):
    settings.NAMESPACE_CREATION = "staff"

    assert browser_of(charlie).get("/namespaces/new").status_code == 403
    assert browser_of(olga).get("/namespaces/new").status_code == 200


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


@pytest.mark.parametrize("data", [{"username": "zoe", "role": "1"}, {"username": "bob", "role": "9"}, {}])
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


def test_the_acts_below_are_all_there_are():
    pages = (token_pages, invitation_pages, namespace_pages, member_pages, team_pages)

    assert {route.name for page in pages for route in page.urlpatterns} - READ_ONLY == set(ACTS)


@pytest.mark.parametrize("route", ACTS)
def test_every_act_leaves_an_audit_row(owner, dora, bob, charlie, acme, browser_of, route):
    token, _ = tokens.issue(user=dora, label="x", scope="read", actor=Viewer(dora))
    invitation, secret = invitations.invite(actor=Viewer(dora), note="", namespace=acme, role=Role.READER)
    team = teams.create(name="cooks", actor=Viewer(dora))
    membership = teams.add(team=team, user=charlie, actor=Viewer(dora)).pk
    numbers = {
        "membership": membership,
        "bob": Grant.objects.get(user=bob).pk,
        "token": token.pk,
        "invitation": invitation.pk,
    }
    path, data, kind = ACTS[route]
    client = browser_of(None) if route == "invitation" else owner
    before = AuditEvent.objects.filter(kind=kind).count()

    response = client.post(path.format(link=f"/invitations/{secret}", **numbers), data)

    assert response.status_code in (200, 303)
    assert AuditEvent.objects.filter(kind=kind).count() == before + 1
    if route != "invitation":
        assert AuditEvent.objects.filter(kind=kind).newest_first()[0].actor_id == dora.pk
