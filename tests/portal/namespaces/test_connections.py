"""The pages on which owners see what others connected: of a transfer, of a withdrawal, and the list with its button."""

from apps.accounts import namespaces
from apps.accounts.access import connections
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Grant, Role, Team
from apps.accounts.people import teams
from tests import rooms
from tests.builders.connecting import KINDS, NAMES, connect_all, hand_over, own, suspended
from tests.cast import person

URL = "/namespaces/acme"


def test_the_page_of_the_transfer_lists_them_and_says_how_many_wait(acme, dora, alice, browser_of):
    connect_all(acme, dora)
    browser = browser_of(dora)

    page = browser.get(f"{URL}/transfer").text
    for name in NAMES:
        assert name in page
    form = {"kind": "user", "to": "alice", "giver": own(acme, dora).pk, "confirm": "acme"}
    answer = browser.post(f"{URL}/transfer", form, follow=True)

    assert f"{len(KINDS)} of its connections are suspended until an owner confirms them." in answer.text


def test_the_new_owner_sees_each_as_suspended_and_confirms_it(acme, dora, alice, browser_of):
    rows = connect_all(acme, dora)
    hand_over(acme, dora, alice)
    browser = browser_of(alice)

    assert "Connections of former owners" in browser.get(f"{URL}/members").text
    assert "Suspended connections" in browser.get(URL).text
    listed = browser.get(f"{URL}/connections").text
    assert listed.count("Suspended</span>") == len(KINDS)
    found = rooms.rows("CONNECTION_PAGES").items()
    pages = {kind: URL + path.format(number=rows[kind].pk) for kind, path in found}
    for kind, page in pages.items():
        button = f"{URL}/connections/{kind}/{rows[kind].pk}/confirm"
        shown = browser.get(page).text
        assert "Suspended" in shown
        assert button in shown
        assert button in listed
        answer = browser.post(button, follow=True)
        assert "is confirmed. It works again. You answer for it now." in answer.text
        assert "Suspended" not in browser.get(page, follow=True).text
    assert suspended(acme) == [kind for kind in KINDS if kind not in pages]


def test_the_page_of_a_withdrawal_lists_them_before_and_leads_to_them_afterwards(acme, dora, browser_of):
    eve = person("eve")
    grant = Grant.objects.create(namespace=acme, user=eve, role=Role.OWNER)
    connect_all(acme, eve)
    browser = browser_of(dora)

    before = browser.get(f"{URL}/members/{grant.pk}/withdraw").text
    assert "Still connected" in before
    assert all(name in before for name in NAMES)
    after = browser.post(f"{URL}/members/{grant.pk}/withdraw", follow=True)

    assert after.redirect_chain == [(f"{URL}/connections", 303)]
    assert f"{len(KINDS)} of the connections of the namespace are left behind, and still work." in after.text
    assert after.text.count("Left behind</span>") == len(KINDS)


def test_a_role_that_is_lowered_leads_to_them_too(acme, dora, browser_of):
    eve = person("eve")
    Grant.objects.create(namespace=acme, user=eve, role=Role.OWNER)
    connect_all(acme, eve)

    after = browser_of(dora).post(f"{URL}/members", {"username": "eve", "role": 2}, follow=True)

    assert after.redirect_chain == [(f"{URL}/connections", 303)]


def test_the_home_page_of_owners_asks_them_to_confirm_and_nobody_else(acme, dora, alice, bob, browser_of):
    connect_all(acme, dora)
    assert "need an owner" not in browser_of(dora).get("/").text
    Grant.objects.filter(namespace=acme, user=bob).update(role=Role.OWNER)
    namespaces.withdraw(grant=own(acme, dora), actor=Viewer(bob))
    home = browser_of(bob).get("/").text
    assert f"{len(KINDS)} connections of acme need an owner" in home
    assert "/namespaces/acme/connections" in home
    assert "need an owner" not in browser_of(alice).get("/").text

    hand_over(acme, bob, alice)

    home = browser_of(alice).get("/").text
    assert f"{len(KINDS)} suspended connections of acme need an owner" in home
    for kind, number in [(one.kind, one.number) for one in connections.waiting_in(acme)]:
        connections.confirm(namespace=acme, kind=kind, number=number, actor=Viewer(alice))
    assert "need an owner" not in browser_of(alice).get("/").text


def test_the_page_of_a_team_says_what_its_member_leaves_behind(acme, dora, browser_of):
    team = Team.objects.create(name="cooks")
    Grant.objects.create(namespace=acme, team=team, role=Role.OWNER)
    eve = person("eve")
    for one in (eve, dora):
        teams.add(team=team, user=one, actor=NOBODY)
    teams.set_manager(membership=team.memberships.get(user=dora), is_manager=True, actor=NOBODY)
    connect_all(acme, eve)

    page = browser_of(dora).post(f"/teams/cooks/members/{team.memberships.get(user=eve).pk}/remove", follow=True)

    assert "Left behind, and still working: " in page.text
    assert all(name in page.text for name in NAMES)
