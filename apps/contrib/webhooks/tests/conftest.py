"""Webhooks of acme with receivers on loopback."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Role
from apps.contrib.webhooks import hooks, sending
from apps.notify import outbox
from tests.accounts.access.conftest import eve
from tests.accounts.access.test_connections_left import cooks
from tests.notify.conftest import kill, loopback, receiver
from tests.notify.receiver import Answer
from tests.notify.test_letters import waiting

__all__ = ["cooks", "eve", "kill", "loopback", "receiver", "waiting"]


@pytest.fixture
def hooked(acme, dora, loopback, receiver):
    """`hooked(says(500))`: a webhook of acme, its secret and its receiver."""

    def create(answer: Answer | None = None, *, namespace=acme, events=("release.published",), shape="standard"):
        there = receiver(answer)
        if namespace is not None:
            Grant.objects.get_or_create(namespace=namespace, user=dora, defaults={"role": Role.OWNER})
        hook, secret = hooks.create(
            namespace=namespace, url=there.url, events=list(events), shape=shape, actor=Viewer(dora)
        )
        return hook, secret, there

    return create


def tell() -> None:
    """Do the work of a worker every five seconds, in this thread."""
    outbox.dispatch()
    for number in sending.due_webhooks():
        sending.send_of(number)
