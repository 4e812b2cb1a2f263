"""Sensitive actions ask for a confirmation, and what was sent waits for it. The policy lists where."""

import time
from datetime import timedelta

import pytest

from apps.accounts.models import ApiToken, Membership, Team
from apps.releases.models import Release
from tests.rows import for_each_row
from tests.sessions import fields_of, next_of, resumed

NEW_TOKEN = {"label": "CI of the network team", "scope": "publish", "days": "30"}


@pytest.fixture
def stale(browser_of):
    """Signed in, but when is anybody's guess."""
    return lambda user: browser_of(user, confirmed=False)


def test_a_form_waits_in_this_browser_for_the_password_and_is_sent_by_its_button(bob, stale, browser_of):
    client = stale(bob)
    asked = client.post("/tokens", NEW_TOKEN)
    assert (asked.status_code, ApiToken.objects.count()) == (302, 0)
    assert browser_of(bob).get(next_of(asked)).status_code == 404

    page = resumed(client, bob, asked)
    assert "Create the token CI of the network team?" in page.text
    assert ApiToken.objects.count() == 0, "nothing is done by looking"
    assert client.post(page.context["waiting"]["path"], fields_of(page)).status_code == 303
    assert ApiToken.objects.get().label == "CI of the network team"
    assert client.get(next_of(asked)).status_code == 404, "once"


def test_a_wrong_password_leads_nowhere(bob, stale):
    client = stale(bob)
    where = next_of(client.post("/tokens", NEW_TOKEN))
    assert client.post("/account/reauthenticate/", {"password": "wrong", "next": where}).status_code == 200
    again = client.get(where)
    assert (again.status_code, next_of(again)) == (302, where)


def test_a_confirmation_lasts_two_hours_from_the_last_act_that_needs_one(bob, client, time_machine, settings):
    time_machine.move_to(time.time())
    client.post("/account/login/", {"login": "bob", "password": "bob likes pears"})
    for _ in range(2):
        time_machine.shift(timedelta(minutes=119))
        assert client.post("/tokens", NEW_TOKEN).status_code == 303
    time_machine.shift(timedelta(minutes=16))
    settings.CONFIRMATION_LIFETIME, usual = timedelta(minutes=15), settings.CONFIRMATION_LIFETIME
    assert client.post("/tokens", NEW_TOKEN).status_code == 302, "operators set how long"
    settings.CONFIRMATION_LIFETIME = usual
    time_machine.shift(timedelta(minutes=105))
    assert client.post("/tokens", NEW_TOKEN).status_code == 302


def test_a_session_that_was_never_confirmed_is_asked_whatever_it_did(bob, stale):
    client = stale(bob)
    session = client.session
    session["confirmation-used-at"] = time.time()
    session.save()
    assert client.post("/tokens", NEW_TOKEN).status_code == 302


@for_each_row(
    ("url", "form"),
    [
        ("/namespaces/acme/members", {"username": "bob", "role": "2"}),
        ("/namespaces/acme/keys/create", {"algorithm": "rsa4096"}),
        ("/tokens", NEW_TOKEN | {"scope": "manage"}),
    ],
)
def test_roles_keys_and_tokens_that_manage_need_a_fresh_one(bob, dora, client, time_machine, url, form, acme):
    time_machine.move_to(time.time())
    client.post("/account/login/", {"login": "dora", "password": "dora likes pears"})
    time_machine.shift(timedelta(minutes=9, seconds=58))
    client.post("/tokens", NEW_TOKEN)  # extends nothing of it
    time_machine.shift(timedelta(seconds=4))
    asked = client.post(url, form)
    assert (asked.status_code, asked.headers["Location"].partition("?")[0]) == (302, "/account/reauthenticate/")


@for_each_row(("act", "is_asked"), [("deprecate", False), ("yank", True), ("quarantine", True), ("restore", True)])
def test_a_deprecation_alone_does_not_ask(olga, stale, published, act, is_asked):
    published()
    url = "/modules/acme/vpc/aws/1.2.0/lifecycle"
    several = f"/lifecycle/{act}/{Release.objects.get().pk}"
    asked = [stale(olga).post(at, {"act": act, "reason": "No."}) for at in (url, several)]
    assert [answer.status_code == 302 for answer in asked] == [is_asked, is_asked]


def test_the_admin_asks_before_it_changes_something_and_continues(olga, bob, stale):
    client, url = stale(olga), "/admin/accounts/team/add/"
    form = {"name": "cooks", "description": "", "_save": "Save"}
    form |= {f"memberships-{key}_FORMS": "0" for key in ("TOTAL", "INITIAL")}
    asked = client.post(url, form)
    assert (asked.status_code, Team.objects.count()) == (302, 0)
    page = resumed(client, olga, asked)
    assert client.post(page.context["waiting"]["path"], fields_of(page)).status_code == 302
    assert Team.objects.get().name == "cooks"


def test_no_password_waits_in_the_database(olga, bob, stale):
    client = stale(olga)
    form = dict.fromkeys(("new_password1", "new_password2"), "ripe plums in august")
    asked = client.post(f"/admin/accounts/user/{bob.pk}/entry/", form)
    assert asked.status_code == 302
    assert "plums" not in str(dict(client.session))


def test_an_export_of_the_admin_changes_nothing_and_asks_nothing(olga, stale):
    form = {"action": "export_csv", "_selected_action": str(olga.pk), "index": "0"}
    answer = stale(olga).post("/admin/accounts/user/", form)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/csv")


def test_leaving_a_team_asks_nothing(bob, stale, dora):
    team = Team.objects.create(name="cooks")
    Membership.objects.create(team=team, user=dora, is_manager=True)
    own = Membership.objects.create(team=team, user=bob)
    assert stale(bob).post(f"/teams/cooks/members/{own.pk}/remove").status_code == 303
