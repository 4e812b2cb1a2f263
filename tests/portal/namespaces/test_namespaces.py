"""/namespaces and its pages; the members page with its teams, the settings and /transfer are the owner's alone."""

import re

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Grant, Membership, Role, Team, User
from apps.accounts.people import teams
from apps.providers import catalogue
from tests import pages
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module, add_modules
from tests.rows import for_each_row

MEMBERS, TRANSFER = "/namespaces/acme/members", "/namespaces/acme/transfer"


@pytest.fixture
def owner(dora, browser_of):
    return browser_of(dora)


@pytest.fixture
def cooks(charlie) -> Team:
    return teams.create(name="cooks", actor=Viewer(charlie))


def test_the_list_has_those_that_a_person_sees_with_their_role_and_what_is_in_them(
    acme, pantry, hall, alice, bob, charlie, browser_of, client
):
    add_modules(acme, ["vpc/aws", "dns/aws"])
    add_module(pantry, "vpc/aws")

    def names(browser, query=""):
        return re.findall(r'href="/namespaces/((?!new\b)[a-z]+)">', pages.markup_of(browser.get(f"/namespaces{query}")))

    page = pages.shown(browser_of(bob).get("/namespaces"))
    assert names(browser_of(bob)) == ["acme", "hall", "pantry"], "those with a role first"
    assert "2 modules, you are reader" in page
    assert page.count("you are") == 1
    assert "1 module" in page
    assert names(browser_of(alice)) == ["acme", "hall", "pantry"]
    assert names(browser_of(charlie)) == ["hall", "pantry"]
    assert names(client) == ["pantry"]
    assert names(browser_of(bob), "?q=Pan") == ["pantry"]
    assert "No matching namespaces" in pages.shown(browser_of(charlie).get("/namespaces?q=acme"))


def test_the_list_costs_the_same_with_many_namespaces(acme, bob, browser_of):
    browser = browser_of(bob)
    before = pages.queries_of(browser, "/namespaces")
    for number in range(8):
        add_module(namespaces.create(name=f"more{number}", visibility="internal", actor=Viewer(bob)), "vpc/aws")
    assert pages.queries_of(browser, "/namespaces") == before


@for_each_row(
    ("path", "name", "status", "says"),
    [
        ("/namespaces/new", "my tools", 422, "a space"),
        ("/namespaces/new", "acme", 409, "already exists"),
        ("/namespaces/new", "", 422, "required"),
        ("/teams/new", "Ba_kers", 422, "lower-case"),
        ("/teams/new", "cooks", 409, "taken"),
    ],
)
def test_it_explains_the_rule_that_is_broken(acme, cooks, bob, browser_of, path, name, status, says):
    response = browser_of(bob).post(path, {"name": name, "visibility": "private"})

    assert response.status_code == status
    assert says in str(response.context["form"].errors["name"])


@for_each_row("path", ["/namespaces/new", "/teams/new"])
def test_staff_only_is_said_before_the_form(charlie, olga, browser_of, settings, path):
    settings.NAMESPACE_CREATION = "staff"

    assert browser_of(charlie).get(path).status_code == 403
    assert path not in browser_of(charlie).get("/teams").text
    assert browser_of(olga).get(path).status_code == 200


@for_each_row("data", [{"username": "zoe", "role": "1"}, {"username": "bob", "role": "9"}, {}])
def test_it_refuses_unknown_people_and_roles(owner, bob, data):
    assert owner.post(MEMBERS, data).status_code == 422


def test_a_grant_of_elsewhere_is_404(owner, alice, pantry):
    elsewhere = Grant.objects.get(user=alice, namespace=pantry)

    assert owner.post(f"{MEMBERS}/{elsewhere.pk}/withdraw").status_code == 404
    assert Grant.objects.filter(pk=elsewhere.pk).exists()


def test_an_owner_changes_the_visibility(owner, acme):
    wanted = {"visibility": "public", "description": "Open to all"}
    response = owner.post("/namespaces/acme/change", wanted)

    assert response.status_code == 303
    acme.refresh_from_db()
    assert (acme.visibility, acme.description) == tuple(wanted.values())
    assert owner.post("/namespaces/acme/change", {"visibility": "secret"}).status_code == 422


