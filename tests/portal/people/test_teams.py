"""/teams: who sees them, who manages them, and that nobody is left without a manager."""

from apps.accounts import namespaces
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Membership, Role
from apps.accounts.people import teams
from tests.cast import person
from tests.rows import for_each_row


def where(team, user, act):
    return f"/teams/{team}/members/{Membership.objects.get(team=team, user=user).pk}/{act}"


def test_bob_makes_one_and_manages_it(bob, browser_of):
    browser = browser_of(bob)
    assert "No teams yet" in browser.get("/teams").text

    answer = browser.post("/teams/new", {"name": "bakers", "description": "They bake"})

    assert (answer.status_code, answer.url) == (303, "/teams/bakers")
    assert "You manage it" in browser.get("/teams").text
    assert "They bake" in browser.get("/teams/bakers").text


def test_a_manager_adds_promotes_and_removes(cooks, dora, bob, browser_of):
    browser = browser_of(dora)
    assert browser.post("/teams/cooks", {"username": "Bob"}).status_code == 303
    assert browser.post(where(cooks, bob, "manager"), {"manager": "on"}).status_code == 303
    assert Membership.objects.get(user=bob).is_manager
    assert browser.post(where(cooks, bob, "manager"), {}).status_code == 303
    assert not Membership.objects.get(user=bob).is_manager

    assert "No one is hit: the team has no role" in browser.get(where(cooks, bob, "remove")).text
    assert browser.post(where(cooks, bob, "remove")).status_code == 303
    assert not Membership.objects.filter(user=bob).exists()


def test_unknown_people_and_members_of_elsewhere(cooks, dora, bob, browser_of):
    browser = browser_of(dora)
    other = teams.create(name="bakers", actor=Viewer(bob))
    elsewhere = Membership.objects.get(team=other)

    assert browser.post("/teams/cooks", {"username": "zoe"}).status_code == 422
    assert browser.post(f"/teams/cooks/members/{elsewhere.pk}/remove").status_code == 404


def test_its_roles_are_shown_as_far_as_the_reader_sees_the_namespaces(acme, hall, cooks, charlie, olga, browser_of):
    secret = namespaces.create(name="secret", visibility="private", actor=Viewer(olga))
    for namespace in (acme, secret):
        namespaces.grant(namespace=namespace, grantee=cooks, role=Role.READER, actor=NOBODY)
    eve = person("eve")
    mine = namespaces.create(name="mine", visibility="private", actor=Viewer(eve))
    namespaces.grant(namespace=mine, grantee=cooks, role=Role.READER, actor=Viewer(eve))

    page = browser_of(eve).get("/teams/cooks").text
    assert "mine" in page
    assert "secret" not in page
    assert "secret" in browser_of(charlie).get("/teams/cooks").text


def test_staff_see_which_have_no_active_manager(cooks, dora, olga, browser_of):
    browser = browser_of(olga)
    assert "No active manager" not in browser.get("/teams").text
    dora.is_active = False
    dora.save()

    assert "No active manager" in browser.get("/teams").text
    assert "deactivated" in browser.get("/teams/cooks").text


@for_each_row("path", ["/teams", "/teams/cooks"])
def test_pages_cost_the_same_at_any_number(acme, cooks, dora, browser_of, path, django_assert_max_num_queries):
    browser = browser_of(dora)

    def queries():
        browser.get(path)  # the number in the menu is counted after each act
        with django_assert_max_num_queries(12) as asked:
            assert browser.get(path).status_code == 200
        return len(asked)

    namespaces.grant(namespace=acme, grantee=cooks, role=Role.READER, actor=NOBODY)
    few = queries()
    for number in range(4):
        teams.create(name=f"team{number}", actor=Viewer(dora))
        teams.add(team=cooks, user=person(f"cook{number}"), actor=NOBODY)
        namespace = namespaces.create(name=f"space{number}", visibility="private", actor=Viewer(dora))
        namespaces.grant(namespace=namespace, grantee=cooks, role=Role.READER, actor=NOBODY)
    assert queries() == few
