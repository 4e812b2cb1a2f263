"""An alarm reaches site-wide webhooks and the mail of the staff who decide it."""

import json

import pytest
from django.conf import settings as site
from django.contrib.auth.models import Permission
from django.db import transaction

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import Alarm, AlarmKind, Upstream
from apps.contrib.mirror.policy import rulebook
from apps.contrib.mirror.records import alarms
from apps.contrib.mirror.tests import fetched
from apps.notify import webhooks
from apps.notify.attention import table
from apps.notify.attention.matter import Person
from apps.notify.models import Delivery, Letter, Preference
from tests.builders.keys import signing_key
from tests.notify.conftest import hooked, loopback, receiver, tell  # noqa: F401  # fixtures

EVENTS = ["upstream.alarm"]


def with_mail(*people):
    for person in people:
        person.email = f"{person.username}@acme.example"
        person.save()


@pytest.fixture
def hook(olga, loopback, receiver):  # noqa: F811
    there = receiver()
    webhooks.create(namespace=None, url=there.url, events=EVENTS, shape="standard", actor=Viewer(olga))
    return there


def test_another_key_is_told_to_the_webhook_of_the_site_and_the_mail_of_staff(
    upstream, registry, olga, alice, bob, hook, acme, dora
):
    bob.is_staff = True
    bob.user_permissions.add(Permission.objects.get(codename="operate_upstream"))
    with_mail(olga, alice, bob, dora)
    tool = registry.add_provider(versions=["1.0.0", "1.1.0"])
    fetched.recorded(upstream, "1.0.0")
    tool.change_key(signing_key("rsa2048"))
    with pytest.raises(Refused):
        fetched.recorded(upstream, "1.1.0")
    tell()

    [got] = hook.received
    document = json.loads(got.body)
    alarm = Alarm.objects.get()
    assert document["type"] == "upstream.alarm"
    data = document["data"]
    assert data["namespace"] is None
    assert data["by"] is None
    assert data["what"] == "key_changed"
    assert (data["known"], data["found"]) == (alarm.known, alarm.found)
    assert data["text"] == f"{alarm.subject} raised an alarm."
    assert data["url"] == f"{site.PUBLIC_URL}/mirror/alarms/{alarm.pk}"

    letters = {str(letter.user): letter for letter in Letter.objects.all()}
    assert sorted(letters) == ["bob", "olga"], "only staff who decide it"
    text = letters["olga"].text
    assert alarm.known["fingerprint"] in text
    assert alarm.found["fingerprint"] in text


def test_an_alarm_that_is_found_again_is_told_once_and_staff_can_switch_these_mails_off(upstream, olga, hook):
    with_mail(olga)
    Preference.objects.create(user=olga, topics_off=["upstreams"])
    for _ in range(3):
        raised(upstream)
    tell()
    assert Delivery.objects.count() == 1
    assert not Letter.objects.exists()


def test_a_changed_policy_is_read_by_the_other_staff_with_the_rules(upstream, olga, alice, loopback, receiver):  # noqa: F811
    boss = User.objects.create(username="otto", is_staff=True, is_superuser=True)
    with_mail(olga, alice, boss)
    there = receiver()
    events = ["upstream.policy-changed"]
    webhooks.create(namespace=None, url=there.url, events=events, shape="standard", actor=Viewer(olga))
    rules = [{"effect": "deny", "pattern": "acme/*", "reason": "Not needed"}]
    rulebook.change(upstream, rules=rules, actor=Viewer(olga), cooldown_days=7)
    tell()

    [got] = there.received
    data = json.loads(got.body)["data"]
    assert data["url"] == f"{site.PUBLIC_URL}/mirror/{upstream.host}/policy"
    assert data["after"]["cooldown_days"] == 7
    [letter] = Letter.objects.all()
    assert str(letter.user) == "otto", "neither who did it nor who decides nothing"
    assert letter.subject == f"olga changed the policy of {upstream.host}"
    assert "Cool-down: 0 days before, 7 days now." in letter.text
    assert "Added: deny acme/* (Not needed)" in letter.text


@pytest.mark.both
def test_an_alarm_that_was_rolled_back_is_told_to_nobody(upstream, olga, hook):
    with transaction.atomic():
        raised(upstream)
        transaction.set_rollback(True)
    tell()
    assert not Delivery.objects.exists()
    assert not Alarm.objects.exists()


def raised(upstream: Upstream) -> Alarm:
    return alarms.raise_alarm(
        AlarmKind.BYTES_CHANGED,
        upstream=upstream,
        subject=f"{upstream}/acme/tool 1.0.0 tool.zip",
        known={"digest": "a" * 64},
        found={"digest": "b" * 64, "is_signed": True},
    )


@pytest.mark.both
def test_home_asks_staff_who_may_decide_and_tells_those_who_may_look(upstream, olga, alice, bob):
    bob.is_staff = True
    bob.save()
    bob.user_permissions.add(Permission.objects.get(codename="view_upstream"))
    alarm = raised(upstream)

    def seen(person):
        return table.lines_for(Person.of(Viewer(type(person).objects.get(pk=person.pk))))

    [[asked], []] = seen(olga)
    assert (asked.act, asked.url) == ("Decide", f"/mirror/alarms/{alarm.pk}")
    assert alarm.subject in asked.title
    [[], [told]] = seen(bob)
    assert told.title == asked.title
    assert seen(alice) == ([], [])