# --- Teams on the members page ---------------------------------------------------------------------------------------


def test_an_owner_gives_changes_and_withdraws_the_role_of_a_person_and_of_a_team(
    owner, acme, cooks, bob, charlie, browser_of
):
    assert owner.post(MEMBERS, {"username": "Bob ", "role": "2"}).status_code == 303
    his = Grant.objects.get(user=bob)
    assert his.role == Role.PUBLISHER
    assert "account loses access" in owner.get(f"{MEMBERS}/{his.pk}/withdraw").text
    assert owner.post(f"{MEMBERS}/{his.pk}/withdraw").status_code == 303
    assert not Grant.objects.filter(user=bob).exists()

    assert owner.post(MEMBERS, {"team": " Cooks", "role": "1"}).status_code == 303
    assert browser_of(charlie).get("/namespaces/acme").status_code == 200
    assert owner.post(MEMBERS, {"team": "cooks", "role": "2"}).status_code == 303
    grant = Grant.objects.get(team=cooks)
    assert grant.role == Role.PUBLISHER

    page = owner.get(MEMBERS).text
    assert 'href="/teams/cooks"' in page
    assert owner.get("/teams/cooks").status_code == 200, "who gets in is the owner's business"
    assert "Its members lose the role" in owner.get(f"{MEMBERS}/{grant.pk}/withdraw").text
    assert owner.post(f"{MEMBERS}/{grant.pk}/withdraw").status_code == 303
    assert browser_of(charlie).get("/namespaces/acme").status_code == 404


def test_an_unknown_team_is_explained_beside_its_own_field(owner):
    page = owner.post(MEMBERS, {"team": "bakers", "role": "1"})

    assert page.status_code == 422
    assert "There is no team bakers" in str(page.context["team_form"].errors["team"])
    assert not page.context["person_form"].is_bound


def test_members_cost_the_same_at_any_number(owner, acme, cooks, django_assert_num_queries):
    def ask():
        # Session, person, gate, grants, badge, names to suggest, requests, connections.
        with django_assert_num_queries(9):
            assert owner.get(MEMBERS).status_code == 200

    namespaces.grant(namespace=acme, grantee=cooks, role=Role.READER, actor=NOBODY)
    owner.get(MEMBERS)
    ask()
    for number in range(20):
        team = Team.objects.create(name=f"team{number}")
        namespaces.grant(namespace=acme, grantee=team, role=Role.READER, actor=NOBODY)
    ask()


# --- Transfer ------------------------------------------------------------------------------------------------------


def roles(namespace):
    """{grantee: role} as the database has it."""
    return {str(grant.grantee): grant.role for grant in namespaces.grants_in(namespace)}


def form(**changes):
    return {"kind": "user", "to": "charlie", "confirm": "acme", **changes}


def test_it_goes_to_a_person_and_the_giver_loses_the_role(owner, acme, dora, charlie):
    own = Grant.objects.get(user=dora)
    assert f'<option value="{own.pk}" selected>dora</option>' in owner.get(TRANSFER).text

    answer = owner.post(TRANSFER, form(giver=own.pk))

    assert (answer.status_code, answer.url) == (303, "/")
    assert roles(acme) == {"charlie": Role.OWNER}
    assert owner.get(MEMBERS).status_code == 404, "at once"


@for_each_row(
    ("changes", "status", "field", "says"),
    [
        ({"confirm": "acm"}, 422, "confirm", "This does not match acme"),
        ({"confirm": ""}, 422, "confirm", "required"),
        ({"to": "zoe"}, 422, "to", "no user zoe"),
        ({"kind": "team", "to": "nope"}, 422, "to", "no team nope"),
        ({"kind": "team", "to": "empty"}, 409, "to", "no active member"),
        ({"to": "dora"}, 409, "to", "owns acme already"),
        ({"giver": 0}, 422, "giver", "valid choice"),
    ],
)
def test_it_says_what_is_wrong_and_changes_nothing(owner, acme, dora, charlie, changes, status, field, says):
    Team.objects.create(name="empty")
    page = owner.post(TRANSFER, form(**{"giver": Grant.objects.get(user=dora).pk, **changes}))

    assert page.status_code == status
    assert says in str(page.context["form"].errors[field])
    assert roles(acme) == {"dora": Role.OWNER}


