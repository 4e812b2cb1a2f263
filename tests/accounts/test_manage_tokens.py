"""The scope manage: who may have such tokens, for how long, and what becomes of those from before there were rules."""

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Membership, Role, Scope, User
from apps.accounts.people import service_accounts, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import Conflict, Invalid
from registry_site import env
from registry_site.operations import doctor, examining
from tests.accounts.conftest import client_with

API = "/api/v1/teams/cooks/service-accounts"


@pytest.fixture
def machine(acme, dora):
    """A service account of a team that owns acme; Dora manages the team."""
    team = teams.create(name="cooks", actor=Viewer(dora))
    Grant.objects.create(namespace=acme, team=team, role=Role.OWNER)
    return service_accounts.create(team=team, name="ci", actor=Viewer(dora))


@pytest.fixture
def page(machine):
    return f"/teams/cooks/service-accounts/{machine.pk}"


@pytest.fixture
def old_token(machine, dora):
    """Its token of scope manage for a year, as the code before this rule wrote it: without the new columns."""
    secret = tokens.new_secret("s")
    now = timezone.now()
    row = {
        "user_id": machine.pk,
        "label": "from before",
        "start": secret[:10],
        "digest": tokens.digest_of(secret),
        "scope": "manage",
        "is_limited": False,
        "only_name": "",
        "created_at": now,
        "expires_at": now + timedelta(days=365),
        "last_used_by": "",
        "last_used_from": "",
        "leaked_url": "",
        "machine": "",
    }
    with connection.cursor() as cursor:
        marks = ", ".join(["%s"] * len(row))
        cursor.execute(f"INSERT INTO accounts_apitoken ({', '.join(row)}) VALUES ({marks})", [*row.values()])  # noqa: S608
    return ApiToken.objects.get(digest=row["digest"]), secret


def days_of(token):
    return round((token.expires_at - token.created_at) / timedelta(days=1))


# --- Service accounts ------------------------------------------------------------------------------------------------


def test_a_service_account_has_no_tokens_of_scope_manage_until_its_manager_allows_it(machine, page, dora, browser_of):
    browser = browser_of(dora)
    assert 'value="manage"' not in browser.get(page).content.decode()
    assert browser.post(page, {"label": "CI", "scope": "manage"}).status_code == 422
    with pytest.raises(Conflict, match="is not allowed to have tokens of scope manage"):
        tokens.issue(user=machine, label="CI", scope=Scope.MANAGE, actor=Viewer(dora))
    with pytest.raises(CommandError, match="is not allowed to have tokens of scope manage"):
        call_command("token", "--user", machine.username, "--scope", "manage")

    assert browser.post(f"{page}/manage", {"allow": "1"}).status_code == 303

    assert 'value="manage"' in browser.get(page).content.decode()
    assert browser.post(page, {"label": "CI", "scope": "manage"}).status_code == 303
    token = ApiToken.objects.get(user=machine)
    assert (token.scope, token.manages_people, days_of(token)) == ("manage", False, 90)
    event = AuditEvent.objects.get(kind=Kind.SERVICE_ACCOUNT_CHANGED)
    assert (event.actor_id, event.detail["may_manage"]) == (dora.pk, True)


def test_every_list_of_accounts_warns_of_it(machine, page, dora, charlie, olga, browser_of, tofu):
    says = "Its tokens can have the scope manage"
    lists = [("/teams/cooks", browser_of(dora)), ("/admin/accounts/user/", browser_of(olga))]
    assert all(says not in client.get(url).content.decode() for url, client in lists)
    assert tofu(dora).get(f"{API}/ci").json()["warning"] == ""
    service_accounts.allow_manage(account=machine, allowed=True, actor=Viewer(dora))

    team = f"/admin/accounts/team/{machine.service_of_id}/change/"
    lists += [(page, browser_of(dora)), (team, browser_of(olga))]
    lists += [(f"/admin/accounts/user/{machine.pk}/change/", browser_of(olga))]
    for url, client in lists:
        assert says in client.get(url).content.decode(), url
    for found in (
        tofu(dora).get(f"{API}/ci").json(),
        tofu(dora).get(API).json()["service_accounts"][0],
        tofu(olga).get("/api/v1/users?machine=true").json()["users"][0],
        tofu(olga).get(f"/api/v1/users/{machine.username}").json(),
    ):
        assert (found["may_manage"], found["warning"]) == (True, f"{says}.")


def test_to_withdraw_it_revokes_the_tokens(machine, page, dora, browser_of):
    service_accounts.allow_manage(account=machine, allowed=True, actor=Viewer(dora))
    issue = {"user": machine, "actor": Viewer(dora)}
    _, manage = tokens.issue(label="manages", scope=Scope.MANAGE, **issue)
    _, publish = tokens.issue(label="publishes", scope=Scope.PUBLISH, **issue)
    browser = browser_of(dora)
    assert "manages" in browser.get(f"{page}/manage").content.decode()

    assert browser.post(f"{page}/manage", {"withdraw": "1"}).status_code == 303

    assert [client_with(secret).get("/api/v1/me").status_code for secret in (manage, publish)] == [401, 200]
    with pytest.raises(Conflict):
        tokens.issue(label="manages", scope=Scope.MANAGE, **issue)


def test_a_service_account_is_no_manager_of_its_team(machine, olga):
    membership = Membership.objects.get(user=machine)
    with pytest.raises(Invalid, match="is a service account"):
        teams.set_manager(membership=membership, is_manager=True, actor=Viewer(olga))


