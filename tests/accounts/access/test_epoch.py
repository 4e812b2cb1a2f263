"""A database that is restored from a backup revives no token, session or invitation that was ended since."""

import contextlib
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core import serializers
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from apps.accounts import tasks
from apps.accounts.access import epoch
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity import sessions, tokens
from apps.accounts.models import ApiToken, Epoch, Invitation, Scope, User
from apps.accounts.people import accounts, invitations
from apps.audit.models import AuditEvent
from apps.blobs import backends, store
from tests.accounts.identity.test_sign_in import sign_in
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db(transaction=True)
TABLES = (Epoch, ApiToken, Invitation, Session)
WHO = "/api/v1/namespaces/acme"


@contextlib.contextmanager
def lost_by_a_restore(*more: Any):
    """Changes inside are lost: afterwards the rows are those of the backup made before."""
    tables = (*TABLES, *more)
    backup = [serializers.serialize("json", model.objects.order_by("pk")) for model in tables]
    yield
    with transaction.atomic():
        for model, rows in zip(tables, backup, strict=True):
            model.objects.all().delete()
            for row in serializers.deserialize("json", rows):
                row.save()


@pytest.fixture
def token(dora) -> tuple[ApiToken, dict[str, str]]:
    made, secret = tokens.issue(user=dora, label="ci", scope=Scope.MANAGE, actor=Viewer(dora))
    epoch.check()
    return made, {"Authorization": f"Bearer {secret}"}


def status(headers: dict[str, str]) -> int:
    return Client(headers=headers).get(WHO).status_code


@pytest.mark.both
@pytest.mark.parametrize("look", [epoch.check_at_start, tasks.check_epoch], ids=["at a start", "while it runs"])
def test_a_revoked_token_stays_refused(dora, token, look):
    made, headers = token
    with lost_by_a_restore():
        tokens.revoke(token=made, actor=Viewer(dora))
        assert status(headers) == 401
    assert status(headers) == 200, "the backup knows nothing of it"

    look()

    answer = Client(headers=headers).get(WHO)
    assert answer.status_code == 401
    assert "suspended" in answer.json()["error"]["message"]
    assert AuditEvent.objects.filter(kind="operation:database:restored").count() == 1
    look()
    assert AuditEvent.objects.filter(kind="operation:database:restored").count() == 1, "it is found once"


def sign_out(browser: Client, _user: User) -> None:
    browser.post(reverse("account_logout"))


def change_password(browser: Client, user: User) -> None:
    new = "ripe plums in august"
    data = {"oldpassword": f"{user.username} likes pears", "password1": new, "password2": new}
    assert browser.post(reverse("account_change_password"), data).status_code == 302


def end_sessions(_browser: Client, user: User) -> None:
    with transaction.atomic():
        sessions.end_all(user)


def switch_off(_browser: Client, user: User) -> None:
    accounts.change(user=user, actor=NOBODY, is_active=False, is_staff=False, is_superuser=False)


@pytest.mark.both
@for_each_row("end", [sign_out, change_password, end_sessions, switch_off])
def test_a_session_that_was_ended_stays_ended(dora, end: Callable[[Client, User], None]):
    browser = Client()
    sign_in(browser, "dora")
    cookie = browser.cookies[settings.SESSION_COOKIE_NAME].value
    with lost_by_a_restore():
        end(browser, dora)
    User.objects.filter(pk=dora.pk).update(password=dora.password, is_active=True)  # restored as well
    browser.cookies[settings.SESSION_COOKIE_NAME] = cookie
    assert browser.get("/tokens").status_code == 200, "the backup knows nothing of it"

    assert epoch.check()

    assert browser.get("/tokens").status_code == 302
    sign_in(browser, "dora")
    assert browser.get("/tokens").status_code == 200


def test_an_invitation_that_was_revoked_stays_closed(olga):
    _, secret = invitations.invite(actor=Viewer(olga), note="Erin")
    with lost_by_a_restore():
        invitations.revoke(invitation=Invitation.objects.get(), actor=Viewer(olga))
    assert Client().get(reverse("portal:invitation", args=[secret])).status_code == 200

    epoch.check()

    assert Client().get(reverse("portal:invitation", args=[secret])).status_code == 404


def test_the_next_thing_that_ends_finds_it_without_waiting(dora, charlie, token):
    made, headers = token
    with lost_by_a_restore():
        tokens.revoke(token=made, actor=Viewer(dora))
        other, _ = tokens.issue(user=charlie, label="ci", scope=Scope.READ, actor=NOBODY)
        tokens.revoke(token=other, actor=NOBODY)
    another, _ = tokens.issue(user=charlie, label="ci", scope=Scope.READ, actor=NOBODY)

    tokens.revoke(token=another, actor=NOBODY)

    assert status(headers) == 401


def test_a_restart_and_a_restored_backup_without_loss_change_nothing(dora, token):
    _, headers = token
    browser = Client()
    sign_in(browser, "dora")
    with lost_by_a_restore():
        tokens.issue(user=dora, label="lost", scope=Scope.READ, actor=NOBODY)

    for _ in range(2):
        epoch.check_at_start()

    assert status(headers) == 200
    assert browser.get("/tokens").status_code == 200


def restored(*options: str) -> str:
    said = io.StringIO()
    call_command("restored", *options, stdout=said)
    return said.getvalue()


def test_an_operator_accepts_or_revokes_what_is_suspended(dora, token, browser_of):
    _, headers = token
    assert "No token is suspended" in restored()
    assert "1 tokens" in restored("--suspend")
    assert status(headers) == 401
    assert "Suspended" in browser_of(dora).get("/tokens").content.decode()

    assert "1 tokens are valid again" in restored("--accept-tokens")
    assert status(headers) == 200

    restored("--suspend")
    fresh, secret = tokens.issue(user=dora, label="made since", scope=Scope.MANAGE, actor=Viewer(dora))
    assert "1 tokens are revoked" in restored("--revoke-tokens")
    assert status(headers) == 401
    assert status({"Authorization": f"Bearer {secret}"}) == 200, fresh


def test_storage_that_is_away_stops_no_revocation_and_is_told_later(dora, token, settings):
    made, headers = token
    was = store.highest_number(epoch.NAME)
    url, settings.STORAGE_URL = settings.STORAGE_URL, "file:///proc/nowhere"  # no folder can be made there
    tokens.revoke(token=made, actor=Viewer(dora))
    epoch.check_at_start()
    settings.STORAGE_URL = url
    assert status(headers) == 401
    assert store.highest_number(epoch.NAME) == was

    assert not epoch.check()

    assert store.highest_number(epoch.NAME) == Epoch.objects.get().number > was


def test_only_the_highest_number_is_kept(stored_files):
    for number in (3, 12, 7):
        store.raise_number("epoch", number)

    assert store.highest_number("epoch") == 12
    assert stored_files() == ["epoch/000000000012"]
    assert (store.get("epoch/000000000012") or b"").startswith(b"20"), "when it was written, for operators"
    assert store.highest_number("nothing") == 0
    assert backends.current().size("epoch/000000000012")