def test_people_who_share_a_namespace_or_a_team_are_suggested_and_nobody_else(
    owner, acme, pantry, dora, alice, bob, charlie, cooks
):
    """Alice shares acme, Bob a team; Charlie, who made the team cooks, shares nothing yet."""

    def suggested(url):
        page = owner.get(url).content.decode().partition('<datalist id="known-people">')[2]
        return re.findall(r'<option value="([^"]+)"', page.partition("</datalist>")[0])

    both = Team.objects.create(name="bakers")
    for person in (dora, bob):
        Membership.objects.create(team=both, user=person, is_manager=True)
    for url in (MEMBERS, TRANSFER, "/teams/bakers"):
        assert suggested(url) == ["alice", "bob"], url

    namespaces.grant(namespace=acme, grantee=cooks, role=Role.READER, actor=Viewer(dora))
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert suggested(MEMBERS) == ["bob", "charlie"]


# --- The page of one -------------------------------------------------------------------------------------------------


def test_visitors_see_public_modules_and_how_many_but_not_who_works_on_them(client, pantry, alice):
    add_module(pantry, "label/null", "1.0.0")
    catalogue.refresh(provider_version(pantry, "dns", "1.0.0", key=row_of_key(pantry, 1)).provider)

    page = pages.markup_of(client.get("/namespaces/pantry"))

    assert "/modules/pantry/label/null" in page
    assert "1 module</span>" in page
    assert "1 provider</span>" in page
    assert "member" not in page
    assert "Owned by" not in page


@pytest.mark.parametrize(
    ("who", "publishes", "manages"),
    [("bob", False, False), ("alice", True, False), ("dora", True, True), ("olga", True, True)],
)
def test_it_offers_what_the_role_allows(request, browser_of, acme, who, publishes, manages):
    page = pages.markup_of(browser_of(request.getfixturevalue(who)).get("/namespaces/acme"))

    assert ('href="/publish?namespace=acme"' in page) is publishes
    assert ('href="/namespaces/acme/members"' in page) is manages


def test_readers_see_who_owns_it_and_a_refusal_names_them(browser_of, tofu, alice, bob, dora, charlie, acme, pantry):
    cooks = Team.objects.create(name="cooks")
    Membership.objects.create(team=cooks, user=dora)
    Grant.objects.create(namespace=acme, team=cooks, role=Role.OWNER)
    retired = User.objects.create_user("retired", is_active=False)
    Grant.objects.create(namespace=acme, user=retired, role=Role.OWNER)

    page = pages.markup_of(browser_of(bob).get("/namespaces/acme"))
    assert "Owned by dora, the team cooks</span>" in page
    assert "3 people" in page
    assert "You act as reader" in page
    refused = tofu(bob).post("/api/v1/providers/acme/dns/1.0.0").json()["error"]
    assert refused["hint"] == "Ask an owner of acme for the role publisher: dora, the team cooks."
    assert "No active owner" in pages.markup_of(browser_of(charlie).get("/namespaces/pantry"))
    refused = tofu(charlie).post("/api/v1/providers/pantry/dns/1.0.0").json()["error"]
    assert "pantry has no active owner. Ask an operator" in refused["hint"]


@for_each_row("count", [3, 9])
def test_it_costs_the_same_at_any_size(
    browser_of, bob, acme, django_user_model, django_assert_max_num_queries, monkeypatch, count
):
    monkeypatch.setattr("apps.portal.namespaces.pages.PAGE", 5)
    add_modules(acme, [f"part-{position}/aws" for position in range(count)])
    people = django_user_model.objects.bulk_create(
        [django_user_model(username=f"person-{position}") for position in range(count)]
    )
    Grant.objects.bulk_create([Grant(namespace=acme, user=one, role=Role.READER) for one in people])
    browser = browser_of(bob)

    with django_assert_max_num_queries(14):
        assert browser.get("/namespaces/acme").status_code == 200
