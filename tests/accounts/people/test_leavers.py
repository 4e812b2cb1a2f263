"""A deactivated account is out at once: tokens, browsers, and the links that it sent. An erased one leaves no name."""

import io
from contextlib import nullcontext
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from apps.accounts import erasure, namespaces
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Invitation, LoginCode, Membership, Namespace, Role, Team, User
from apps.accounts.people import accounts, invitations, same_person, teams
from apps.audit.models import AuditEvent
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.releases.models import Fetch, Release
from tests.cast import person
from tests.rows import for_each_row


def switch(user, actor, *, on):
    accounts.change(
        user=user, actor=Viewer(actor), is_active=on, is_staff=user.is_staff, is_superuser=user.is_superuser
    )


def test_tokens_and_browsers_stop_with_the_next_request_and_nobody_wakes_up_signed_in(
    acme, dora, bob, olga, tofu, browser_of
):
    client, browser, his = tofu(dora), browser_of(dora), browser_of(bob)
    assert client.get("/v1/modules/acme/vpc/aws/versions").status_code == 404
    assert browser.get("/namespaces/acme/members").status_code == 200

    switch(dora, olga, on=False)

    assert client.get("/v1/modules/acme/vpc/aws/versions").status_code == 401
    assert client.get("/api/v1/namespaces/acme").status_code == 401
    page = browser.get("/namespaces/acme/members")
    assert (page.status_code, page.url.split("?")[0]) == (302, "/account/login/")
    assert "dora" not in browser.get("/").text
    switch(dora, olga, on=True)
    assert browser.get("/tokens").status_code == 302
    assert his.get("/tokens").status_code == 200, "only hers"


def test_a_session_that_was_kept_elsewhere_is_worth_nothing(dora, browser_of):
    """The row alone lets no one in: an account that was deactivated by other means is out too."""
    browser = browser_of(dora)
    type(dora).objects.filter(pk=dora.pk).update(is_active=False)

    assert Session.objects.exists()
    assert browser.get("/tokens").status_code == 302


def test_links_that_they_sent_are_revoked(acme, dora, olga, event_kinds):
    _, secret = invitations.invite(actor=Viewer(dora), note="Erin", namespace=acme, role=Role.READER)
    kept, _ = invitations.invite(actor=Viewer(olga), note="Finn", namespace=acme, role=Role.READER)

    switch(dora, olga, on=False)
    switch(dora, olga, on=True)

    with pytest.raises(NotFound):
        invitations.invitation_for_secret(secret)
    assert Invitation.objects.get(revoked_at=None) == kept
    assert event_kinds()[2:] == ["account:user:invitation-revoked", "account:user:changed", "account:user:changed"]


@pytest.mark.both
def test_it_knows_what_only_they_decide_about(acme, hall, dora, charlie, bob):
    mixed = teams.create(name="mixed", actor=Viewer(dora))
    teams.add(team=mixed, user=bob, actor=NOBODY)
    alone = teams.create(name="alone", actor=Viewer(dora))
    namespaces.grant(namespace=hall, grantee=alone, role=Role.OWNER, actor=NOBODY)
    Grant.objects.filter(user=bob).delete()

    behind = accounts.left_behind(dora)
    assert [namespace.name for namespace in behind.namespaces] == ["acme", "hall"]
    assert [team.name for team in behind.teams] == ["alone", "mixed"]
    assert str(behind) == "the only owner of acme, hall and the only manager of the team alone, the team mixed"

    namespaces.grant(namespace=acme, grantee=mixed, role=Role.OWNER, actor=NOBODY)
    teams.set_manager(membership=mixed.memberships.get(user=bob), is_manager=True, actor=NOBODY)
    behind = accounts.left_behind(dora)
    assert ([n.name for n in behind.namespaces], [t.name for t in behind.teams]) == (["hall"], ["alone"])
    assert not accounts.left_behind(charlie)


