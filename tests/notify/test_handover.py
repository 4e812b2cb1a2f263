"""The door of a former owner's webhook, and the mails about all that they connected."""

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Grant, Role
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from tests.builders.connecting import NAMES, connect_all, own
from tests.builders.held import key_row
from tests.cast import person
from tests.notify.conftest import sent, text_of


@pytest.fixture
def eve(acme, dora):
    user = person("eve", email="eve@acme.example")
    Grant.objects.create(namespace=acme, user=user, role=Role.OWNER)
    dora.email = "dora@acme.example"
    dora.save()
    return user


@pytest.mark.both
def test_the_new_owner_gets_one_mail_with_all_that_is_suspended(acme, dora, eve, box):
    connect_all(acme, dora)

    namespaces.transfer(namespace=acme, to=eve, giver=own(acme, dora), actor=Viewer(dora))

    assert sent(box) == ["eve"]
    text = text_of(box.received[0][1])
    assert "connections of acme are suspended until an owner confirms them" in text
    for name in NAMES:
        assert f"- {name}" in text
    assert "/namespaces/acme/connections" in text


@pytest.mark.both
def test_the_other_owners_get_one_mail_with_all_that_is_left_behind(acme, dora, eve, box):
    connect_all(acme, eve)

    namespaces.withdraw(grant=own(acme, eve), actor=NOBODY)

    assert sent(box) == ["dora", "eve"]
    mails = {to.partition("@")[0]: text_of(message) for to, message in box.received}
    assert "They still work. Confirm each of them, or remove it." in mails["dora"]
    assert "connections" not in mails["eve"], "the mail about the role alone"


@pytest.mark.both
def test_a_signing_key_alone_is_told_too(acme, dora, eve, box):
    """Of a transfer, and of a role that is withdrawn; nothing is told of what an owner still knows."""
    key = key_row(acme, added_by=eve)
    namespaces.transfer(namespace=acme, to=dora, giver=own(acme, eve), actor=Viewer(dora), keep_publisher=True)

    [event] = AuditEvent.objects.filter(kind=Kind.CONNECTIONS_SUSPENDED)
    assert (event.detail["connections"], event.detail["secrets"]) == ([], [{"kind": "signing key", "name": key.key_id}])
    Grant.objects.filter(user=eve).update(role=Role.OWNER)
    namespaces.withdraw(grant=own(acme, eve), actor=NOBODY)

    assert "dora" in sent(box)
    text = text_of([message for to, message in box.received if to.startswith("dora")][-1])
    assert f"- signing key {key.key_id}" in text
    assert "They still work. Confirm" not in text


@pytest.mark.both
def test_other_owners_read_what_was_published_while_approval_was_off(acme, dora, eve, published, alice, box):
    def switch(*, on):
        namespaces.require_approval(namespace=acme, actor=Viewer(eve), requires_approval=on)

    published(version="0.9.0")
    switch(on=True)
    switch(on=False)
    published(version="1.0.0")
    switch(on=True)

    assert sent(box) == ["dora"] * 3
    first, off, on = (text_of(message) for _, message in box.received)
    assert "From now on, its releases need approval by another person" in first
    assert "Published since then" not in first
    assert "eve switched approval off for acme" in off
    assert "no longer need approval" in off
    assert "Published since then without approval:" in on
    assert "- acme/vpc/aws 1.0.0" in on
    assert "0.9.0" not in on
