"""/admin/accounts/user/<id>/entry/: operators set a password and end sessions."""

from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from apps.accounts import erasure
from apps.accounts.access.gate import NOBODY
from apps.accounts.models import User
from apps.audit.models import AuditEvent
from tests.rows import for_each_row

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
    assert "errorlist" in answer.text
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
