"""What links in mails may do and for how long, and what a person may watch."""

from datetime import timedelta

import pytest
from django.core import signing
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant
from apps.lib.errors import Conflict, NotFound
from apps.notify.mail import mailing, preferences
from apps.notify.models import Topic

ADDRESS = "bob@acme.example"


def test_a_link_that_confirms_an_address_ends_after_a_day(bob, time_machine):
    token = signing.dumps([bob.pk, ADDRESS], salt=preferences.CONFIRM_SALT)
    assert preferences.address_of(user=bob, token=token) == ADDRESS

    time_machine.move_to(timezone.now() + timedelta(hours=24, minutes=1))
    with pytest.raises(NotFound, match="no longer valid"):
        preferences.confirm_address(user=bob, token=token)
    bob.refresh_from_db()
    assert bob.email == ""


def test_a_link_of_another_kind_or_person_confirms_no_address(bob, charlie):
    for token in (
        signing.dumps([charlie.pk, ADDRESS], salt=preferences.CONFIRM_SALT),
        signing.dumps([bob.pk, ADDRESS], salt=mailing.SALT),
        signing.dumps([bob.pk], salt=preferences.CONFIRM_SALT),
        signing.dumps(bob.pk, salt=preferences.CONFIRM_SALT),
        "",
    ):
        with pytest.raises(NotFound):
            preferences.address_of(user=bob, token=token)


def test_a_link_that_ends_mail_is_of_an_active_person_and_of_that_topic(bob):
    token = signing.dumps([bob.pk, "published"], salt=mailing.SALT)
    assert preferences.unsubscribe(token) == (bob, "published")
    assert preferences.preference_of(bob).topics_off == ["published"]
    preferences.unsubscribe(signing.dumps([bob.pk, ""], salt=mailing.SALT))
    assert preferences.preference_of(bob).topics_off == sorted(Topic.values)

    bob.is_active = False
    bob.save()
    for text in (token, signing.dumps([bob.pk, "published"], salt=preferences.CONFIRM_SALT), "x"):
        with pytest.raises(NotFound, match="not valid"):
            preferences.unsubscribe(text)


def test_a_person_watches_so_many_and_no_more(bob, acme, monkeypatch):
    monkeypatch.setattr(preferences, "MAX_WATCHES", 2)
    for name in ("vpc/aws", "dns/aws"):
        preferences.watch(user=bob, namespace=acme, name=name)
    with pytest.raises(Conflict, match="already watch 2"):
        preferences.watch(user=bob, namespace=acme, name="lb/aws")
    assert preferences.watches_of(bob).count() == 2


def test_what_a_person_no_longer_sees_is_not_listed_and_cannot_be_watched(bob, acme):
    preferences.watch(user=bob, namespace=acme, name="")
    Grant.objects.filter(user=bob).delete()

    assert list(preferences.watches_of(bob)) == []
    with pytest.raises(NotFound):
        preferences.watchable(Viewer(bob), "acme")


def test_only_what_is_published_can_be_watched(published, bob):
    published()
    assert preferences.watchable(Viewer(bob), "acme/vpc/aws")[1] == "vpc/aws"
    for name in ("acme/dns/aws", "acme/vpc/aws\0", "acme/vpc"):
        with pytest.raises(NotFound):
            preferences.watchable(Viewer(bob), name)