# --- How long --------------------------------------------------------------------------------------------------------


def test_a_persons_token_lasts_a_week_and_ninety_days_at_most(dora, alice, browser_of):
    browser = browser_of(dora)
    browser.post("/tokens", {"label": "a", "scope": "manage"})
    browser.post("/tokens", {"label": "b", "scope": "manage", "days": "90"})
    browser.post("/tokens", {"label": "c", "scope": "publish"})
    assert [days_of(ApiToken.objects.get(label=label)) for label in "abc"] == [7, 90, 90]

    refused = browser.post("/tokens", {"label": "d", "scope": "manage", "days": "91"})

    assert refused.status_code == 422
    assert "valid for 1 to 90 days, not 91" in refused.content.decode()
    call_command("token", "--user", "alice", "--scope", "manage", stdout=StringIO(), stderr=StringIO())
    assert days_of(ApiToken.objects.get(user=alice)) == 7
    with pytest.raises(CommandError, match="1 to 90 days"):
        call_command("token", "--user", "alice", "--scope", "manage", "--days", "365")


def test_both_lengths_are_settings(dora, settings, monkeypatch):
    settings.MANAGE_TOKEN_LIFETIME, settings.MANAGE_TOKEN_MAX_LIFETIME = timedelta(days=2), timedelta(days=3)
    issue = {"user": dora, "label": "x", "scope": Scope.MANAGE, "actor": Viewer(dora)}
    assert days_of(tokens.issue(**issue)[0]) == 2
    with pytest.raises(Invalid, match="1 to 3 days"):
        tokens.issue(**issue, lifetime=timedelta(days=4))

    monkeypatch.setenv("LARDER_LIFETIMES", "manage_token_max_days=5")
    assert env.token_lifetimes()[1:] == (timedelta(days=5), timedelta(days=5))
    monkeypatch.setenv("LARDER_LIFETIMES", "manage_token_max_days=5 manage_token_days=6")
    with pytest.raises(ImproperlyConfigured, match="LARDER_LIFETIMES='6': expected a number from 1 to 5"):
        env.token_lifetimes()


# --- From before -----------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_an_old_token_keeps_its_rights(old_token, charlie, acme):
    client = client_with(old_token[1])
    given = client.put(
        "/api/v1/namespaces/acme/grants/users/charlie", '{"role": "reader"}', content_type="application/json"
    )

    assert given.status_code == 200, given.content
    transferred = client.post(
        "/api/v1/namespaces/acme/transfer",
        '{"to_user": "charlie", "from_team": "cooks", "keep_publisher": true}',
        content_type="application/json",
    )
    assert transferred.status_code == 200, transferred.content
    assert Grant.objects.get(user=charlie).role == Role.OWNER


def test_to_rotate_it_is_no_way_round(old_token, machine, dora, tofu):
    old, _ = old_token
    answer = tofu(dora).post(f"{API}/ci/tokens/{old.pk}/rotate", "{}", content_type="application/json")
    assert answer.status_code == 403
    with pytest.raises(Conflict, match="is not allowed to have tokens of scope manage"):
        tokens.rotate(token=old, actor=Viewer(dora))
    service_accounts.allow_manage(account=machine, allowed=True, actor=Viewer(dora))

    new, _ = tokens.rotate(token=old, actor=Viewer(dora))

    assert (new.manages_people, days_of(new)) == (False, 90)


@pytest.mark.both
def test_doctor_the_admin_and_its_owners_page_list_it(old_token, machine, page, dora, olga, browser_of, tofu):
    old, _ = old_token
    short, _ = tokens.issue(user=dora, label="short", scope=Scope.MANAGE, actor=Viewer(dora))
    long, _ = tokens.issue(user=dora, label="long", scope=Scope.MANAGE, actor=Viewer(dora))
    ApiToken.objects.filter(pk=long.pk).update(expires_at=timezone.now() + timedelta(days=300))

    (found,) = doctor.api_tokens()
    assert found.state == examining.WARN
    assert old.start in found.found
    assert long.start in found.found
    assert short.start not in found.found
    listed = browser_of(olga).get("/admin/accounts/apitoken/?rules=earlier").content.decode()
    assert [token.start in listed for token in (old, long, short)] == [True, True, False]
    own = browser_of(dora).get("/tokens").content.decode()
    assert len(re.findall("badge--warn.*Earlier rules", own)) == 1
    assert "Earlier rules" in browser_of(dora).get(page).content.decode()
    warning = "It has a token of scope manage that was created before these needed permission."
    assert warning in browser_of(dora).get("/teams/cooks").content.decode()
    assert tofu(dora).get(f"{API}/ci").json()["warning"] == warning

    ApiToken.objects.filter(pk__in=[old.pk, long.pk]).update(revoked_at=timezone.now())
    assert [finding.state for finding in doctor.api_tokens()] == [examining.OK]
    assert "Earlier rules" not in browser_of(dora).get("/tokens").content.decode()


def test_a_command_of_today_makes_what_it_always_made(alice, machine, capsys):
    """`manage.py token --user NAME --scope publish` prints one token as its last word (D24)."""
    for user in (alice.username, machine.username):
        call_command("token", "--user", user, "--scope", "publish", "--days", "365")
        token = tokens.identify(capsys.readouterr().out.split()[-1])
        assert (token.user.username, token.scope, days_of(token)) == (user, "publish", 365)
    assert User.objects.get(pk=machine.pk).may_manage is False
