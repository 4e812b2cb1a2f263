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


def joins(path, email=""):
    person = Client()
    shown = person.get(path).text
    password = "ripe plums in august"
    answer = person.post(path, {"username": "erin", "password": password, "again": password, "email": email})
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
    shown, person, erin = joins(mailed[1], "erin@acme.example")

    assert 'value="erin@acme.example"' in shown
    assert erin.email == "erin@acme.example"
    assert 'value="erin@acme.example"' in person.get("/account/mail").text
    changed = AuditEvent.objects.get(kind=Kind.MAIL_CHANGED)
    assert (changed.actor_id, changed.detail["address"]) == (erin.pk, "confirmed by invitation")
    assert "acme.example" not in str(changed.detail)


def test_who_got_the_mailed_link_from_somebody_else_says_no(mailed):
    assert joins(mailed[1])[2].email == ""


def test_an_address_of_their_own_is_confirmed_like_any_other(mailed, box):
    _, _, erin = joins(mailed[1], "erin@home.example")

    assert (erin.email, sent(box)) == ("", ["erin", "erin"])
    assert box.received[1][0] == "erin@home.example"


def test_the_link_that_the_inviter_copies_fills_in_the_address_and_proves_none(mailed, box):
    own, there = mailed
    assert own.partition("~")[0] == there.partition("~")[0]

    shown, person, erin = joins(own, "erin@acme.example")

    assert 'value="erin@acme.example"' in shown
    assert erin.email == ""
    page = person.get("/account/mail").text
    assert "Not confirmed yet" in page
    assert 'value="erin@acme.example"' in page
    assert "Your address is not confirmed" in person.get("/").text
    assert sent(box) == ["erin", "erin"]
    assert box.received[1][1]["Subject"] == f"Confirm your address for Larder at {site.PUBLIC_HOST}"
    [link] = re.findall(rf"{re.escape(site.PUBLIC_URL)}(/mail/confirm/\S+)", text_of(box.received[1][1]))
    person.post(link)
    erin.refresh_from_db()
    assert erin.email == "erin@acme.example"
    assert "Not confirmed yet" not in person.get("/account/mail").text


def test_without_a_mail_server_the_form_says_so_and_keeps_the_address(mailed, settings):
    settings.SMTP = None
    shown, person, erin = joins(mailed[0], "erin@acme.example")

    assert "This registry sends no mail yet." in shown
    assert erin.email == ""
    page = person.get("/account/mail").text
    assert "This registry sends no mail" in page
    assert 'value="erin@acme.example"' in page
    assert "not confirmed" not in person.get("/").text


@for_each_row("forged", ["", "x", "~", "WzEsImFAYi5jIl0~1vN~aaaa"])
def test_a_made_up_proof_is_none(mailed, forged):
    assert joins(f"{mailed[0].partition('~')[0]}~{forged}", "erin@acme.example")[2].email == ""


def test_the_proof_of_another_invitation_is_none(mailed, dora, acme):
    _, secret = invitations.invite(actor=Viewer(dora), note="Frank", namespace=acme, role=Role.READER)
    proof = mailed[1].partition("~")[2]

    assert joins(f"/invitations/{secret}~{proof}", "erin@acme.example")[2].email == ""


def test_a_mailed_link_is_redacted_in_logs(mailed):
    assert redact(f"GET {mailed[1]} 200") == "GET /invitations/[redacted] 200"