@pytest.mark.both
def test_what_is_left_without_anybody_can_be_found(acme, hall, dora, olga):
    """hall has no owner from the beginning; acme loses its only one."""
    team = teams.create(name="cooks", actor=Viewer(dora))
    assert list(Namespace.objects.without_active_owner()) == [hall]

    switch(dora, olga, on=False)

    assert list(Namespace.objects.without_active_owner().alphabetical()) == [acme, hall]
    assert Team.objects.without_active_manager().get() == team


# --- erase_user: afterwards the whole database is searched for the name and the address ------------------------------


NAME, ADDRESS = "zerafina.quill", "zerafina@quill.example"


@pytest.fixture
def zerafina(acme) -> User:
    user = person(NAME, email=ADDRESS, first_name="Zerafina", last_name="Quillfeather")
    Grant.objects.create(namespace=acme, user=user, role=Role.PUBLISHER)
    return user


def erase(*more: str) -> str:
    said = io.StringIO()
    call_command("erase_user", NAME, "--yes", *more, stderr=said)
    return said.getvalue()


def everything() -> str:
    """Every value of every table."""
    with connection.cursor() as cursor:
        values = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608  # names that the database gave
            values += [value for row in cursor.fetchall() for value in row]
    return "\n".join(bytes(v).decode(errors="replace") if isinstance(v, bytes | memoryview) else str(v) for v in values)


def live_a_life(user, acme, published, browser_of, olga, dora):
    """A bit of everything that leaves rows."""
    release = published("acme/vpc/aws", "1.0.0", user=user)
    client = browser_of(user)
    client.post("/tokens", {"label": "mine", "scope": "read", "days": "5"})
    client.post("/namespaces/new", {"name": "hers", "visibility": "private"})
    browser_of(None).post("/account/login/", {"login": NAME, "password": "wrong one"})
    browser_of(None).post("/account/login/", {"login": NAME, "password": f"{NAME} likes pears"})
    team = teams.create(name="cooks", actor=Viewer(user))
    namespaces.grant(namespace=acme, grantee=team, role=Role.READER, actor=Viewer(dora))
    namespaces.grant(namespace=acme, grantee=user, role=Role.OWNER, actor=Viewer(dora))
    invitations.invite(actor=Viewer(user), note="Finn", namespace=acme, role=Role.READER)
    made, _ = invitations.invite(actor=Viewer(olga), note=f"for {NAME}, {ADDRESS}")
    Invitation.objects.filter(pk=made.pk).update(used_by=user, used_at=timezone.now())
    Fetch.objects.create(release=release, user=user, last_on=timezone.now().date(), count=3)
    EmailAddress.objects.create(user=user, email=ADDRESS, verified=True, primary=True)
    same_person.remember_address(user)
    same_person.remember_identity(user, provider="https://sso.acme.example", uid=NAME)
    LoginCode.objects.create(user=user, machine="zerafina's laptop", expires_at=timezone.now())
    draft_client = browser_of(olga)
    draft_client.post(reverse("admin:accounts_user_change", args=[user.pk]), {"is_active": "on"})
    held = Grant.objects.get(namespace=acme, user=user)
    draft_client.post(reverse("admin:accounts_grant_change", args=[held.pk]), {"role": 2})
    line = {"grants-0-id": held.pk, "grants-0-namespace": acme.pk, "grants-0-user": user.pk, "grants-0-role": 1}
    counts = {"grants-TOTAL_FORMS": 1, "grants-INITIAL_FORMS": 1}
    draft_client.post(
        reverse("admin:accounts_namespace_change", args=[acme.pk]),
        {"visibility": "private", "breaking_changes": "warn", **counts, **line},
    )
    return release


