"""The address to which an invitation was mailed is confirmed by the mailed link, and by no other."""

import re

import pytest
from django.conf import settings as site
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role, User
from apps.accounts.people import invitations
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.text.redaction import redact
from tests.notify.conftest import sent, text_of
from tests.rows import for_each_row


def joins(path, **more):
    person = Client()
    shown = person.get(path).text
    password = "ripe plums in august"
    answer = person.post(path, {"username": "erin", "password": password, "again": password, **more})
    assert answer.status_code == 303
    return shown, person, User.objects.get(username="erin")


@pytest.fixture
def mailed(box, dora, acme, browser_of):
    """The links to one invitation: the one on its inviter's page, and the one in the mail."""
    page = browser_of(dora)
    asked = {"note": "Erin", "namespace": "acme", "role": "1", "email": "erin@acme.example"}
    seen = page.get(page.post("/invitations", asked).url).text
    assert sent(box) == ["erin"]
    [own] = re.findall(rf"{re.escape(site.PUBLIC_URL)}(/invitations/[\w~.-]+)", seen)
    [there] = re.findall(rf"{re.escape(site.PUBLIC_URL)}(/invitations/\S+)", text_of(box.received[0][1]))
    return own, there


def test_who_joins_by_the_mailed_link_need_not_confirm_its_address(mailed):
    shown, person, erin = joins(mailed[1], mail="on")

    assert "Send my mail from Larder to erin@acme.example" in shown
    assert erin.email == "erin@acme.example"
    assert 'value="erin@acme.example"' in person.get("/account/mail").text
    changed = AuditEvent.objects.get(kind=Kind.MAIL_CHANGED)
    assert (changed.actor_id, changed.detail["address"]) == (erin.pk, "confirmed by invitation")
    assert "acme.example" not in str(changed.detail)


def test_who_got_the_mailed_link_from_somebody_else_says_no(mailed):
    assert joins(mailed[1])[2].email == ""


def test_the_link_that_the_inviter_sees_proves_no_address(mailed):
    assert mailed[1].startswith(mailed[0] + "~")

    shown, _, erin = joins(mailed[0], mail="on")
    assert "erin@acme.example" not in shown
    assert erin.email == ""


@for_each_row("forged", ["", "x", "~", "WzEsImFAYi5jIl0~1vN~aaaa"])
def test_a_made_up_proof_is_none(mailed, forged):
    assert joins(f"{mailed[0]}~{forged}", mail="on")[2].email == ""


def test_the_proof_of_another_invitation_is_none(mailed, dora, acme):
    _, secret = invitations.invite(actor=Viewer(dora), note="Frank", namespace=acme, role=Role.READER)
    proof = mailed[1].partition("~")[2]

    assert joins(f"/invitations/{secret}~{proof}", mail="on")[2].email == ""


def test_a_mailed_link_is_redacted_in_logs(mailed):
    assert redact(f"GET {mailed[1]} 200") == "GET /invitations/[redacted] 200"
