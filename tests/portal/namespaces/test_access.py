"""/namespaces/<ns>/access: a reader requests publish access, and its owners hear of it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import sealing
from apps.accounts.models import Role
from apps.accounts.people import access_requests
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import TooManyAttempts
from apps.notify import outbox
from apps.notify.mail import letters
from apps.notify.models import Letter
from tests import pages

pytestmark = pytest.mark.django_db
ACCESS = "/namespaces/acme/access"


@pytest.fixture
def reader(bob, browser_of):
    return browser_of(bob)


def test_the_page_names_whom_the_reader_asks(reader, acme, dora):
    page = pages.markup_of(reader.get(ACCESS))
    assert "Your request goes to dora." in page
    assert f'href="{ACCESS}"' in pages.markup_of(reader.get("/namespaces/acme"))


def test_a_request_is_on_the_owners_home_page_until_it_is_granted(reader, acme, bob, dora, browser_of):
    assert reader.post(ACCESS, {"reason": "A module for our DNS zones"}).status_code == 303

    home = pages.markup_of(browser_of(dora).get("/"))
    assert "bob requests publish access to acme" in home
    assert "A module for our DNS zones" in home
    members = "/namespaces/acme/members?person=bob"
    assert f'href="{members}"' in home
    assert 'value="bob"' in pages.markup_of(browser_of(dora).get(members))

    namespaces.grant(namespace=acme, grantee=bob, role=Role.PUBLISHER, actor=Viewer(dora))
    assert "requests publish access" not in pages.markup_of(browser_of(dora).get("/"))


def test_an_owner_grants_or_declines_a_request_on_the_members_page(reader, acme, bob, dora, browser_of):
    reader.post(ACCESS, {"reason": "A module for our DNS zones"})
    members, owner = "/namespaces/acme/members", browser_of(dora)
    page = pages.markup_of(owner.get(members))
    assert "bob requests publish access" in page
    assert "A module for our DNS zones" in page
    assert "Make publisher" in page

    assert owner.post(members, {"decline": "bob"}).status_code == 303

    assert "requests publish access" not in pages.markup_of(owner.get(members))
    assert "requests publish access" not in pages.markup_of(owner.get("/"))
    assert "Publish access declined" in pages.markup_of(reader.get("/namespaces/acme"))
    assert owner.post(members, {"decline": "bob"}).status_code == 409
    [event] = AuditEvent.objects.filter(kind=Kind.ACCESS_DECLINED)
    assert (event.subject, event.detail["person"]) == ("acme", "bob")

    assert owner.post(members, {"username": "bob", "role": Role.PUBLISHER.value}).status_code == 303
    assert "Publish a module here" in pages.markup_of(reader.get("/namespaces/acme"))


def test_after_a_request_the_page_offers_no_second_one_within_a_day(reader, acme, dora):
    reader.post(ACCESS, {})
    page = pages.markup_of(reader.get("/namespaces/acme"))
    assert "Publish access requested" in page
    assert ACCESS not in page

    answer = reader.post(ACCESS, {})
    assert answer.status_code == 409
    assert "You already requested access to acme within the last day" in pages.markup_of(answer)
    assert AuditEvent.objects.filter(kind=Kind.ACCESS_REQUESTED).count() == 1


def test_the_page_promises_a_mail_only_where_there_is_one(reader, acme, dora, settings):
    settings.SMTP = None
    assert "get a mail" not in pages.markup_of(reader.get(ACCESS))
    settings.SMTP = {"host": "127.0.0.1", "port": 1}
    assert "those with an address get a mail" in pages.markup_of(reader.get(ACCESS))


def test_the_owners_get_a_mail_that_leads_to_the_form(reader, acme, dora):
    type(dora).objects.filter(pk=dora.pk).update(email="dora@example.com")
    reader.post(ACCESS, {"reason": "DNS zones"})
    outbox.dispatch()
    [letter] = Letter.objects.all()
    assert letter.user == dora
    assert letter.subject == "bob requests publish access to acme"
    assert "DNS zones" in letter.text
    assert sealing.unseal(letter.sealed_url, letters.PURPOSE).endswith("/namespaces/acme/members?person=bob")


def test_who_may_publish_has_nothing_to_ask_for(alice, acme, browser_of):
    for answer in (browser_of(alice).get(ACCESS), browser_of(alice).post(ACCESS)):
        assert answer.status_code == 409
        assert "You can publish in acme already." in answer.text
    assert ACCESS not in pages.markup_of(browser_of(alice).get("/namespaces/acme"))


def test_one_person_does_not_write_to_everyone(bob, acme, pantry, hall, monkeypatch):
    monkeypatch.setattr(access_requests, "MOST_IN_A_DAY", 2)
    for namespace in (acme, pantry):
        access_requests.request(namespace=namespace, actor=Viewer(bob))
    with pytest.raises(TooManyAttempts):
        access_requests.request(namespace=hall, actor=Viewer(bob))


@pytest.mark.both
def test_an_old_request_is_no_longer_open(bob, acme, dora, monkeypatch):
    access_requests.request(namespace=acme, actor=Viewer(bob))
    mine = type(acme).objects.filter(pk=acme.pk)
    assert [(one.user, one.namespace) for one in access_requests.open_requests(mine, 5)] == [(bob, acme)]
    later = timezone.now() + timedelta(days=15)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert access_requests.open_requests(mine, 5) == []