@pytest.mark.both
def test_nothing_of_theirs_is_left_and_nobody_else_loses_anything(
    zerafina, acme, published, browser_of, olga, dora, bob
):
    release = live_a_life(zerafina, acme, published, browser_of, olga, dora)
    tokens.issue(user=bob, label="his", scope="read", actor=NOBODY)
    his = browser_of(bob)
    LogEntry.objects.create(user=olga, object_repr="bob is Reader of acme", action_flag=1, change_message="")
    assert LogEntry.objects.filter(object_repr__contains=NAME).exists()
    assert LogEntry.objects.filter(change_message__contains=NAME).exists()
    before = AuditEvent.objects.count()

    said = erase("--hand-to", "olga")

    left = everything().lower()
    for word in (NAME, ADDRESS, "zerafina", "quillfeather"):
        assert word not in left
    zerafina.refresh_from_db()
    assert (zerafina.username, zerafina.is_active) == (f"forgotten-{zerafina.pk}", False)
    assert not zerafina.has_usable_password()
    models: list[Any] = [ApiToken, Fetch, EmailAddress, Grant, Membership]
    for model in models:
        assert not model.objects.filter(user=zerafina).exists()
    assert Release.objects.get(pk=release.pk).created_by == zerafina, "what they published stays"
    assert zerafina.shown_name == "a former user"
    assert AuditEvent.objects.filter(actor_id=zerafina.pk).count() > 5, "and so does what they did, by number"
    assert AuditEvent.objects.count() > before
    last = AuditEvent.objects.newest_first()[0]
    assert (last.kind, last.subject) == ("account:user:forgotten", f"user/{zerafina.pk}")
    assert "is erased" in said

    assert ApiToken.objects.get().user == bob
    assert his.get("/tokens").status_code == 200
    holders = Grant.objects.filter(namespace=acme, user__isnull=False)
    assert set(holders.values_list("user__username", flat=True)) == {"alice", "bob", "dora"}
    assert LogEntry.objects.filter(object_repr="bob is Reader of acme").exists()


def test_their_way_in_is_closed(zerafina, browser_of, tofu):
    browser, client = browser_of(zerafina), tofu(zerafina)
    erase()

    assert browser.get("/tokens").status_code == 302
    assert client.get("/api/v1/namespaces/acme").status_code == 401
    with pytest.raises(Invalid, match="former users"):
        invitations.check_username("forgotten-12")


def test_it_refuses_with_the_list_while_only_they_decide(zerafina, event_kinds):
    namespaces.create(name="hers", visibility="private", actor=Viewer(zerafina))
    teams.create(name="cooks", actor=Viewer(zerafina))
    before = event_kinds()

    with pytest.raises(CommandError, match="the only owner of hers and the only manager of the team cooks"):
        erase()
    zerafina.refresh_from_db()
    assert zerafina.username == NAME
    assert event_kinds() == before


def test_it_hands_over_what_only_they_decided_about(zerafina, dora, event_kinds):
    namespace = namespaces.create(name="hers", visibility="private", actor=Viewer(zerafina))
    team = teams.create(name="cooks", actor=Viewer(zerafina))

    erase("--hand-to", "dora")

    assert list(namespace.grants.values_list("user", "role")) == [(dora.pk, Role.OWNER)]
    assert list(team.memberships.values_list("user", "is_manager")) == [(dora.pk, True)]
    assert "namespace:namespace:transferred" in event_kinds()


@for_each_row(
    ("words", "says"),
    [
        (["nobody-here"], "no user 'nobody-here'"),
        ([NAME, "--hand-to", NAME], "cannot take over"),
        ([NAME, "--hand-to", "zoe"], "no user 'zoe'"),
    ],
)
def test_it_says_what_is_wrong(zerafina, words, says):
    with pytest.raises(CommandError, match=says):
        call_command("erase_user", "--yes", *words)


@for_each_row(("answer", "gone"), [(NAME, True), ("y", False), ("", False)])
def test_it_asks_first(zerafina, monkeypatch, answer, gone):
    monkeypatch.setattr("builtins.input", lambda _: answer)
    with nullcontext() if gone else pytest.raises(CommandError, match="Nothing was changed"):
        call_command("erase_user", NAME, stderr=io.StringIO())

    zerafina.refresh_from_db()
    assert zerafina.is_erased == gone


def test_erasure_is_for_good(zerafina, olga):
    erase()
    zerafina.refresh_from_db()
    with pytest.raises(Conflict, match="erased already"):
        erasure.erase(user=zerafina, actor=NOBODY)
    with pytest.raises(Conflict, match="was erased"):
        accounts.change(user=zerafina, actor=Viewer(olga), is_active=True, is_staff=False, is_superuser=False)
