"""The page of an account: what belongs to it, and what can be changed, its password and sessions too."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse

from apps.accounts import erasure
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import ApiToken, Grant, Membership, Team, User
from apps.accounts.people import service_accounts
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.audit.recorder import record
from apps.releases.models import Release
from tests.admin import rows
from tests.admin.lists import list_of, page_of
from tests.rows import for_each_row


@pytest.fixture
def person(db):
    rows.make(0, 3)
    return User.objects.get(username="person1")


@pytest.mark.both
@for_each_row(("model", "count"), [(ApiToken, 1), (Grant, 1), (Team, 1), (Release, 1), (AuditEvent, 1)])
def test_a_person_leads_to_the_rows_that_are_theirs(operator_client, person, model, count):
    page = operator_client.get(page_of(person))
    url = list_of(model, person=person.username)

    assert url in [one for _, one in page.context["related"]]
    assert operator_client.get(url).context["cl"].result_count == count


@pytest.mark.both
def test_the_audit_of_a_person_has_their_tokens_as_well(operator_client, person):
    token = ApiToken.objects.get(user=person)
    other = ApiToken.objects.exclude(user=person)[0]
    for one in (token, other):
        record(Kind.TOKEN_ISSUED, actor_id=None, subject=f"token/{one.pk}", label=one.label)
    shown = operator_client.get(list_of(AuditEvent, person=person.username)).context["cl"].result_list

    assert [event.subject for event in shown if event.subject.startswith("token/")] == [f"token/{token.pk}"]


def test_its_page_offers_no_empty_history_and_no_rule_for_a_name_that_stays(operator_client, person):
    page = operator_client.get(page_of(person)).text

    assert reverse("admin:accounts_user_history", args=[person.pk]) not in page
    assert "150 characters" not in page


def test_a_team_is_found_once_by_each_of_its_members(operator_client, person):
    Membership.objects.create(team=Team.objects.get(name="crew1"), user=User.objects.get(username="person2"))

    assert operator_client.get(list_of(Team, person="person1")).context["cl"].result_count == 1
    assert operator_client.get(list_of(Team, person="person2")).context["cl"].result_count == 2
    assert operator_client.get(list_of(Team, person="nobody")).context["cl"].result_count == 0


def test_links_are_for_those_who_may_follow_them(bob, browser_of, person):
    bob.is_staff = True
    bob.save()
    bob.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "view_apitoken"]))
    page = browser_of(bob).get(page_of(person))

    assert [name for name, _ in page.context["related"]] == ["API tokens"]
    assert reverse("admin:accounts_user_entry", args=[person.pk]) not in page.text


def test_a_superuser_gives_and_takes_the_two_real_roles(browser_of, person):
    """And another group, which somebody made by hand, is neither offered nor lost."""
    browser, auditor = browser_of(User.objects.create_superuser("root")), Group.objects.get(name="Auditor")
    person.groups.add(Group.objects.create(name="Choir"))
    page = browser.get(page_of(person))
    field = page.context["adminform"].form.fields["groups"]
    assert [name for _, name in field.choices] == ["Auditor", "Operator"]

    refused = browser.post(page_of(person), {"is_active": "1", "groups": [auditor.pk]})
    assert "A role needs staff status" in refused.text
    form = {"is_active": "1", "is_staff": "1", "groups": [auditor.pk]}
    assert browser.post(page_of(person), form).status_code == 302
    assert set(person.groups.values_list("name", flat=True)) == {"Choir", "Auditor"}
    browser.post(page_of(person), {"is_active": "1"})
    assert set(person.groups.values_list("name", flat=True)) == {"Choir"}


def test_the_picker_offers_every_room_as_a_sentence_and_nothing_that_opens_nothing(browser_of, person):
    page = browser_of(User.objects.create_superuser("root")).get(page_of(person))

    offered = page.context["adminform"].form.fields["user_permissions"].queryset
    names = {f"{one.content_type.app_label}.{one.codename}" for one in offered}
    assert names >= {"providers.resign_providerversion", "signing.change_signingkey", "oci.delete_uploadsession"}
    assert not names & {"blobs.change_blob", "audit.delete_auditevent", "modules.add_module"}
    folded = page.text.partition("<details>")[2].partition("</details>")[0]
    assert "Single permissions" in folded
    assert "Can revoke an API token" in folded
    assert "Accounts |" not in folded


def test_a_machine_has_a_team_no_roles_to_give_and_no_sessions_and_is_not_counted(
    operator_client, browser_of, olga, person
):
    team = Team.objects.get(name="crew1")
    machine = service_accounts.create(team=team, name="ci", actor=Viewer(olga))
    crew = operator_client.get(list_of(Team, q="crew1")).context["cl"].result_list[0]
    assert (crew.people_count, team.memberships.count()) == (1, 2), "a machine is no person"
    assert reverse("admin:accounts_user_entry", args=[machine.pk]) not in operator_client.get(page_of(machine)).text
    form = browser_of(User.objects.create_superuser("root")).get(page_of(machine)).context["adminform"]

    assert list(form.form.fields) == ["is_active"]
    assert "crew1" in operator_client.get(page_of(machine)).text
    assert operator_client.post(page_of(machine), {}).status_code == 302
    assert not User.objects.get(pk=machine.pk).is_active


# --- The page entry/: operators set a password and end sessions ------------------------------------------------------


PASSWORD = "ripe plums in august"
NEW = {"new_password1": PASSWORD, "new_password2": PASSWORD}


def entry(user: User) -> str:
    return reverse("admin:accounts_user_entry", args=[user.pk])


def has_password(user: User, password: str) -> bool:
    return User.objects.get(pk=user.pk).check_password(password)


def test_an_operator_sets_a_password_which_ends_the_sessions(operator_client, alice, olga, browser_of):
    hers = browser_of(alice)
    assert f'href="{entry(alice)}"' in operator_client.get(reverse("admin:accounts_user_change", args=[alice.pk])).text

    assert operator_client.post(entry(alice), NEW).status_code == 302

    assert hers.get("/tokens").status_code == 302
    assert Client().post(reverse("account_login"), {"login": "alice", "password": PASSWORD}).status_code == 302
    assert AuditEvent.objects.get(kind="account:user:password-changed").actor_id == olga.pk


def test_an_operator_ends_the_sessions_and_the_password_stays(operator_client, alice, browser_of):
    hers = browser_of(alice)
    assert "End all sessions" in operator_client.get(entry(alice)).text

    assert operator_client.post(entry(alice), {"end_sessions": "1"}).status_code == 302

    assert hers.get("/tokens").status_code == 302
    assert has_password(alice, "alice likes pears")
    assert "has no active sessions" in operator_client.get(entry(alice)).text


@for_each_row("wrong", [{"new_password2": "other plums"}, {"new_password1": "x", "new_password2": "x"}])
def test_a_password_that_does_not_do_is_refused_beside_its_field(operator_client, alice, wrong):
    answer = operator_client.post(entry(alice), NEW | wrong)
    assert answer.status_code == 200
    assert "field__error" in answer.text
    assert has_password(alice, "alice likes pears")


def test_nobody_sets_their_own_here_or_that_of_an_operator_or_of_a_forgotten_person(
    operator_client, alice, olga, browser_of
):
    assert "your own account" in operator_client.post(entry(olga), NEW).text
    helper = User.objects.create_user("henry", is_staff=True)
    helper.user_permissions.add(*Permission.objects.filter(codename__in=["change_user", "view_user"]))
    assert "Only a superuser" in browser_of(helper).post(entry(olga), NEW).text
    assert has_password(olga, "olga likes pears")
    assert browser_of(helper).post(entry(alice), NEW).status_code == 302
    erasure.erase(user=alice, actor=NOBODY, hand_to=None)
    assert "was erased" in operator_client.post(entry(alice), NEW).text


def test_who_may_not_change_people_may_not_do_this(alice, bob, browser_of):
    bob.is_staff = True
    bob.save()
    bob.user_permissions.add(Permission.objects.get(codename="view_user"))
    for answer in (browser_of(bob).get(entry(alice)), browser_of(bob).post(entry(alice), NEW)):
        assert answer.status_code == 403
    assert has_password(alice, "alice likes pears")
