"""`manage.py token` and `manage.py invite`: what scripts rely on (D24)."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Role, Scope
from tests.rows import for_each_row


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_its_last_word_is_the_token(alice, event_kinds):
    printed = run("token", "--user", "alice", "--scope", "publish")

    assert tokens.identify(printed.split()[-1]).user == alice
    assert event_kinds() == ["account:token:issued"]


@for_each_row(
    "words",
    [
        ["--scope", "read", "--scope", "publish"],
        ["--scope", "publish", "read"],
        ["--scope", "read,publish"],
        ["--scope", "publish,read", "--scope", "read"],
    ],
)
def test_the_widest_scope_counts_however_it_is_written(alice, words):
    run("token", "--user", "alice", *words)

    assert ApiToken.objects.get().scope == Scope.PUBLISH


def test_it_takes_every_limit(alice):
    limits = ["--namespace", "acme", "pantry", "--name", "vpc/aws", "--days", "7", "--label", "CI of vpc"]
    run("token", "--user", "alice", "--scope", "publish", *limits)

    token = ApiToken.objects.get()
    assert sorted(token.namespaces.values_list("name", flat=True)) == ["acme", "pantry"]
    assert (token.only_name, token.label) == ("vpc/aws", "CI of vpc")
    assert (token.expires_at - token.created_at).days in (6, 7)


@for_each_row(
    ("words", "says"),
    [
        (["--user", "zoe", "--scope", "read"], "There are: alice"),
        (["--user", "alice", "--scope", "root"], "read, publish, manage"),
        (["--user", "alice", "--scope", ","], "read, publish, manage"),
        (["--user", "alice", "--scope", "read", "--namespace", "acm"], "There are: acme, hall, pantry"),
        (["--user", "alice", "--scope", "read", "--days", "400"], "1 to 365 days"),
        (["--user", "alice", "--scope", "read", "--name", "a/b/c"], "name/system"),
        (["--user", "alice"], "--scope"),
    ],
)
def test_it_says_what_exists(alice, words, says):
    with pytest.raises(CommandError, match=says):
        run("token", *words)

    assert not ApiToken.objects.exists()


def test_invite_prints_a_link_that_opens(acme, settings):
    link = run("invite", "--note", "Erin", "--namespace", "acme", "--role", "owner").split()[-1]

    assert link.startswith(settings.PUBLIC_URL)
    page = Client().get(link.removeprefix(settings.PUBLIC_URL))
    assert page.status_code == 200
    assert page.context["invitation"].role == Role.OWNER


@for_each_row(
    ("words", "says"), [(["--namespace", "nope", "--role", "owner"], "There are: acme"), (["--role", "owner"], "both")]
)
def test_invite_says_what_is_wrong(acme, words, says):
    with pytest.raises(CommandError, match=says):
        run("invite", *words)


def test_its_last_word_is_a_new_password_and_the_sessions_end(alice, browser_of, event_kinds):
    browser = browser_of(alice)

    password = run("set_password", "Alice").split()[-1]

    alice.refresh_from_db()
    assert alice.check_password(password)
    assert browser.get("/tokens").status_code == 302
    assert event_kinds()[-1] == "account:user:password-changed"


def test_sessions_are_ended_and_the_password_stays(alice, browser_of, event_kinds):
    browser = browser_of(alice)

    assert "is signed out of 1 session" in run("end_sessions", "alice")

    assert browser.get("/tokens").status_code == 302
    alice.refresh_from_db()
    assert alice.check_password("alice likes pears")
    assert event_kinds()[-1] == "account:user:sessions-ended"


@for_each_row("command", ["set_password", "end_sessions"])
def test_neither_knows_people_who_are_not_there(db, command):
    with pytest.raises(CommandError, match="no user zoe"):
        run(command, "zoe")
