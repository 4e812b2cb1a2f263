"""Service accounts: a team's machines, which have its roles and tokens and no way to sign in."""

import re
from functools import partial

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Grant, Membership, Role, Scope, User
from apps.accounts.people import accounts, service_accounts, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import Conflict, NotFound
from tests import pages
from tests.accounts.conftest import status_of
from tests.rows import for_each_row

NEW = {"label": "nightly", "scope": "publish", "days": "90"}


@pytest.fixture
def cooks(acme, dora):
    """A team that publishes in acme; Dora manages it."""
    team = teams.create(name="cooks", actor=Viewer(dora))
    Grant.objects.create(namespace=acme, team=team, role=Role.PUBLISHER)
    return team


@pytest.fixture
def browser(cooks, dora, browser_of):
    return browser_of(dora)


@pytest.fixture
def machine(browser):
    answer = browser.post("/teams/cooks/service-accounts/new", {"name": "ci"})
    assert answer.status_code == 303
    return User.objects.get(username="cooks.ci[bot]")


@pytest.fixture
def url(machine):
    return f"/teams/cooks/service-accounts/{machine.pk}"


def created(browser, url, **more):
    """The secret of a new token, from the page that shows it once."""
    answer = browser.post(url, NEW | more)
    assert answer.status_code == 303, answer.content.decode()
    page = browser.get(answer.headers["Location"])
    assert page.headers["Cache-Control"] == "no-store"
    secret = re.findall(tokens.TOKEN_PATTERN, page.content.decode())[0]
    assert secret not in browser.get(answer.headers["Location"]).content.decode()
    return secret


def test_its_token_is_limited_to_namespaces_of_the_team_or_the_page_warns(browser, cooks, url, pantry):
    warning = "The team has no role in a namespace"
    page = pages.markup_of(browser.get(url))
    assert 'value="acme"' in page
    assert 'value="pantry"' not in page, "the team has no role there"
    assert "Choose none to include all of the team" in page
    assert warning not in page
    cooks.grants.all().delete()
    page = browser.get(url).content.decode()
    assert warning in page
    assert '<a href="/namespaces/acme/members">acme</a>' in page, "Dora owns it"


@for_each_row(
    ("scope", "link"), [("publish", "/help/publishing"), ("read", "/help/using#user-content-install-in-a-pipeline")]
)
def test_a_new_token_leads_to_what_a_pipeline_does_with_it(browser, url, scope, link):
    answer = browser.post(url, NEW | {"scope": scope})
    page = browser.get(answer.headers["Location"]).content.decode()
    assert f'href="{link}"' in page.partition("For a pipeline")[2]


def test_a_manager_makes_one_whose_token_has_the_roles_of_the_team(browser, url):
    secret, namespace = created(browser, url), "/api/v1/namespaces/acme"

    assert secret.startswith("lrd_s_")
    assert status_of(secret, namespace) == 200
    publishing = Client(headers={"Authorization": f"Bearer {secret}"})
    answer = publishing.post("/api/v1/providers/acme/dns/1.0.0", {}, content_type="application/json")
    assert answer.status_code == 201, answer.content
    Grant.objects.filter(team__name="cooks").delete()
    assert status_of(secret, namespace) == 404
    kinds = set(AuditEvent.objects.values_list("kind", flat=True))
    assert {Kind.SERVICE_ACCOUNT_CREATED, Kind.TOKEN_ISSUED} <= kinds


def test_it_cannot_sign_in_and_gets_no_password(machine, olga):
    with pytest.raises(Conflict, match="cannot sign in"):
        accounts.set_password(user=machine, actor=Viewer(olga), password="a long pear tree")
    assert not machine.has_usable_password()
    answer = Client().post("/account/login/", {"login": machine.username, "password": ""})
    assert answer.status_code == 200
    assert "_auth_user_id" not in answer.client.session


def test_operators_may_deactivate_it_and_not_make_it_an_operator(machine, olga):
    change = partial(accounts.change, user=machine, actor=Viewer(olga), is_superuser=False)
    _, secret = tokens.issue(user=machine, label="x", scope=Scope.READ, actor=Viewer(olga))
    with pytest.raises(Conflict, match="only its team's roles"):
        change(is_active=True, is_staff=True)

    change(is_active=False, is_staff=False)

    assert status_of(secret) == 401
    with pytest.raises(Conflict, match="cannot be restored"):
        change(is_active=True, is_staff=False)


def test_it_is_no_person_to_those_who_give_roles(browser, machine, cooks, acme, dora):
    """Neither a member of the list, nor an owner who could answer for a namespace, nor a manager."""
    with pytest.raises(NotFound):
        accounts.user_named(machine.username)
    assert list(teams.members_of(cooks).values_list("user", flat=True)) == [dora.pk]
    Grant.objects.filter(team=cooks).update(role=Role.OWNER)
    Grant.objects.filter(user=dora).delete()
    assert Grant.objects.active_owners().filter(namespace=acme).exists()
    Membership.objects.filter(user=dora).delete()
    assert not Grant.objects.active_owners().filter(namespace=acme).exists()


def test_its_tokens_end_with_the_team(browser, url):
    secret = created(browser, url)

    assert browser.post("/teams/cooks/delete").status_code == 303

    assert status_of(secret) == 401


def test_it_belongs_to_one_team(browser, machine, dora, browser_of):
    teams.create(name="bakers", actor=Viewer(dora))
    other = service_accounts.create(team=teams.team_named("bakers"), name="ci", actor=Viewer(dora))
    theirs, _ = tokens.issue(user=other, label="x", scope=Scope.READ, actor=Viewer(dora))

    assert browser.get(f"/teams/cooks/service-accounts/{other.pk}").status_code == 404
    assert browser.post(f"/teams/cooks/service-accounts/{other.pk}/delete").status_code == 404
    for act in ("created", "revoke"):
        assert browser.get(f"/teams/cooks/service-accounts/{machine.pk}/tokens/{theirs.pk}/{act}").status_code == 404
    theirs.refresh_from_db()
    assert theirs.revoked_at is None


@for_each_row("name", ["", "CI", "a b", "a--b", "ci[bot]", "x" * 41])
def test_a_wrong_name_is_refused_beside_its_field(browser, name):
    answer = browser.post("/teams/cooks/service-accounts/new", {"name": name})

    assert answer.status_code == 422
    assert "name" in answer.context["form"].errors
