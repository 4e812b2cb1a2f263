"""An alarm is a notice of the whole site, and reaches the mail of the staff who decide it."""

import pytest
from django.conf import settings as site
from django.contrib.auth.models import Permission
from django.db import transaction

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import Alarm, AlarmKind, Upstream
from apps.contrib.mirror.policy import rulebook
from apps.contrib.mirror.records import alarms
from apps.contrib.mirror.tests import fetched
from apps.notify import outbox
from apps.notify.attention import table
from apps.notify.attention.matter import Person
from apps.notify.models import Letter, Preference
from apps.notify.notices import notices_of
from tests.builders.keys import signing_key


def with_mail(*people):
    for person in people:
        person.email = f"{person.username}@acme.example"
        person.save()


def told(kind=Kind.UPSTREAM_ALARM_RAISED):
    outbox.dispatch()
    return notices_of(AuditEvent.objects.filter(kind=kind))


def test_another_key_is_told_to_the_mail_of_staff(upstream, registry, olga, alice, bob, acme, dora):
    bob.is_staff = True
    bob.user_permissions.add(Permission.objects.get(codename="operate_upstream"))
    with_mail(olga, alice, bob, dora)
    tool = registry.add_provider(versions=["1.0.0", "1.1.0"])
    fetched.recorded(upstream, "1.0.0")
    tool.change_key(signing_key("rsa2048"))
    with pytest.raises(Refused):
        fetched.recorded(upstream, "1.1.0")
    [notice] = told()

    alarm = Alarm.objects.get()
    assert (notice.event, notice.namespace, notice.by) == ("upstream.alarm", None, "")
    assert notice.more["what"] == "key_changed"
    assert (notice.more["known"], notice.more["found"]) == (alarm.known, alarm.found)
    assert notice.sentence == f"{alarm.subject} raised an alarm."
    assert notice.url == f"{site.PUBLIC_URL}/mirror/alarms/{alarm.pk}"

    letters = {str(letter.user): letter for letter in Letter.objects.all()}
    assert sorted(letters) == ["bob", "olga"], "only staff who decide it"
    text = letters["olga"].text
    assert alarm.known["fingerprint"] in text
    assert alarm.found["fingerprint"] in text


def test_an_alarm_that_is_found_again_is_told_once_and_staff_can_switch_these_mails_off(upstream, olga):
    with_mail(olga)
    Preference.objects.create(user=olga, topics_off=["upstreams"])
    for _ in range(3):
        raised(upstream)
    assert len(told()) == 1
    assert not Letter.objects.exists()


def test_a_changed_policy_is_read_by_the_other_staff_with_the_rules(upstream, olga, alice):
    boss = User.objects.create(username="otto", is_staff=True, is_superuser=True)
    with_mail(olga, alice, boss)
    rules = [{"effect": "deny", "pattern": "acme/*", "reason": "Not needed"}]
    rulebook.change(upstream, rules=rules, actor=Viewer(olga), cooldown_days=7)
    [notice] = told(Kind.UPSTREAM_POLICY_CHANGED)

    assert notice.url == f"{site.PUBLIC_URL}/mirror/{upstream.host}/policy"
    assert notice.more["after"]["cooldown_days"] == 7
    [letter] = Letter.objects.all()
    assert str(letter.user) == "otto", "neither who did it nor who decides nothing"
    assert letter.subject == f"olga changed the policy of {upstream.host}"
    assert "Cool-down: 0 days before, 7 days now." in letter.text
    assert "Added: deny acme/* (Not needed)" in letter.text


@pytest.mark.both
def test_an_alarm_that_was_rolled_back_is_told_to_nobody(upstream, olga):
    with transaction.atomic():
        raised(upstream)
        transaction.set_rollback(True)
    assert not told()
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
