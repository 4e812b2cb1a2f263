"""The door of a former owner's webhook."""

import json

import pytest

from apps.accounts import namespaces
from apps.accounts.access import connections
from apps.accounts.access.gate import NOBODY, Viewer
from apps.contrib.webhooks import hooks
from apps.contrib.webhooks.tests.conftest import tell
from apps.contrib.webhooks.tests.house import KIND
from apps.lib.errors import Conflict
from apps.notify import outbox
from apps.notify.models import Delivery, State
from tests.builders.connecting import connect_all, hand_over, own
from tests.notify.conftest import event


@pytest.mark.both
def test_a_transfer_closes_it_until_the_new_owner_confirms(acme, dora, alice, hooked):
    hook, _, there = hooked()
    event()
    outbox.dispatch()
    event(subject="acme/vpc/aws 1.3.0")

    hand_over(acme, dora, alice)
    tell()

    assert there.received == []
    waited = Delivery.objects.get()
    assert (waited.state, waited.error) == (State.FAILED, "The webhook was suspended.")
    hook.refresh_from_db()
    for act in (
        lambda: hooks.test(hook=hook, actor=Viewer(alice)),
        lambda: hooks.redeliver(delivery=waited, actor=Viewer(alice)),
    ):
        with pytest.raises(Conflict, match="suspended: The namespace was transferred"):
            act()
    # Switched off and on it is suspended all the same.
    for enabled in (False, True):
        hooks.change(hook=hook, actor=Viewer(alice), enabled=enabled)
    event()
    tell()
    assert there.received == []

    connections.confirm(namespace=acme, kind=KIND, number=hook.pk, actor=Viewer(alice))
    event(subject="acme/vpc/aws 1.4.0")
    tell()

    assert [json.loads(message.body)["data"]["version"] for message in there.received] == ["1.4.0"]


def test_webhooks_hear_of_it_with_the_list(acme, dora, eve, hooked):
    hook, _, there = hooked(events=["connections.left-behind"])
    made = connect_all(acme, eve)

    namespaces.withdraw(grant=own(acme, eve), actor=NOBODY)
    tell()

    data = json.loads(there.received[0].body)["data"]
    assert {(one["kind"], one["id"]) for one in data["connections"]} == {(kind, row.pk) for kind, row in made.items()}
    assert data["url"].endswith("/namespaces/acme/connections")
    assert hook.pk not in {one["id"] for one in data["connections"] if one["kind"] == KIND}
