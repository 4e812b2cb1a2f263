import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from ipaddress import ip_network
from types import SimpleNamespace

import pytest
from django.utils import timezone

from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.settings_values.outgoing import Outgoing
from apps.notify import outbox
from apps.notify.mail import mailing
from tests.notify import smtp
from tests.notify.happenings import CAST
from tests.notify.receiver import Receiver, listening, says


@pytest.fixture
def loopback(settings):
    """An operator allows it."""
    settings.WEBHOOKS = Outgoing((ip_network("127.0.0.0/8"),))


@pytest.fixture
def receiver() -> Iterator[Callable[..., Receiver]]:
    """Start one that answers so: `receiver(says(500))`."""
    with ExitStack() as stack:
        yield lambda answer=None, **more: stack.enter_context(listening(answer or says(204), **more))


@pytest.fixture
def resolved(monkeypatch):
    """`resolved("10.0.0.1", "10.0.0.2")`: to these the name resolves, one after the other; returns the questions."""

    def to(*answers: list[str]):
        asked, queue = [], list(answers)

        def getaddrinfo(host, port, *_, **__):
            asked.append(host)
            found = queue.pop(0)
            families = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in found]
            return [
                (family, socket.SOCK_STREAM, 6, "", (address, port, 0, 0) if ":" in address else (address, port))
                for family, address in zip(families, found, strict=True)
            ]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return asked

    return to


@pytest.fixture
def no_connection(monkeypatch):
    def connect(*_):
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture
def box(settings):
    with smtp.listening() as mailbox:
        settings.SMTP = mailbox.settings
        yield mailbox


def event(kind=Kind.RELEASE_PUBLISHED, subject="acme/vpc/aws 1.2.0", **detail):
    return record(kind, actor_id=None, subject=subject, **detail)


def sent(box, *, digests=False):
    """The names to whom all waiting mail went."""
    outbox.dispatch()
    mailing.send_due()
    if digests:
        mailing.send_digests()
    return sorted(to.partition("@")[0] for to, _ in box.received)


def text_of(message, kind="plain"):
    return message.get_body((kind,)).get_content().replace("\r\n", "\n")


@pytest.fixture
def cast(acme, alice, bob, charlie, dora, olga, published, settings):
    """Everybody with an address, and a mail server."""
    settings.SMTP = {"host": "127.0.0.1", "port": 1}
    people = dict(zip(CAST, (alice, bob, charlie, dora, olga), strict=True))
    for name, user in people.items():
        user.email = f"{name}@acme.example"
        user.save(update_fields=["email"])
    return SimpleNamespace(acme=acme, published=published, **people)


class Killed(BaseException):
    pass


@pytest.fixture
def kill(monkeypatch):
    """Begin an attempt, be gone, and let its lease run out."""

    def now(module, name, begin, rows):
        def killed(*_, **__):
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(module, name, killed)
            with pytest.raises(Killed):
                begin()
        rows.update(next_at=timezone.now())

    return now
