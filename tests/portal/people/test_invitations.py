"""/invitations: staff and owners invite; the link makes one account, signs it in and gives it the role."""

import html
import re

import pytest
from django.core.cache import cache
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Invitation, Role, User
from apps.accounts.people import invitations
from apps.audit.models import AuditEvent
from apps.lib.settings_values.rates import Rate
from tests.rows import for_each_row

PASSWORD = "ripe plums in august"
ERIN = {"username": "erin", "password": PASSWORD, "again": PASSWORD}


@pytest.fixture
def link(acme, dora) -> str:
    _, secret = invitations.invite(actor=Viewer(dora), note="Erin", namespace=acme, role=Role.PUBLISHER)
    return f"/invitations/{secret}"


def shown_link(response) -> str:
    return re.findall(r"https?://[^/\s]+(/invitations/[\w-]{40,})", html.unescape(response.content.decode()))[0]


def test_an_owner_invites_and_the_person_joins_by_a_link_that_is_shown_once(dora, acme, browser_of):
    browser, person = browser_of(dora), Client()
    made = browser.post("/invitations", {"note": "Erin", "namespace": "acme", "role": "2"})
    shown = browser.get(made.url)
    assert shown.headers["Cache-Control"] == "no-store"
    link = shown_link(shown)
    secret = link.rsplit("/", 1)[1]
    assert "This link cannot be shown again" in browser.get(made.url).text
    assert secret not in browser.get("/invitations").text + made.url
    assert secret not in str(list(Invitation.objects.values())) + str(list(AuditEvent.objects.values()))
    assert person.get(link).headers["Cache-Control"] == "no-store"

    joined = person.post(link, ERIN)

    assert (joined.status_code, joined.headers["Location"]) == (303, "/namespaces/acme")
    assert person.get("/tokens").status_code == 200, "signed in"
    assert Grant.objects.get(user__username="erin").role == Role.PUBLISHER
    assert "account:user:signed-in" in AuditEvent.objects.values_list("kind", flat=True)
    saved = person.post("/account/mail/address", {"address": "erin@acme.example"})
    assert (saved.status_code, saved.headers["Location"]) == (303, "/account/mail"), "nobody asks again who they are"
    for again in (Client().get(link), Client().post(link, ERIN | {"username": "frank"})):
        assert again.status_code == 404
    assert not User.objects.filter(username="frank").exists()


@for_each_row(
    ("wrong", "status", "field"),
    [
        ({"username": "bob"}, 409, "username"),
        ({"username": "no spaces"}, 422, "username"),
        ({"username": ""}, 422, "username"),
        ({"password": "short", "again": "short"}, 422, "password"),
        ({"username": "erin.e.smith", "password": "erin.e.smith.1", "again": "erin.e.smith.1"}, 422, "password"),
        ({"again": "something else 12"}, 422, "again"),
    ],
)
def test_it_says_what_is_wrong_beside_the_field_and_the_link_stays_good(link, bob, wrong, status, field):
    person = Client()
    response = person.post(link, ERIN | wrong)

    assert response.status_code == status
    assert list(response.context["form"].errors) == [field]
    assert PASSWORD not in response.content.decode()
    assert person.post(link, ERIN).status_code == 303


def test_who_is_signed_in_makes_no_second_account(link, bob, browser_of):
    browser = browser_of(bob)
    assert "signed in already" in browser.get(link).content.decode()

    browser.post(link, ERIN)

    assert not User.objects.filter(username="erin").exists()


def test_owners_withdraw_those_of_their_namespace_and_no_others(dora, olga, pantry, link, browser_of):
    theirs = invitations.invite(actor=Viewer(olga), note="y", namespace=pantry, role=Role.READER)[0]
    own = Invitation.objects.get(namespace__name="acme")
    browser = browser_of(dora)

    assert browser.post(f"/invitations/{theirs.pk}/revoke").status_code == 404
    assert browser.get(f"/invitations/{own.pk}/revoke").status_code == 200
    assert browser.post(f"/invitations/{own.pk}/revoke").status_code == 303

    assert Client().get(link).status_code == 404
    theirs.refresh_from_db()
    assert theirs.revoked_at is None


def test_wrong_links_are_limited_by_address_and_right_ones_never(link, settings):
    settings.RATES = settings.RATES | {"invitations": Rate(3, 3600)}
    cache.clear()
    visitor = Client(REMOTE_ADDR="192.0.2.1")
    said = [visitor.get(f"/invitations/{'x' * 43}") for _ in range(5)]
    assert [answer.status_code for answer in said] == [404, 404, 404, 429, 429]
    assert int(said[-1].headers["Retry-After"]) in range(1, 6)  # less at the end of an hour
    assert visitor.get(link).status_code == 200
    assert Client(REMOTE_ADDR="192.0.2.2").get(f"/invitations/{'x' * 43}").status_code == 404
